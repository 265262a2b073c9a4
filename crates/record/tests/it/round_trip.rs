//! What is written comes back, to the last bit where the format promises it.

use crate::common::{self, begun, counter, head, interval, place, source, step, tally};
use clock::{Ns, Rng};
use record::*;
use workload::Dir;

#[test]
fn everything_comes_back() {
    let (_dir, path) = place();
    common::complete(&path);
    let record = Record::open(&path).expect("a record");
    assert_eq!(record.head(), &head());
    assert_eq!(record.status(), Status::Complete);
    assert_eq!(record.steps(), [step(0, 3, 2), step(1, 3, 2)]);
    let kinds = [SourceKind::Worker, SourceKind::Worker, SourceKind::Hop(HopKind::BlockDevice)];
    for (id, kind) in (0..).zip(kinds) {
        assert_eq!(record.sources()[id as usize], source(id, kind));
    }
    let values: Vec<&str> = record.facts().iter().map(|f| f.value.as_str()).collect();
    assert_eq!(values, ["0.1.0", "two-vms"]);
    assert_eq!(record.events()[0].code, "depth-clamped");
    for index in 0..2 {
        let written = common::intervals(&step(index, 3, 2), 2);
        let expected: Vec<Interval> = written.iter().map(common::as_stored).collect();
        assert_eq!(record.intervals(index).expect("intervals"), expected);
        let expected = [counter(Some(index), 1e6)];
        assert_eq!(record.counters(Some(index)).expect("counters"), expected);
    }
}

#[test]
fn totals_are_the_merge_of_the_measured_intervals_with_all_digits() {
    let (_dir, path) = place();
    common::complete(&path);
    let totals = Record::open(&path).and_then(|r| r.totals(1)).expect("totals");
    let written = common::intervals(&step(1, 3, 2), 2);
    for (id, total) in (0..2).zip(totals) {
        let measured = || written.iter().filter(|i| i.source.0 == id && i.phase == Phase::Measure);
        for (dir, stored) in [(Dir::Read, &total.read), (Dir::Write, &total.write)] {
            let mut merged = measured().filter_map(|i| i.tally(dir)).cloned();
            let first = merged.next();
            let expected = first.map(|first| {
                merged.fold(first, |mut all, tally| {
                    all.merge(&tally);
                    all
                })
            });
            assert_eq!(stored, &expected, "{dir:?} of source {id}");
        }
        assert_eq!(total.measured, Ns::secs(3));
        assert!(total.complete);
        let testimony = total.testimony.expect("testimony");
        assert_eq!(testimony.late, 1 + 2 + 3, "warm-up and cool-down do not count");
        assert_eq!(testimony.open, 5 + 3, "in flight at the end, not the sum of all ends");
    }
}

/// Writes one interval and returns what comes back of it.
#[track_caller]
fn through_the_file(interval: &Interval) -> Interval {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.interval(interval).expect("an interval");
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    record.intervals(0).expect("intervals").remove(0)
}

#[test]
fn idle_absent_and_failing_directions_are_told_apart() {
    let mut rng = Rng::keyed(1, &[]);
    let failing = Completed { errors: 3, ..Completed::empty(false) };
    let cases = [
        None,
        Some(Completed::empty(false)),
        Some(Completed::empty(true)),
        Some(failing),
        Some(tally(&mut rng, 1, false)),
        Some(tally(&mut rng, 1000, true)),
    ];
    for read in &cases {
        for write in &cases {
            let (read, write) = (read.clone(), write.clone());
            let testimony = read.is_some().then(|| common::testimony(3));
            let interval = Interval { read, write, testimony, ..interval(&step(0, 3, 2), 0, 1) };
            assert_eq!(through_the_file(&interval), common::as_stored(&interval));
        }
    }
}

/// Each kind comes back where it was, beside another source's; SQLite itself sees the same sums.
#[test]
fn operations_without_data_are_kept_apart() {
    let mut rng = Rng::keyed(3, &[]);
    let (_dir, path) = place();
    let mut writer = begun(&path);
    let mut all = Vec::new();
    for second in 0..3 {
        for source in 0..2 {
            let others =
                [source == 0, second == 1, true].map(|has| has.then(|| tally(&mut rng, 9, false)));
            let read = (source == 1).then(|| tally(&mut rng, 3, false));
            all.push(Interval { read, others, ..interval(&step(0, 3, 2), source, second) });
        }
    }
    all.iter().for_each(|interval| writer.interval(interval).expect("an interval"));
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    let stored: Vec<Interval> = all.iter().map(common::as_stored).collect();
    assert_eq!(record.intervals(0).expect("intervals"), stored);
    let db = rusqlite::Connection::open(&path).expect("the database");
    for (place, dir) in workload::Dir::WITHOUT_DATA.into_iter().enumerate() {
        for source in 0..2 {
            let of = |i: &&Interval| i.source == SourceId(source) && i.phase == Phase::Measure;
            let measured = all.iter().filter(of).filter_map(|i| i.others[place].as_ref());
            let (ops, bytes) = measured.fold((0, 0), |sum, t| (sum.0 + t.ops, sum.1 + t.bytes));
            let total = record.totals(0).expect("totals").remove(source as usize);
            let found = total.tally(dir).map_or((0, 0), |t| (t.ops, t.bytes));
            assert_eq!(found, (ops, bytes));
            let word = ["trim", "zeroes", "flush"][place];
            let sql = "SELECT coalesce(sum(ops), 0), coalesce(sum(bytes), 0) FROM total_other \
                       WHERE source = ? AND operation = ?";
            let row = db.query_row(sql, (source, word), |row| Ok((row.get(0)?, row.get(1)?)));
            assert_eq!(row.expect("a row"), (ops as i64, bytes as i64));
        }
    }
}

#[test]
fn quantities_beyond_a_signed_integer_are_stored_as_the_largest() {
    let huge = Completed { ops: u64::MAX, bytes: u64::MAX, ..Completed::empty(false) };
    let interval = Interval { read: Some(huge), to: Ns::MAX, ..interval(&step(0, 3, 2), 0, 1) };
    let back = through_the_file(&interval);
    let largest = i64::MAX as u64;
    let read = back.read.expect("reads");
    assert_eq!((read.ops, read.bytes, back.to), (largest, largest, Ns(largest)));
}

#[test]
fn sums_of_huge_quantities_do_not_overflow() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    for second in 1..4 {
        let huge = Completed { ops: u64::MAX, errors: u64::MAX, ..Completed::empty(false) };
        let interval = Interval { read: Some(huge), ..interval(&step(0, 3, 2), 0, second) };
        writer.interval(&interval).expect("an interval");
    }
    writer.finish(Status::Complete).expect("one plain file");
    let totals = Record::open(&path).and_then(|r| r.totals(0)).expect("totals");
    assert_eq!(totals[0].read.as_ref().expect("reads").ops, i64::MAX as u64);
}

#[test]
fn a_seed_keeps_all_its_bits() {
    for seed in [0, 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        let (_dir, path) = place();
        let head = RunHead { seed, ..head() };
        let writer = Writer::create(&path, &head).expect("a record");
        writer.finish(Status::Complete).expect("one plain file");
        assert_eq!(Record::open(&path).expect("a record").head(), &head);
    }
}

#[test]
fn any_text_is_kept() {
    let texts = [
        "",
        " ",
        "Größe 漢字 🚀 \u{202e}rtl\u{feff}",
        "NUL \0 inside \0",
        "'; DROP TABLE run; --",
        "line\r\nline\ttab\u{7f}\u{1b}[31m",
        &"long ".repeat(200_000),
    ];
    for text in texts.map(String::from) {
        let (_dir, path) = place();
        let pairs = vec![(text.clone(), text.clone()), (text.clone(), String::new())];
        let scenario =
            ScenarioText { name: text.clone(), text: text.clone(), overrides: pairs.clone() };
        let producer = Producer::new(ProducerKind::Imported, text.clone());
        let title = text.clone();
        let head = RunHead { title, producer, scenario, ..head() };
        let mut writer = Writer::create(&path, &head).expect("a record");
        let worker = Source {
            name: text.clone(),
            group: text.clone(),
            agent: text.clone(),
            ..source(0, SourceKind::Worker)
        };
        writer.source(&worker).expect("a source");
        let (subject, key, value) = (text.clone(), text.clone(), text.clone());
        let fact = Fact { subject, key, value };
        writer.facts(std::slice::from_ref(&fact)).expect("a fact");
        let step = StepHead { plan: text.clone(), settings: pairs, ..step(0, 1, 0) };
        writer.step(&step).expect("a step");
        let event = Event {
            at: Ns::ZERO,
            step: None,
            source: None,
            level: Level::Info,
            code: text.clone(),
            text: text.clone(),
        };
        writer.event(&event).expect("an event");
        writer.finish(Status::Complete).expect("one plain file");
        let record = Record::open(&path).expect("a record");
        assert_eq!(record.head(), &head);
        assert_eq!((&record.sources()[0], &record.facts()[0]), (&worker, &fact));
        assert_eq!((&record.steps()[0], &record.events()[0]), (&step, &event));
    }
}

#[test]
fn every_word_comes_back() {
    for status in [Status::Running, Status::Complete, Status::Stopped, Status::Failed] {
        let (_dir, path) = place();
        begun(&path).finish(status).expect("one plain file");
        assert_eq!(Record::open(&path).expect("a record").status(), status);
    }
    let (_dir, path) = place();
    let mut writer = begun(&path);
    let levels = [Level::Info, Level::Warning, Level::Error];
    for level in levels {
        let (code, text) = ("c".into(), "t".into());
        let event =
            Event { at: Ns(1), step: Some(99), source: Some(SourceId(99)), level, code, text };
        writer.event(&event).expect("an event about somebody unknown");
    }
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    assert_eq!(record.events().iter().map(|e| e.level).collect::<Vec<_>>(), levels);
}

#[test]
fn counters_keep_any_number_and_belong_to_a_step_or_to_none() {
    let values = [0.0, -0.0, 1.5, 1e300, f64::MIN_POSITIVE, f64::INFINITY, -7e18, f64::NAN];
    let (_dir, path) = place();
    let mut writer = begun(&path);
    for value in values {
        writer.counter(&counter(None, value)).expect("a counter");
    }
    writer.counter(&counter(Some(0), 7.0)).expect("a counter");
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    let back = record.counters(None).expect("counters");
    assert_eq!(back.len(), values.len());
    for (counter, value) in back.iter().zip(values) {
        assert!(counter.value == value || (counter.value.is_nan() && value.is_nan()));
    }
    assert_eq!(record.counters(Some(0)).expect("counters"), [counter(Some(0), 7.0)]);
    assert_eq!(record.counters(Some(9)).expect("counters"), []);
}

#[test]
fn intervals_of_confidence_come_back_by_source_and_figure() {
    let one = |source: Option<&str>, figure: &str, low| Confidence {
        step: 0,
        source: source.map(str::to_owned),
        figure: figure.into(),
        low,
        high: low + 1.0,
        unit: "1/s".into(),
        level: 0.95,
        batches: 32,
    };
    let (_dir, path) = place();
    let mut writer = begun(&path);
    let written = [
        one(Some("vm1+vm2"), "iops", 4.0),
        one(Some("vm1"), "read-rate", 3.0),
        one(None, "iops", 1.0),
        one(Some("vm1"), "iops", 2.0),
    ];
    for confidence in &written {
        writer.confidence(confidence).expect("an interval of confidence");
    }
    for twice in [&written[1], &written[2]] {
        let refused = writer.confidence(twice).expect_err("it has one already").to_string();
        assert!(refused.contains(&twice.figure), "{refused}");
    }
    let nowhere = Confidence { step: 9, ..written[0].clone() };
    assert!(writer.confidence(&nowhere).is_err(), "no such step");
    writer.finish(Status::Complete).expect("one plain file");
    let back: Vec<f64> =
        Record::open(&path).expect("a record").confidences(0).map(|c| c.low).collect();
    assert_eq!(back, [1.0, 2.0, 3.0, 4.0], "those over all workers first");
}

#[test]
fn the_rounds_of_a_step_come_back_with_what_is_slowed_and_what_is_not() {
    let slowed =
        |subject: &str, lever, factor| Perturbation { subject: subject.into(), lever, factor };
    let proof = Proof {
        round: Ns::millis(300),
        settle: Ns::millis(100),
        perturbations: vec![
            slowed("store.p1", Lever::Rate, 0.9),
            slowed("small", Lever::Depth, 0.875),
        ],
        untouched: vec![Untouched { subject: "store/v1".into(), why: "no speed".into() }],
        rounds: vec![Some(1), None, Some(0)],
    };
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.proof(0, &proof).expect("a proof");
    assert!(writer.proof(0, &proof).is_err(), "it has one already");
    drop(writer);
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.proof(0, &proof).expect("a proof");
    assert!(writer.proof(9, &proof).is_err(), "no such step");
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    assert_eq!(record.proof(0), Some(&proof));
    assert_eq!(record.proof(1), None);
    let end = record.steps()[0].times.cooldown;
    let rounds: Vec<_> = proof.rounds_of(&record.steps()[0]).collect();
    let of = |slowed, from, to| ProofRound {
        slowed,
        from: end.plus(Ns::millis(from)),
        to: end.plus(Ns::millis(to)),
    };
    assert_eq!(rounds, [of(Some(1), 100, 300), of(None, 400, 600), of(Some(0), 700, 900)]);
}

#[test]
fn loops_come_back_in_their_order() {
    let loops = [
        Loop::Open { rate: 12_345.678 },
        Loop::Closed { depth: 0, think: true },
        Loop::Closed { depth: u32::MAX, think: false },
        Loop::Open { rate: 0.0 },
    ];
    let (_dir, path) = place();
    let mut writer = begun(&path);
    let load = |arrivals| WorkerLoad {
        source: SourceId(1),
        workload: "oblload".into(),
        arrivals,
        ops_per_transaction: 11,
    };
    let step = StepHead { workers: loops.map(load).to_vec(), ..step(5, 1, 0) };
    writer.step(&step).expect("a step");
    writer.finish(Status::Complete).expect("one plain file");
    assert_eq!(Record::open(&path).expect("a record").steps()[1], step);
}

#[test]
fn streams_come_back_in_their_order() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    for id in 3..5 {
        writer.source(&source(id, SourceKind::Stream)).expect("a stream's end");
    }
    let ends = [
        (4, Flow::Down, StreamEnd::Sent, u16::MAX),
        (3, Flow::Down, StreamEnd::Received, u16::MAX),
        (4, Flow::Up, StreamEnd::Sent, 0),
    ];
    let load = |(id, flow, end, number)| StreamLoad {
        source: SourceId(id),
        workload: "wire".into(),
        hop: SourceId(2),
        flow,
        end,
        number,
    };
    let step = StepHead { streams: ends.map(load).to_vec(), ..step(5, 1, 0) };
    writer.step(&step).expect("a step");
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    assert_eq!(record.steps()[1], step);
    assert_eq!(record.sources()[3].kind, SourceKind::Stream);
}

#[test]
fn events_come_in_the_order_of_time() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    for (at, code) in [(3, "c"), (1, "a"), (2, "b"), (3, "d")] {
        let (step, source, level) = (None, None, Level::Info);
        let (code, text) = (code.into(), String::new());
        writer.event(&Event { at: Ns(at), step, source, level, code, text }).expect("an event");
    }
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    let codes: String = record.events().iter().map(|e| e.code.as_str()).collect();
    assert_eq!(codes, "abcd");
}

#[test]
fn intervals_come_by_time_and_source_whatever_the_order_of_writing() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    for (source, second) in [(1, 2), (0, 1), (1, 0), (0, 2), (1, 1), (0, 0)] {
        writer.interval(&interval(&step(0, 3, 2), source, second)).expect("an interval");
    }
    writer.finish(Status::Complete).expect("one plain file");
    let intervals = Record::open(&path).and_then(|r| r.intervals(0)).expect("intervals");
    let order: Vec<(u64, u32)> =
        intervals.iter().map(|i| (i.from.0 / 1_000_000_000, i.source.0)).collect();
    assert_eq!(order, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
}

#[test]
fn a_record_of_nothing_but_its_head() {
    let (_dir, path) = place();
    let writer = Writer::create(&path, &head()).expect("a record");
    writer.finish(Status::Failed).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    assert_eq!((record.head(), record.status()), (&head(), Status::Failed));
    assert!(record.steps().is_empty() && record.sources().is_empty());
    assert!(record.facts().is_empty() && record.events().is_empty());
}

/// Whether the only total of a step is complete, after a run that ended in `status` with the step done or open.
fn complete_after(done: bool, status: Status) -> bool {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.interval(&interval(&step(0, 3, 2), 0, 1)).expect("an interval");
    if done {
        writer.step_done(0).expect("the end of a step");
    }
    writer.finish(status).expect("one plain file");
    let totals = Record::open(&path).and_then(|r| r.totals(0)).expect("totals");
    assert_eq!((totals.len(), totals[0].measured), (1, Ns::secs(1)));
    totals[0].complete
}

#[test]
fn a_step_is_complete_only_if_it_ran_to_its_end() {
    for status in [Status::Complete, Status::Stopped, Status::Failed] {
        assert!(complete_after(true, status));
        assert_eq!(complete_after(false, status), status == Status::Complete);
    }
}
