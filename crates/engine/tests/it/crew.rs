//! Crews with misbehaving workers: every way to end yields a verdict.

use clock::Ns;
use engine::{
    Crew, CrewSettings, ERRORS_MAX, EngineError, EventNote, MeterScope, Opened, OpenedLoad, Output,
    Phases, Pinning, Prepared, Reports, Spent, Stop, WorkerMeter, WorkerSetup, WorkerTask,
};
use record::{CounterId, Level, Phase, SourceId};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;
use workload::Dir;

const HANG: Duration = Duration::from_secs(60);

/// What a worker does when it opens, and when it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Habit {
    /// Counts one read and waits for the end.
    Good,
    FailsToOpen,
    PanicsOpening,
    Fails,
    Panics,
    /// Never looks at the clock again.
    Hangs,
    /// Sits in one operation for most of the step, as in a system call.
    Blocks,
    /// Operations fail, so many at the start and one every ten milliseconds.
    Errs(u64),
    /// Reports one piece of news and two counts.
    Reports,
    /// Every tenth operation succeeds, all others fail.
    ErrsMostly,
}

impl WorkerTask for Habit {
    fn open(self: Box<Self>) -> Result<Opened, EngineError> {
        match *self {
            Habit::FailsToOpen => {
                Err(EngineError::Target { target: "t".to_owned(), problem: "not today".to_owned() })
            }
            Habit::PanicsOpening => panic!("on purpose, while opening"),
            _ => {
                let note =
                    EventNote { level: Level::Info, code: "opened", text: "ready".to_owned() };
                let told = || Box::new(ReportOnce(false)) as Box<dyn Reports>;
                let reports = matches!(*self, Habit::Reports).then(told);
                Ok(Opened { load: self, slots: 1, notes: vec![note], how: String::new(), reports })
            }
        }
    }
}

/// Whether the report has been sent.
struct ReportOnce(bool);

impl Reports for ReportOnce {
    fn news(&mut self, say: &mut dyn FnMut(Ns, EventNote)) {
        if !std::mem::replace(&mut self.0, true) {
            let text = "as seen".to_owned();
            say(Ns::MAX, EventNote { level: Level::Error, code: "seen", text });
        }
    }

    fn counts(&mut self) -> Vec<(CounterId, u64)> {
        vec![(CounterId::VerifyLost, 7), (CounterId::VerifyStale, 0)]
    }
}

impl OpenedLoad for Habit {
    fn run(&mut self, meter: &mut WorkerMeter, stop: &Stop) -> Result<(), EngineError> {
        match *self {
            Habit::Fails => {
                return Err(EngineError::Worker {
                    worker: "w".to_owned(),
                    problem: "broke".to_owned(),
                });
            }
            Habit::Panics => panic!("on purpose, while running"),
            Habit::Hangs => clock::sleep_until(meter.line().end().plus(Ns::secs(3))),
            Habit::Blocks => {
                meter.submitted(0, Dir::Read, Ns::ZERO);
                clock::sleep_until(meter.line().start().plus(Ns::secs(1)));
                meter.advance(clock::now(), Spent::Waiting);
                meter.completed(0, Ok(512));
            }
            Habit::Errs(n) => (0..n).for_each(|_| operate(meter, Err(5))),
            _ => operate(meter, Ok(512)),
        }
        for i in 1u64.. {
            let now = clock::now();
            meter.advance(now, Spent::Waiting);
            if stop.asked() || now >= meter.line().end() {
                break;
            }
            match *self {
                Habit::Errs(_) => operate(meter, Err(5)),
                Habit::ErrsMostly => operate(meter, if i % 10 == 0 { Ok(512) } else { Err(110) }),
                _ => {}
            }
            clock::sleep_until(now.plus(Ns::millis(10)).min(meter.line().end()));
        }
        Ok(())
    }
}

fn operate(meter: &mut WorkerMeter, result: Result<u32, i32>) {
    meter.submitted(0, Dir::Read, Ns::ZERO);
    meter.completed(0, result);
}

fn assemble(habits: &[Habit], measure: Ns, notes: &Sender<Output>) -> Result<Crew, EngineError> {
    muster_for(habits, Phases { measure, ..Phases::default() }, notes)
}

fn muster_for(
    habits: &[Habit],
    phases: Phases,
    notes: &Sender<Output>,
) -> Result<Crew, EngineError> {
    let orders = CrewSettings {
        step: 0,
        phases,
        grace: Ns::millis(500),
        hang_after: Ns::millis(200),
        pinning: Pinning::Auto,
        facts: Vec::new(),
    };
    let post = |(i, habit): (u32, &Habit)| WorkerSetup {
        source: SourceId(i),
        name: format!("a-name-longer-than-the-kernel-keeps-äöü/{i}"),
        targets: ["a", "b"].map(str::to_owned).to_vec(),
        scope: MeterScope { reads: true, writes: false, others: [false; 3], open_loop: false },
        task: Box::new(*habit),
    };
    Crew::assemble(orders, (0..).zip(habits).map(post).collect(), notes)
}

/// Runs a crew and returns how many intervals, which event codes and which verdict came out.
fn run(habits: &[Habit], measure: Ns) -> (usize, Vec<String>, Result<(), EngineError>) {
    let (out, outputs) = mpsc::channel();
    let crew = match assemble(habits, measure, &out) {
        Ok(crew) => crew,
        Err(e) => return (0, Vec::new(), Err(e)),
    };
    let now = clock::now();
    let _running = Box::new(crew).start(now, now.plus(Ns::millis(10)), out);
    gather(&outputs)
}

fn gather(outputs: &Receiver<Output>) -> (usize, Vec<String>, Result<(), EngineError>) {
    let (mut intervals, mut codes) = (0, Vec::new());
    loop {
        match outputs.recv_timeout(HANG).expect("a verdict in bounded time") {
            Output::Interval(_) => intervals += 1,
            Output::Counter(_) => {}
            Output::Event(event) => codes.push(event.code),
            Output::Finished => return (intervals, codes, Ok(())),
            Output::Ended(..) => {}
            Output::Failed(e) => return (intervals, codes, Err(e)),
        }
    }
}

#[track_caller]
fn check(habits: &[Habit], measure: Ns, words: &str) {
    let (_, _, verdict) = run(habits, measure);
    let message = verdict.expect_err("a failure").to_string();
    assert!(message.contains(words), "{message}");
}

#[test]
fn a_healthy_crew_finishes() {
    let (intervals, codes, verdict) = run(&[Habit::Good; 2], Ns::millis(200));
    assert_eq!(verdict, Ok(()));
    assert!(intervals >= 2);
    assert_eq!(codes.iter().filter(|code| *code == "opened").count(), 2);
}

#[test]
fn a_measurement_is_brought_forward_to_a_moment_that_is_still_to_come() {
    let (out, outputs) = mpsc::channel();
    let phases = Phases { warmup: Ns::secs(3600), measure: Ns::millis(300), ..Phases::default() };
    let crew = muster_for(&[Habit::Good; 2], phases, &out).expect("a good crew");
    let epoch = clock::now();
    let running = Box::new(crew).start(epoch, epoch.plus(Ns::millis(10)), out);
    assert!(!running.measure(epoch), "before the start");
    assert!(!running.measure(epoch.plus(Ns::millis(2500))), "between two cuts");
    assert!(!running.measure(epoch.plus(Ns::secs(7200))), "after its time");
    assert!(running.measure(epoch.plus(Ns::secs(2))));
    assert!(running.measure(epoch.plus(Ns::secs(2))), "the same again");
    assert!(!running.measure(epoch.plus(Ns::secs(3))), "another");
    let mut measured = Vec::new();
    loop {
        match outputs.recv_timeout(HANG).expect("the step ends, an hour early") {
            Output::Interval(i) if i.phase == Phase::Measure => measured.push((i.from, i.to)),
            Output::Finished => break,
            Output::Failed(e) => panic!("{e}"),
            _ => {}
        }
    }
    assert_eq!(measured, [(Ns::secs(2), Ns::millis(2300)); 2]);
}

#[test]
fn an_empty_crew_finishes_at_once() {
    assert_eq!(run(&[], Ns::secs(3600)), (0, Vec::new(), Ok(())));
}

#[test]
fn a_worker_that_cannot_open_fails_the_preparation_and_releases_the_others() {
    check(&[Habit::Good, Habit::FailsToOpen, Habit::Good], Ns::secs(3600), "not today");
    check(&[Habit::Good, Habit::PanicsOpening], Ns::secs(3600), "panicked while opening");
}

#[test]
fn a_worker_that_fails_ends_the_step_for_all() {
    check(&[Habit::Good, Habit::Fails], Ns::secs(3600), "broke");
    check(&[Habit::Good, Habit::Panics], Ns::secs(3600), "panicked");
}

#[test]
fn a_hung_worker_is_abandoned() {
    check(&[Habit::Good, Habit::Hangs], Ns::millis(100), "has not come back from an I/O");
}

#[test]
fn a_blocked_worker_is_reported_during_the_hang_and_at_its_end() {
    let (_, codes, verdict) = run(&[Habit::Blocks], Ns::millis(1500));
    assert_eq!(verdict, Ok(()));
    let hangs: Vec<&String> = codes.iter().filter(|code| code.starts_with("hang")).collect();
    // A loaded machine may miss one of the doublings, and see the worker away afterwards.
    assert!(
        hangs.len() >= 2 && hangs[0] == "hang" && hangs.contains(&&"hang-over".to_owned()),
        "{codes:?}"
    );
}

#[test]
fn too_many_errors_stop_the_step_by_name_and_count() {
    check(
        &[Habit::Errs(ERRORS_MAX + 1)],
        Ns::secs(3600),
        "more than 1000 operations of the step failed: EIO × 1",
    );
}

#[test]
fn only_errors_for_a_second_stop_the_step() {
    check(
        &[Habit::Good, Habit::Errs(0)],
        Ns::secs(3600),
        "every operation failed for a second: EIO × ",
    );
}

#[test]
fn each_error_number_is_one_event() {
    let (_, codes, verdict) = run(&[Habit::ErrsMostly], Ns::millis(300));
    assert_eq!(verdict, Ok(()));
    assert_eq!(codes.iter().filter(|code| *code == "io-error").count(), 1);
}

#[test]
fn a_start_in_the_past_is_reported() {
    let (out, outputs) = mpsc::channel();
    let crew = assemble(&[Habit::Good], Ns::millis(400), &out).expect("a good crew");
    let now = clock::now();
    let past = Ns(now.0.saturating_sub(Ns::millis(200).0));
    let _running = Box::new(crew).start(past, past, out);
    let (_, codes, verdict) = gather(&outputs);
    assert_eq!(verdict, Ok(()));
    assert!(codes.iter().any(|code| code == "late-start"), "{codes:?}");
}

#[test]
fn the_host_reports_facts() {
    let facts = engine::host_facts("here");
    for key in ["kernel", "cpu-count", "memory"] {
        assert!(
            facts.iter().any(|f| f.subject == "here" && f.key == key && !f.value.is_empty()),
            "{key}"
        );
    }
}

#[test]
fn reports_of_a_load_are_sent_and_counted_once() {
    let (out, outputs) = mpsc::channel();
    let crew = assemble(&[Habit::Good, Habit::Reports], Ns::millis(300), &out).expect("it opens");
    let now = clock::now();
    let _running = Box::new(crew).start(now, now.plus(Ns::millis(10)), out);
    let (mut told, mut counted) = (Vec::new(), Vec::new());
    loop {
        match outputs.recv_timeout(HANG).expect("a verdict in bounded time") {
            Output::Event(event) => told.push((event.code, event.source)),
            Output::Counter(c) => counted.push((c.kind.id(), c.value, c.source, c.from <= c.to)),
            Output::Interval(_) => {}
            end => break assert_eq!(end, Output::Finished),
        }
    }
    told.retain(|(code, _)| code != "opened" && code != "over-subscribed");
    assert_eq!(told, [("seen".to_owned(), Some(SourceId(1)))]);
    let count = |id, value| (Some(id), value, SourceId(1), true);
    assert_eq!(counted, [count(CounterId::VerifyLost, 7.0), count(CounterId::VerifyStale, 0.0)]);
}
