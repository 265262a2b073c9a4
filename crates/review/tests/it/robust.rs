//! Records that nobody could have measured: whatever stands in one, it is analysed and reviewed without a panic, and
//! nothing in the review could steer a terminal.

use crate::support::valid;

use clock::Ns;
use proptest::prelude::*;
use record::{
    Completed, Counter, CounterId, Event, Fact, Interval, Level, Loop, Phase, Producer,
    ProducerKind, Record, RunHead, ScenarioText, Source, SourceId, SourceKind, Status, StepHead,
    StepTimes, Testimony, WorkerLoad, Writer,
};
use review::{Style, html, json, terminal};
use unicode_width::UnicodeWidthStr;

const SCENARIO: &str = r#"
scenario.title = "Goals of every kind"
target = [{ name = "t{1..2}", url = "null:", size = "1GiB" }]
workload.load.block = "8KiB"
plan = { workload = "load", on = "t*", measure = "2s", sweep = { depth = [1, 2, 4] } }
goal = [
  { each = "t*", iops = { at_least = "1 IOPS" } },
  { latency = { point = "p99", at_most = "1ms" } },
  { balance = { over = "t*", within = "5%" } },
]
[[claim]]
read = ["1 MB/s", "1 MiB/s"]
relation = "about"
kind = "held-out"
"#;

/// Numbers that are ordinary, none at all, or as large as the file can hold.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), 2..1_000_000_u64, Just(i64::MAX as u64), any::<u64>()]
}

fn real() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(-1.0), Just(f64::MAX), Just(f64::INFINITY), 0.0..1e9]
}

fn tally() -> impl Strategy<Value = Option<Completed>> {
    let latencies = prop::collection::vec(number(), 0..4);
    let full = (number(), number(), number(), number(), latencies, any::<bool>()).prop_map(
        |(ops, bytes, errors, sum, latencies, open)| {
            let mut tally = Completed::empty(open);
            latencies.iter().for_each(|l| tally.success(0, Ns(*l), Ns(*l)));
            Completed { ops, bytes, errors, service_sum: Ns(sum), ..tally }
        },
    );
    prop::option::of(full)
}

fn testimony() -> impl Strategy<Value = Option<Testimony>> {
    let full =
        (number(), number(), number(), any::<u32>()).prop_map(|(own, in_flight, late, open)| {
            Testimony {
                own: Ns(own),
                in_flight: Ns(in_flight),
                late,
                late_max: Ns(late),
                open,
                open_age_max: Ns(own),
                ..Testimony::default()
            }
        });
    prop::option::of(full)
}

fn arrivals() -> impl Strategy<Value = Loop> {
    prop_oneof![
        (any::<u32>(), any::<bool>()).prop_map(|(depth, think)| Loop::Closed { depth, think }),
        real().prop_map(|rate| Loop::Open { rate }),
    ]
}

/// Words as a hostile record would have them, and those of the scenario.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("t1".to_owned()),
        Just("depth".to_owned()),
        Just("4".to_owned()),
        Just(String::new()),
        any::<String>(),
        Just("\u{1b}[2J\u{9b}31m\u{202e}".to_owned()),
        Just("漢".repeat(300)),
    ]
}

fn moment() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..4_000_000_000_u64, 1 => number()]
}

fn interval() -> impl Strategy<Value = Interval> {
    (0..3_u32, moment(), moment(), tally(), tally(), testimony()).prop_map(
        |(source, from, to, read, write, testimony)| Interval {
            others: Default::default(),
            source: SourceId(source),
            step: 0,
            phase: Phase::Measure,
            from: Ns(from),
            to: Ns(to),
            read,
            write,
            testimony,
        },
    )
}

#[derive(Clone, Debug)]
struct Odd {
    times: [u64; 4],
    setting: (String, String),
    workers: Vec<(Loop, u32, String)>,
    intervals: Vec<Interval>,
    words: [String; 4],
    counter: f64,
    readable: bool,
    status: Status,
}

fn odd() -> impl Strategy<Value = Odd> {
    let worker = (arrivals(), any::<u32>(), word());
    let status = prop_oneof![Just(Status::Complete), Just(Status::Running), Just(Status::Failed)];
    (
        [moment(), moment(), moment(), moment()],
        (word(), word()),
        prop::collection::vec(worker, 0..3),
        prop::collection::vec(interval(), 0..6),
        [word(), word(), word(), word()],
        real(),
        any::<bool>(),
        status,
    )
        .prop_map(|(times, setting, workers, intervals, words, counter, readable, status)| {
            Odd { times, setting, workers, intervals, words, counter, readable, status }
        })
}

impl Odd {
    /// Writes what the writer takes; it refuses some of it, which is its business.
    fn write(&self, path: &std::path::Path) -> Result<(), record::RecordError> {
        let [title, subject, value, text] = self.words.clone();
        let scenario = if self.readable { SCENARIO.to_owned() } else { text.clone() };
        let scenario = ScenarioText { name: title.clone(), text: scenario, overrides: vec![] };
        let producer = Producer::new(ProducerKind::Imported, value.clone());
        let head =
            RunHead { title, producer, scenario, epoch: Ns::ZERO, wall_ns: self.times[0], seed: 1 };
        let mut writer = Writer::create(path, &head)?;
        writer.facts(&[Fact { subject: subject.clone(), key: value.clone(), value }])?;
        let mut workers = Vec::new();
        for (i, (arrivals, ops_per_transaction, group)) in self.workers.iter().enumerate() {
            let source = SourceId(i as u32);
            writer.source(&Source {
                id: source,
                kind: SourceKind::Worker,
                name: format!("{i}{group}"),
                group: group.clone(),
                agent: text.clone(),
            })?;
            workers.push(WorkerLoad {
                source,
                workload: "load".into(),
                arrivals: *arrivals,
                ops_per_transaction: *ops_per_transaction,
            });
        }
        let [start, measure, cooldown, end] = self.times.map(Ns);
        for index in 0..2 {
            writer.step(&StepHead {
                index,
                plan: subject.clone(),
                settings: vec![self.setting.clone()],
                repetition: index,
                times: StepTimes { start, measure, cooldown, end },
                workers: workers.clone(),
                streams: vec![],
            })?;
            for interval in &self.intervals {
                let _refused = writer.interval(&Interval { step: index, ..interval.clone() });
            }
        }
        let (source, step) = (SourceId(0), Some(1));
        let (from, to, kind, part) = (start, end, CounterId::ReadBytes.into(), None);
        let _refused =
            writer.counter(&Counter { source, step, from, to, kind, part, value: self.counter });
        let (level, code) = (Level::Error, subject);
        writer.event(&Event {
            at: end,
            step: Some(9),
            source: Some(SourceId(9)),
            level,
            code,
            text,
        })?;
        writer.finish(self.status)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn nothing_makes_it_panic(odd in odd()) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("odd.wsr");
        // What cannot be written or opened cannot be reviewed either.
        if odd.write(&path).is_ok() && let Ok(record) = Record::open(&path)
            && let Ok(analysis) = findings::analyse(&record)
        {
            let text = terminal(&analysis, Style { color: false, width: 80 });
            prop_assert!(text.lines().all(|l| !l.chars().any(char::is_control)), "{text:?}");
            prop_assert!(text.lines().all(|l| l.width() <= 80), "{text}");
            valid::check(&json(&analysis));
            let evidence = findings::evidence(&record, &analysis).unwrap();
            let page = html(&analysis, &evidence, &record.head().scenario);
            let data = page.matches("type=\"application/json\"").count();
            prop_assert_eq!(page.matches("</script>").count(), data + 2, "data and two scripts");
            prop_assert_eq!(data, 1 + usize::from(page.contains("id=\"map-data\"")));
            prop_assert!(matches!(analysis.verdict.exit_code(), 0 | 1 | 3));
        }
    }
}
