//! The wording of a comparison, shared by all its formats.

use crate::number::began;
use crate::sentence::{Sentence, Tone};
use crate::text::clean;
use findings::attribution::Limiter;
use findings::comparison::{
    Against, Compared, Differing, Evidence, FoundLimit, LatencyOf, Method, MetricPair, Needed,
    Opinion, Party, PlacePair, StepPair, UnpairedPoint,
};
use findings::warnings::Severity;
use findings::{Comparison, Quantity, Unit};
use std::time::Duration;
use units::duration;

const DAY_S: u64 = 86_400;
/// The logarithm of the ratio from which bytes changed otherwise than operations.
const SIZES: f64 = 0.1;

/// A run's letter: the baseline is A.
pub(crate) fn letter(run: usize) -> String {
    let name = |n: usize| char::from(b'A' + n as u8);
    if run < 26 {
        name(run).to_string()
    } else {
        format!("{}{}", name((run / 26 - 1) % 26), name(run % 26))
    }
}

/// A run with its letter, its file, its title and its beginning.
pub(crate) fn party(run: usize, party: &Party) -> String {
    let title = if party.title == party.name {
        String::new()
    } else {
        format!(" · {}", clean(&party.title))
    };
    format!("{}: {}{title} · {}", letter(run), clean(&party.name), began(party.wall_ns))
}

/// The runs of both sides.
pub(crate) fn parties(comparison: &Comparison, against: &Against) -> Vec<String> {
    let of = |(side, runs): (usize, &Vec<usize>)| -> Vec<String> {
        runs.iter().filter_map(|at| comparison.runs.get(*at)).map(|p| party(side, p)).collect()
    };
    [0, against.run].into_iter().zip(&against.sides).flat_map(of).collect()
}

/// How one run did against the baseline.
pub(crate) fn verdict(comparison: &Comparison, against: &Against) -> Sentence {
    let name = letter(against.run);
    let count = against.count;
    let all = count.better + count.worse + count.differs + count.undecided;
    let of = format!("{all} comparison{}", if all == 1 { "" } else { "s" });
    let (tone, text) = match (count.worse, count.better, against.family) {
        _ if against.same => (
            Tone::Note,
            format!("The same record: A and {name} are one run, and nothing can differ."),
        ),
        (0, 0, 1..) if against.steps.iter().any(|s| s.evidence.is_observed()) => {
            observed(comparison, against)
        }
        (0, 0, 1..) if count.differs > 0 => {
            let rest = rest(0, count.undecided);
            let text = format!(
                "{name} differs from A in {} of {of}, and so may the machine: one was measured after the other{rest}.",
                count.differs
            );
            (Tone::Caution, text)
        }
        (_, _, 0) => {
            (Tone::Bad, format!("Nothing could be compared: {name} against A is undecided."))
        }
        (0, 0, _) => {
            let within = counted(against).filter(|m| m.within).count();
            let excluded = match within {
                0 => String::new(),
                n if n == all => {
                    format!(" Any of {} or more is excluded for all.", share(comparison.sought))
                }
                n => format!(" Any of {} or more is excluded for {n}.", share(comparison.sought)),
            };
            (
                Tone::Caution,
                format!("Undecided: no difference was seen in {of} of {name} with A.{excluded}"),
            )
        }
        (0, better, _) => {
            let rest = rest(count.differs, count.undecided);
            (
                Tone::Good,
                format!("{name} is better than A in {better} of {of}, worse in none{rest}."),
            )
        }
        (worse, 0, _) => {
            let rest = rest(count.differs, count.undecided);
            (Tone::Bad, format!("{name} is worse than A in {worse} of {of}, better in none{rest}."))
        }
        (worse, better, _) => {
            let rest = rest(count.differs, count.undecided);
            (
                Tone::Bad,
                format!("{name} is worse than A in {worse} of {of}, better in {better}{rest}."),
            )
        }
    };
    Sentence::new(tone, text, None)
}

/// How one observed load differs from another: rate, latency, and latency at equal rates, of the first window that has any.
fn observed(comparison: &Comparison, against: &Against) -> (Tone, String) {
    let name = letter(against.run);
    let told = |s: &&StepPair| s.metrics.iter().any(|m| m.interval.is_some());
    let Some(step) = against.steps.iter().find(told) else {
        return (Tone::Caution, format!("Undecided: nothing of {name} could be compared with A."));
    };
    let of = |metric: Compared| step.metrics.iter().find(|m| m.metric == metric);
    let rate = of(Compared::Iops).filter(|m| m.interval.is_some()).or_else(|| of(Compared::Total));
    // Bytes go with the operations, unless transfers are of another size.
    let change = |m: &&MetricPair| m.difference.unwrap_or(0.0);
    let bytes = of(Compared::Total).filter(|bytes| {
        rate.is_some_and(|rate| {
            ((1.0 + change(bytes)) / (1.0 + change(&rate))).ln().abs() > SIZES
                && bytes.interval.is_some()
                && rate.metric != Compared::Total
        })
    });
    let all = [rate, bytes, of(Compared::Mean), of(Compared::MeanAtRate)];
    let parts: Vec<String> = all.into_iter().flatten().filter_map(part).collect();
    let differs = step.metrics.iter().any(|m| m.opinion == Opinion::Differs);
    let window = clean(&step.label);
    let tone = if differs { Tone::Caution } else { Tone::Note };
    let none = match (differs, against.count.differs) {
        (true, _) => String::new(),
        (false, 0) => " No difference was seen.".to_owned(),
        (false, _) => " No difference was seen in this window.".to_owned(),
    };
    let confidence = comparison.confidence * 100.0;
    let text = format!(
        "{name} against A, {window}: {} ({confidence:.0}% intervals).{none}",
        parts.join("; ")
    );
    (tone, text)
}

/// `IOPS +5.10% (+3.97% to +6.24%)`.
fn part(m: &MetricPair) -> Option<String> {
    let ([low, high], difference) = (m.interval?, m.difference?);
    let change = |v: f64| change(v, m.unit);
    let name = match m.metric {
        Compared::Mean => "mean latency",
        Compared::MeanAtRate => "at equal IOPS",
        other => other.name(),
    };
    Some(format!("{name} {} ({} to {})", change(difference), change(low), change(high)))
}

fn rest(differs: usize, undecided: usize) -> String {
    let differs = match differs {
        0 => String::new(),
        n => format!("; {n} differ, and so may the machine"),
    };
    if undecided == 0 { differs } else { format!("{differs}; {undecided} undecided") }
}

/// Metrics that count once.
fn counted(against: &Against) -> impl Iterator<Item = &MetricPair> {
    against.steps.iter().flat_map(|s| &s.metrics).filter(|m| m.same_as.is_none())
}

/// What to know before a figure is believed.
pub(crate) fn cautions(against: &Against) -> Vec<Sentence> {
    let sentence = |c: &findings::comparison::ComparisonWarning| {
        let tone = match c.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Caution,
            Severity::Note => Tone::Note,
        };
        Sentence::new(tone, capital(&c.text), None).next(capital(c.next))
    };
    against.cautions.iter().map(sentence).collect()
}

/// A row of a step's table.
pub(crate) struct MetricRow {
    pub metric: String,
    pub baseline: String,
    pub other: String,
    pub difference: String,
    pub interval: String,
    pub opinion: String,
    pub tone: Tone,
    pub detectable: String,
    pub needed: String,
}

/// The headings of a step's table.
pub(crate) fn headings(comparison: &Comparison, run: usize) -> [String; 8] {
    [
        "metric".to_owned(),
        "A".to_owned(),
        letter(run),
        "change".to_owned(),
        format!("{:.0}% interval", comparison.confidence * 100.0),
        "verdict".to_owned(),
        "seen from".to_owned(),
        format!("for {}", share(comparison.sought)),
    ]
}

impl MetricRow {
    pub fn of(m: &MetricPair) -> MetricRow {
        let value = |v: Option<f64>| v.map_or("-".to_owned(), |value| quantity(value, m.unit));
        let change = |v: f64| change(v, m.unit);
        let (opinion, tone) = opinion(m);
        MetricRow {
            metric: m.metric.name().to_owned(),
            baseline: value(m.baseline),
            other: value(m.other),
            difference: m.difference.map_or("-".to_owned(), change),
            interval: m.interval.map_or("-".to_owned(), |[low, high]| {
                format!("{} to {}", change(low), change(high))
            }),
            opinion,
            tone,
            detectable: m.detectable.map_or("-".to_owned(), |d| unsigned(d, m.unit)),
            needed: match (m.needed, m.p) {
                (Some(needed), _) => needed_words(needed),
                (None, Some(_)) => "no length".to_owned(),
                (None, None) => "-".to_owned(),
            },
        }
    }
}

fn opinion(m: &MetricPair) -> (String, Tone) {
    match m.opinion {
        Opinion::Better => ("better".to_owned(), Tone::Good),
        Opinion::Worse => ("worse".to_owned(), Tone::Bad),
        Opinion::Differs => ("differs".to_owned(), Tone::Caution),
        Opinion::Undecided => ("undecided".to_owned(), Tone::Caution),
    }
}

/// Why metrics of a step could not be tested, each reason once, unless it is that of the whole step.
pub(crate) fn reasons(step: &StepPair) -> Vec<String> {
    if let Some(obstacle) = &step.obstacle {
        return vec![format!("Undecided: {obstacle}.")];
    }
    let untested =
        step.metrics.iter().filter_map(|m| Some((m.metric.name(), m.reason.as_deref()?)));
    let mut grouped: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, why) in untested {
        match grouped.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => grouped.push((why, vec![name])),
        }
    }
    grouped.into_iter().map(|(why, names)| format!("{}: {why}.", names.join(", "))).collect()
}

/// A step's name with what was compared of it.
pub(crate) fn step_name(step: &StepPair) -> String {
    let label = clean(&step.label);
    let latency = latency(step.latency);
    let over = match step.evidence {
        Evidence::SameHoursOfWeek => ", week over week",
        Evidence::SameHoursOfDay => ", day over day",
        _ => "",
    };
    match step.metrics.iter().find_map(|m| m.method.as_ref()) {
        Some(method) => format!("{label} ({latency}; {}{over})", method_words(method)),
        None => format!("{label} ({latency})"),
    }
}

/// Which latency, with its loop.
pub(crate) fn latency(of: LatencyOf) -> &'static str {
    match of {
        LatencyOf::Service => "closed loop, service time",
        LatencyOf::Response => "open loop, response time",
        LatencyOf::Reported => "observed load",
    }
}

fn method_words(method: &Method) -> String {
    match method {
        Method::Batches { batches: [a, b], length: [la, lb], .. } => {
            let [la, lb] = [la, lb].map(|s| length(*s as f64));
            format!("one run each, IOPS in {a} batches of {la} and {b} of {lb}")
        }
        Method::Repetitions { count: [a, b] } => format!("{a} and {b} repetitions"),
        Method::Draws { count: [a, b] } => {
            format!("{a} and {b} repetitions, each side one draw")
        }
        Method::Rounds { count } => format!("{count} interleaved rounds"),
        Method::SameHours { samples, sample, .. } => {
            format!("{} samples of {}", units::count(*samples as f64), length(*sample))
        }
    }
}

fn length(seconds: f64) -> String {
    if seconds >= 3600.0 && seconds % 3600.0 == 0.0 {
        return format!("{} h", units::count(seconds / 3600.0));
    }
    duration(Duration::from_secs_f64(seconds.max(0.0)))
}

/// What limited each side of an observed load: one sentence where it is the same.
pub(crate) fn limits(step: &StepPair, run: usize) -> Vec<String> {
    let Some([a, b]) = &step.limits else { return Vec::new() };
    let sentence = |found: &FoundLimit| {
        let limit = clean(&found.limit.to_string());
        match found.limit {
            Limiter::Unknown { .. } => limit,
            _ => format!(
                "limited by {limit} ({})",
                units::percent((found.probability * 100.0).round())
            ),
        }
    };
    let (of_a, of_b) = (sentence(a), sentence(b));
    match a.limit == b.limit {
        true => vec![format!("A and {}: {of_b}.", letter(run))],
        false => vec![format!("A: {of_a}."), format!("{}: {of_b}.", letter(run))],
    }
}

/// The headings of the places of a step.
pub(crate) fn place_headings(run: usize) -> [String; 4] {
    ["utilization of".to_owned(), "A".to_owned(), letter(run), "change".to_owned()]
}

/// A place with how full it was on both sides.
pub(crate) fn place(place: &PlacePair) -> [String; 4] {
    let percent = |share: f64| format!("{}%", crate::number::percent(share));
    let [a, b] = place.utilization;
    [clean(&place.place), percent(a), percent(b), change(b - a, Unit::Percent)]
}

/// How to read the tables; nothing where nothing was compared.
pub(crate) fn how_to_read(comparison: &Comparison, against: &Against) -> String {
    if against.family == 0 {
        return String::new();
    }
    let confidence = comparison.confidence * 100.0;
    let verdicts = match against.steps.iter().any(|s| s.evidence.is_observed()) {
        true => "Verdicts",
        false => "Better and worse",
    };
    let mut text = format!(
        "Intervals cover the true difference with {confidence:.0}% each. {verdicts} are corrected by Holm's rule \
         for {} comparisons together, so that equals are called different in at most {:.0}% of such tables. A difference \
         as large as \"seen from\" would have been seen with {:.0}%; the last column says what it takes to see {}.",
        against.family,
        comparison.alpha * 100.0,
        comparison.power * 100.0,
        share(comparison.sought),
    );
    let by = |evidence: Evidence| against.steps.iter().any(|s| s.evidence == evidence);
    if by(Evidence::Turns) {
        text.push_str(
            " Both sides were measured in turns: neighbours are compared, and drift cancels.",
        );
    }
    let by = |evidence: Evidence| {
        let judged = |s: &StepPair| s.metrics.iter().any(|m| m.method.is_some());
        against.steps.iter().any(|s| s.evidence == evidence && judged(s))
    };
    let hours = match (by(Evidence::SameHoursOfWeek), by(Evidence::SameHoursOfDay)) {
        (true, true) => Some("week or day"),
        (true, false) => Some("week"),
        (false, true) => Some("day"),
        (false, false) => None,
    };
    if let Some(hours) = hours {
        text.push_str(&format!(
            " Samples of the same hours of the {hours} are compared with each other, so that what every {hours} brings \
             cancels; hours that only one side has are left out."
        ));
    }
    if by(Evidence::Spread) {
        text.push_str(" Each side was measured several times over a longer time, and counts as one draw of it.");
    }
    if counted(against).count() < against.steps.iter().map(|s| s.metrics.len()).sum() {
        text.push_str(" With transfers of one size MB/s and IOPS are one comparison.");
    }
    text
}

/// Something that only one run has.
pub(crate) fn unpaired(u: &UnpairedPoint) -> String {
    let steps: Vec<String> = u.steps.iter().map(|n| (u64::from(*n) + 1).to_string()).collect();
    let steps = if steps.len() > 8 {
        format!("{} steps", steps.len())
    } else {
        format!("step {}", steps.join(", "))
    };
    format!("only in {}: {} ({steps})", letter(u.run), clean(&u.label))
}

/// What differs, as subject and key, the baseline's value, and the other's.
pub(crate) fn differing(d: &Differing) -> [String; 3] {
    let value = |v: &Option<String>| v.as_deref().map_or("-".to_owned(), clean);
    [clean(&format!("{} {}", d.subject, d.key)), value(&d.baseline), value(&d.other)]
}

/// A value with its unit; IOPS have it in their name.
fn quantity(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Iops => crate::number::digits(value),
        Unit::BytesPerS => crate::number::digits(value / 1e6),
        Unit::Percent => format!("{}%", crate::number::percent(value / 100.0)),
        _ => Quantity { value, unit }.to_string(),
    }
}

/// A difference with its sign.
pub(crate) fn change(d: f64, unit: Unit) -> String {
    let sign = if d < 0.0 { "−" } else { "+" };
    match unsigned(d.abs(), unit) {
        zero if d == 0.0 => zero,
        // Its sign belongs to the figure.
        text => match text.strip_prefix("> ") {
            Some(figure) => format!("> {sign}{figure}"),
            None => format!("{sign}{text}"),
        },
    }
}

/// A difference without its sign: percent, or for shares percentage points.
fn unsigned(d: f64, unit: Unit) -> String {
    let points = if unit == Unit::Percent { " pp" } else { "%" };
    match d * 100.0 {
        p if !p.is_finite() => "∞".to_owned(),
        // Nothing is that much different: such a measurement sees no difference.
        p if p >= 1e5 => format!("> 100,000{points}"),
        p if p >= 1000.0 => format!("{}{points}", units::count(p.round())),
        p if p >= 99.5 => format!("{p:.0}{points}"),
        p if p >= 9.95 => format!("{p:.1}{points}"),
        p => format!("{p:.2}{points}"),
    }
}

/// A share as it is sought: `3%`.
fn share(share: f64) -> String {
    units::percent((share * 1e6).round() / 1e4)
}

fn needed_words(needed: Needed) -> String {
    match needed {
        Needed::Seconds(s) if s > 2 * DAY_S => format!("{} days", s.div_ceil(DAY_S)),
        Needed::Seconds(s) => duration(Duration::from_secs(rounded(s))),
        Needed::Repetitions(n) => format!("{n} runs"),
        Needed::Rounds(n) => format!("{n} rounds"),
    }
}

/// Two digits, rounded up, as in 3200 s for 3187 s.
fn rounded(seconds: u64) -> u64 {
    let mut unit = 1;
    while seconds / unit >= 100 {
        unit *= 10;
    }
    seconds.div_ceil(unit) * unit
}

/// A sentence as it is printed; nothing stays nothing.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), clean(chars.as_str())),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_signs_and_three_digits() {
        for (d, unit, expected) in [
            (0.0, Unit::Ns, "0.00%"),
            (0.0123, Unit::Ns, "+1.23%"),
            (-0.123, Unit::Iops, "−12.3%"),
            (11.0, Unit::Iops, "+1,100%"),
            (-1e12, Unit::Iops, "> −100,000%"),
            (0.004, Unit::Percent, "+0.40 pp"),
            (f64::INFINITY, Unit::Ns, "+∞"),
        ] {
            assert_eq!(change(d, unit), expected);
        }
    }

    #[test]
    fn letters_and_lengths() {
        assert_eq!([0, 1, 25, 26, 27].map(letter), ["A", "B", "Z", "AA", "AB"]);
        assert_eq!([7, 99, 101, 3187].map(rounded), [7, 99, 110, 3200]);
        assert_eq!((share(0.03), share(0.005)), ("3%".to_owned(), "0.50%".to_owned()));
    }
}
