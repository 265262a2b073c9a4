//! What was published, in words: a claim's figures, its interval, its verdict and what there is to say of it.

use crate::headline::plural;
use crate::paint::{Ink, ReviewPage};
use crate::table::{self, TableColumn};
use crate::text::clean;
use findings::{
    ClaimOutcome, ClaimSummary, ClaimUse, PointOutcome, Quantity, ReadingOutcome, Score,
    ShapeOutcome,
};

/// A claim under one of its readings, or as a whole where it has none. The first speaks for the claim.
#[derive(Clone, Copy)]
pub(crate) struct ClaimRow<'a> {
    /// Its number among the claims, from 0.
    pub number: usize,
    pub claim: &'a ClaimOutcome,
    pub reading: Option<&'a ReadingOutcome>,
    pub first: bool,
}

/// A row for each reading of each claim.
pub(crate) fn rows(claims: &[ClaimOutcome]) -> Vec<ClaimRow<'_>> {
    let of = |(number, claim): (usize, &'_ ClaimOutcome)| {
        let count = claim.readings.len().max(1);
        (0..count).map(move |n| (number, n)).collect::<Vec<_>>()
    };
    let all = claims.iter().enumerate().flat_map(of);
    all.map(|(number, n)| {
        let claim = &claims[number];
        ClaimRow { number, claim, reading: claim.readings.get(n), first: n == 0 }
    })
    .collect()
}

impl ClaimRow<'_> {
    /// A remark on the claim, not on the reading.
    pub fn once(&self, text: impl FnOnce(&ClaimOutcome) -> String) -> String {
        if self.first { text(self.claim) } else { String::new() }
    }

    /// What was published, with how the source qualified it.
    pub fn published(&self) -> String {
        match (self.reading, &self.claim.shape, self.claim.relation) {
            (Some(reading), _, "equal") => reading.published.to_string(),
            (Some(reading), _, relation) => format!("{relation} {}", reading.published),
            (None, Some(shape), _) => form(shape),
            (None, None, _) => "-".to_owned(),
        }
    }

    /// How far ours is from it, in percent.
    pub fn error(&self) -> Option<f64> {
        self.reading.and_then(|reading| reading.error_percent)
    }
}

/// `linear within 5%`, `rising`.
pub(crate) fn form(shape: &ShapeOutcome) -> String {
    match shape.within_percent {
        0.0 => shape.is.to_owned(),
        within => format!("{} within {}", shape.is, units::percent(within)),
    }
}

/// What this record shows.
pub(crate) fn ours(claim: &ClaimOutcome) -> String {
    let of_shape = claim.shape.as_ref().and_then(|shape| {
        let furthest = shape.furthest_percent?;
        Some(match shape.is {
            "rising" | "falling" => format!("{furthest:+.1}% a point"),
            _ => format!("{furthest:+.1}% off"),
        })
    });
    of_shape.or(claim.ours.map(|q| q.to_string())).unwrap_or_else(|| "-".to_owned())
}

/// `795 to 812 MB/s`: the unit once, where both ends are shown in the same.
pub(crate) fn between(interval: Option<(Quantity, Quantity)>) -> String {
    let Some((low, high)) = interval else { return "-".to_owned() };
    let (low, high) = (low.to_string(), high.to_string());
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// How a claim came out. A calibration proves nothing, and is never called met.
pub(crate) fn score(score: Score) -> (Ink, &'static str) {
    match score {
        Score::Met => (Ink::Good, "✔ met"),
        Score::Missed => (Ink::Bad, "✘ missed"),
        Score::Undecided => (Ink::Caution, "? undecided"),
        Score::Calibration => (Ink::Dim, "calibration"),
        Score::Context => (Ink::Dim, "context"),
    }
}

/// What the scenario says that a claim proves.
pub(crate) fn kind(kind: ClaimUse) -> &'static str {
    match kind {
        ClaimUse::Calibration => "calibration",
        ClaimUse::HeldOut => "held out",
        ClaimUse::Context => "context",
        ClaimUse::Inferred => "not in the source",
    }
}

/// `Held out: 5 met, 1 missed, 2 undecided. Calibration: 3. …`
pub(crate) fn summary(all: &ClaimSummary) -> String {
    let mut text =
        format!("Held out: {} met, {} missed, {} undecided", all.met, all.missed, all.undecided);
    match all.twins {
        0 => {}
        1 => text.push_str(" (one of them follows from another)"),
        n => text.push_str(&format!(" ({n} of them follow from others)")),
    }
    text.push('.');
    for (count, word) in [(all.calibration, "Calibration"), (all.context, "Context")] {
        if count > 0 {
            text.push_str(&format!(" {word}: {count}."));
        }
    }
    if all.frames > 0 {
        let limits = plural(all.frames, "wire limit");
        text.push_str(&format!(
            " Within 2% of what frames carry: {} of {limits}.",
            all.frames_within
        ));
    }
    text
}

/// What there is to say of a claim: why it is undecided or a calibration, how far it is from what frames carry, and what
/// the scenario notes of it. Empty where there is nothing.
pub(crate) fn remarks(claim: &ClaimOutcome) -> String {
    let mut all: Vec<String> = Vec::new();
    all.extend((!claim.reason.is_empty()).then(|| claim.reason.clone()));
    all.extend(claim.because.clone());
    all.extend(claim.frames.filter(|frames| frames.within == Some(false)).and_then(|frames| {
        Some(format!(
            "{:+.1}% from the {} that frames carry",
            frames.error_percent?, frames.reading
        ))
    }));
    all.extend(claim.note.clone());
    let sentences = all.iter().map(|text| clean(text).trim_end_matches('.').to_owned());
    sentences.collect::<Vec<_>>().join(". ")
}

/// The member and the step that are shown.
pub(crate) fn place(claim: &ClaimOutcome) -> String {
    let parts = [claim.member.as_deref(), claim.step.as_deref()];
    clean(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// How far a point is from where the shape would have it.
pub(crate) fn deviation(point: &PointOutcome) -> String {
    point.deviation_percent.map_or("-".to_owned(), |off| format!("{off:+.1}"))
}

/// The section of a terminal's review.
pub(crate) fn write(page: &mut ReviewPage, claims: &[ClaimOutcome], all: &ClaimSummary) {
    if claims.is_empty() {
        return;
    }
    page.heading("What was published");
    page.hanging("  ", Ink::Plain, &summary(all), Ink::Plain);
    page.hanging("  ", Ink::Plain, "for comparison; it never changes the verdict", Ink::Dim);
    let rows = rows(claims);
    let verdict = |row: &ClaimRow<'_>| {
        let (ink, word) = score(row.claim.score);
        if row.first { (ink, word.to_owned()) } else { (Ink::Plain, String::new()) }
    };
    let error = |row: &ClaimRow<'_>| row.error().map_or("-".to_owned(), |e| format!("{e:+.1}"));
    let mut columns = vec![
        TableColumn::names("").fill_inked(rows.iter().map(verdict)),
        TableColumn::names("claim").fill(rows.iter().map(|row| row.once(|c| clean(&c.name)))),
        TableColumn::numbers("published", "").fill(rows.iter().map(ClaimRow::published)),
        TableColumn::numbers("ours", "").fill(rows.iter().map(|row| row.once(ours))),
    ];
    if claims.iter().any(|claim| claim.interval.is_some()) {
        let intervals = rows.iter().map(|row| row.once(|claim| between(claim.interval)));
        columns.push(TableColumn::numbers("interval", "").rank(1).fill(intervals));
    }
    columns.push(TableColumn::numbers("error", "%").fill(rows.iter().map(error)));
    table::write(page, columns);
    for claim in claims {
        let remarks = remarks(claim);
        if !remarks.is_empty() {
            let text = format!("{}: {remarks}.", clean(&claim.name));
            page.hanging("  - ", score(claim.score).0, &text, Ink::Plain);
        }
    }
}
