//! What hops counted over time: amounts as rates, shares of time as percent, levels as they are.
//!
//! The registry says what a counter means: counts become rates; the time of something that is busy is a share of the time, and
//! that of requests a mean number of requests; levels stay as they are. What a hop does not count leaves a gap.

use super::bins::{Additive, TimeBins, middle};
use super::{LeftOut, Part};
use crate::figures::StepFigures;
use clock::Ns;
use record::{Counter, CounterId, CounterKind, Meaning, Source, SourceId};
use serde::Serialize;
use std::collections::BTreeMap;

/// Bins at most.
const BINS: usize = 600;
/// Series shown at most.
const SERIES_MAX: usize = 48;
/// Hops whose series are gathered at most: the fullest.
const HOPS_MAX: usize = 12;
/// Series gathered at most; a record that names more is not one of ours.
const GATHERED_MAX: usize = 1024;

/// What hops counted, in bins of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HopSeries {
    /// Start of the first bin, in seconds from the beginning of the record's time.
    pub from_s: f64,
    /// Length of a bin.
    pub bin_s: f64,
    /// The hops' counters.
    pub series: Vec<Series>,
}

/// One counter of one hop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The hop.
    pub hop: String,
    /// The counter's name in the record.
    pub counter: String,
    /// Unit of the values.
    pub unit: HopUnit,
    /// A value a bin; `None` where nothing was counted.
    pub values: Vec<Option<f64>>,
}

/// What a series' values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HopUnit {
    /// A share of the time, in percent: utilization.
    Percent,
    /// Bytes a second.
    BytesPerS,
    /// A number of requests at a time.
    InFlight,
    /// A number a second.
    PerS,
}

/// How a counter's values become a series'.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SeriesKind {
    /// An amount, divided by its time and multiplied by this.
    Amount(Factor),
    /// A level, averaged over time.
    Level,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Factor {
    One,
    /// Nanoseconds a second as percent.
    Percent,
    /// Nanoseconds a second as a number.
    Number,
}

impl Factor {
    fn value(self) -> f64 {
        match self {
            Factor::One => 1.0,
            Factor::Percent => 100.0 / 1e9,
            Factor::Number => 1.0 / 1e9,
        }
    }
}

/// What is shown of a counter; `None` for one that has no course over time, or says nothing of the load.
fn kind(counter: &CounterKind) -> Option<(SeriesKind, HopUnit)> {
    let level = |unit| Some((SeriesKind::Level, unit));
    let amount = |factor, unit| Some((SeriesKind::Amount(factor), unit));
    match counter.id() {
        Some(CounterId::Busy | CounterId::Cpu) => {
            return amount(Factor::Percent, HopUnit::Percent);
        }
        Some(CounterId::QueueTime) => return amount(Factor::Number, HopUnit::InFlight),
        // How many connections there are says who came, and nothing of the load.
        Some(CounterId::Connections | CounterId::ReadMerges | CounterId::WriteMerges) => {
            return None;
        }
        _ => {}
    }
    match (counter.meaning()?, counter.unit()) {
        (Meaning::Count, "B") => amount(Factor::One, HopUnit::BytesPerS),
        (Meaning::Count, "1") => amount(Factor::One, HopUnit::PerS),
        (Meaning::Mean | Meaning::End, "%") => level(HopUnit::Percent),
        (Meaning::Mean | Meaning::End, "1") => level(HopUnit::InFlight),
        (Meaning::Mean | Meaning::End, "B/s") => level(HopUnit::BytesPerS),
        _ => None,
    }
}

/// Value × time of a level, or an amount; and the time.
#[derive(Default)]
struct HopBins(Vec<(f64, f64)>);

impl HopBins {
    fn add(&mut self, place: usize, (value, seconds): (f64, f64)) {
        if place >= self.0.len() {
            self.0.resize(place + 1, (0.0, 0.0));
        }
        let mine = &mut self.0[place];
        *mine = (mine.0 + value, mine.1 + seconds);
    }
}

impl Additive for HopBins {
    fn merge(&mut self, other: HopBins) {
        other.0.into_iter().enumerate().for_each(|(place, counted)| self.add(place, counted));
    }
}

/// The counters of hops as they are gathered.
pub(super) struct GatherHops<'a> {
    hops: BTreeMap<SourceId, &'a str>,
    places: BTreeMap<(SourceId, CounterKind), usize>,
    known: Vec<(SourceId, CounterKind, SeriesKind, HopUnit)>,
    bins: TimeBins<HopBins>,
    refused: bool,
    left_out: usize,
}

/// How full each hop was in the step in which it was fullest.
fn fullness(steps: &[StepFigures]) -> BTreeMap<&str, f64> {
    let mut full = BTreeMap::new();
    for load in steps.iter().flat_map(|s| &s.attribution).flat_map(|a| &a.hops) {
        if let Some(share) = load.utilization.filter(|share| share.is_finite()) {
            let known: &mut f64 = full.entry(load.hop.as_str()).or_insert(share);
            *known = known.max(share);
        }
    }
    full
}

impl<'a> GatherHops<'a> {
    /// Begins with the sources of a record, but for those in `elsewhere`; of many hops with the fullest of these steps.
    pub fn new(
        start: Ns,
        sources: &'a [Source],
        steps: &[StepFigures],
        elsewhere: impl Fn(&Source) -> bool,
    ) -> GatherHops<'a> {
        let hops = sources.iter().filter(|s| s.hop().is_some() && !elsewhere(s));
        let mut hops: Vec<&Source> = hops.collect();
        let all = hops.len();
        let full = fullness(steps);
        // Without any utilization, keep the order of the record.
        if all > HOPS_MAX && !full.is_empty() {
            let of = |source: &Source| full.get(source.name.as_str()).copied().unwrap_or(-1.0);
            hops.sort_by(|a, b| of(b).total_cmp(&of(a)));
            hops.truncate(HOPS_MAX);
        }
        GatherHops {
            left_out: all - hops.len(),
            hops: hops.into_iter().map(|s| (s.id, s.name.as_str())).collect(),
            places: BTreeMap::new(),
            known: Vec::new(),
            bins: TimeBins::new(start, BINS),
            refused: false,
        }
    }

    /// Takes in a counter, if it is a hop's.
    pub fn add(&mut self, counter: &Counter) {
        let seconds = counter.to.since(counter.from).as_secs_f64();
        if !self.hops.contains_key(&counter.source) || !counter.value.is_finite() || seconds <= 0.0
        {
            return;
        }
        let Some((kind, unit)) = kind(&counter.kind) else { return };
        let key = (counter.source, counter.kind.clone());
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None if self.known.len() >= GATHERED_MAX => {
                self.refused = true;
                return;
            }
            None => {
                self.known.push((key.0, key.1.clone(), kind, unit));
                self.places.insert(key, self.known.len() - 1);
                self.known.len() - 1
            }
        };
        let weight = if kind == SeriesKind::Level { seconds } else { 1.0 };
        for (from, to) in self.bins.parts(counter.from, counter.to) {
            let part = to.since(from).as_secs_f64() / seconds;
            let counted = (counter.value * weight * part, seconds * part);
            self.bins.at(middle(from, to)).add(place, counted);
        }
    }

    /// The series that say something: one that is zero throughout is not shown.
    pub fn finish(self, left_out: &mut Vec<LeftOut>) -> HopSeries {
        let all =
            self.known.iter().enumerate().map(|(place, (source, counter, kind, unit))| Series {
                hop: self.hops.get(source).copied().unwrap_or_default().to_owned(),
                counter: counter.name().to_owned(),
                unit: *unit,
                values: values(self.bins.cells(), place, *kind),
            });
        // A level at the end of a second is chance, where its mean over the second is known as well.
        let is = |at: usize, id| self.known.get(at).is_some_and(|known| known.1.id() == Some(id));
        let shown: Vec<(usize, Series)> =
            all.enumerate().filter(|(_, s)| s.values.iter().flatten().any(|v| *v != 0.0)).collect();
        let timed: Vec<String> = shown
            .iter()
            .filter(|(at, _)| is(*at, CounterId::QueueTime))
            .map(|(_, series)| series.hop.clone())
            .collect();
        let mut series: Vec<Series> = shown
            .into_iter()
            .filter(|(at, s)| !is(*at, CounterId::QueueDepthEnd) || !timed.contains(&s.hop))
            .map(|(_, series)| series)
            .collect();
        // Stable: hops stay in their order.
        series.sort_by_key(|s| s.unit);
        if series.len() > SERIES_MAX || self.refused {
            let more = if self.refused { "more than " } else { "" };
            left_out.push(LeftOut::of(Part::Timeline, format!(
                "The time line shows {SERIES_MAX} of {more}{} counters: utilization first, then bytes, requests in \
                 flight, and numbers a second.",
                series.len()
            )));
        }
        if self.left_out > 0 {
            left_out.push(LeftOut::of(
                Part::Timeline,
                format!(
                    "The time line shows the {} fullest of {} hops; the map has all.",
                    self.hops.len(),
                    self.hops.len() + self.left_out
                ),
            ));
        }
        series.truncate(SERIES_MAX);
        HopSeries { from_s: self.bins.begin_s(), bin_s: self.bins.bin_s(), series }
    }
}

fn values(bins: &[HopBins], place: usize, kind: SeriesKind) -> Vec<Option<f64>> {
    let factor = match kind {
        SeriesKind::Amount(factor) => factor.value(),
        SeriesKind::Level => 1.0,
    };
    let value = |bin: &HopBins| {
        let (sum, seconds) = *bin.0.get(place)?;
        (seconds > 0.0).then(|| sum / seconds * factor).filter(|v| v.is_finite())
    };
    bins.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{HopKind, SourceKind};

    fn gathered(counters: &[(&str, &str, f64, u64)]) -> (HopSeries, Vec<LeftOut>) {
        let (name, group, agent) = ("local:vda".into(), "vda".into(), "local".into());
        let hop = Source {
            id: SourceId(7),
            kind: SourceKind::Hop(HopKind::BlockDevice),
            name,
            group,
            agent,
        };
        let sources = [hop];
        let mut gather = GatherHops::new(Ns::ZERO, &sources, &[], |_| false);
        for (counter, unit, value, second) in counters {
            gather.add(&Counter {
                source: SourceId(7),
                step: Some(0),
                from: Ns::secs(*second),
                to: Ns::secs(second + 1),
                kind: match CounterId::of(counter) {
                    Some(id) => id.into(),
                    None => CounterKind::stored(counter, unit, Some(Meaning::Count)),
                },
                part: None,
                value: *value,
            });
        }
        let mut left_out = Vec::new();
        (gather.finish(&mut left_out), left_out)
    }

    #[track_caller]
    fn check(counter: (&str, &str, f64), expected: Option<(HopUnit, f64)>) {
        let (name, unit, value) = counter;
        let (hops, _) = gathered(&[(name, unit, value, 0)]);
        let found = hops.series.first().map(|s| (s.unit, s.values[0].unwrap_or(f64::NAN)));
        assert_eq!(found, expected, "{counter:?}");
    }

    #[test]
    fn a_counter_is_told_by_its_unit() {
        check(("read-bytes", "B", 4096.0), Some((HopUnit::BytesPerS, 4096.0)));
        check(("busy", "ns", 5e8), Some((HopUnit::Percent, 50.0)));
        check(("queue-time", "ns", 3e9), Some((HopUnit::InFlight, 3.0)));
        check(("utilization", "%", 80.0), Some((HopUnit::Percent, 80.0)));
        check(("queue-depth-end", "1", 5.0), Some((HopUnit::InFlight, 5.0)));
        check(("slots-waiting", "1", 0.5), Some((HopUnit::InFlight, 0.5)));
        check(("slots", "1", 32.0), None);
        check(("read-rate", "B/s", 8e8), None);
        check(("read-ops", "1", 100.0), Some((HopUnit::PerS, 100.0)));
        check(("read-time", "ns", 1e9), None);
        check(("cpu", "ns", 1.5e9), Some((HopUnit::Percent, 150.0)));
        check(("rate", "B/s", 4e8), Some((HopUnit::BytesPerS, 4e8)));
        check(("connections", "1", 2.0), None);
        check(("read-merges", "1", 9.0), None);
        check(("read-bytes", "B", 0.0), None);
        check(("read-bytes", "B", f64::NAN), None);
    }

    #[test]
    fn a_mean_queue_is_shown_rather_than_a_moments() {
        let (hops, _) = gathered(&[("queue-depth-end", "1", 9.0, 0), ("queue-time", "ns", 3e9, 0)]);
        let names: Vec<&str> = hops.series.iter().map(|s| s.counter.as_str()).collect();
        assert_eq!(names, ["queue-time"]);
    }

    #[test]
    fn what_was_not_counted_is_a_gap() {
        let (hops, _) = gathered(&[
            ("queue-depth-end", "1", 2.0, 0),
            ("queue-depth-end", "1", f64::NAN, 1),
            ("queue-depth-end", "1", 4.0, 2),
        ]);
        assert_eq!(hops.series[0].values, [Some(2.0), None, Some(4.0)]);
    }

    #[test]
    fn merged_levels_are_means_and_merged_amounts_stay_rates() {
        let seconds = 0..2 * BINS as u64;
        let level = |s: u64| ("queue-depth-end", "1", (s % 2) as f64 * 4.0, s);
        let (hops, _) = gathered(&seconds.clone().map(level).collect::<Vec<_>>());
        assert_eq!((hops.bin_s, hops.series[0].values[0]), (2.0, Some(2.0)));
        let amount = |s: u64| ("read-bytes", "B", 10.0 + (s % 2) as f64, s);
        let (hops, _) = gathered(&seconds.map(amount).collect::<Vec<_>>());
        assert_eq!(hops.series[0].values[5], Some(10.5));
    }

    #[test]
    fn many_counters_are_cut_and_it_is_said() {
        let names: Vec<String> = (0..GATHERED_MAX + 5).map(|n| format!("n{n}")).collect();
        let counters: Vec<_> = names.iter().map(|n| (n.as_str(), "1", 1.0, 0)).collect();
        let (hops, left_out) = gathered(&counters);
        assert_eq!((hops.series.len(), left_out.len()), (SERIES_MAX, 1));
    }
}
