//! A record that is followed while it grows: everything once, in its order, and the same as a reader of the whole has.

use crate::common::{self, begun, counter, interval, place, step};
use clock::Ns;
use record::*;

fn event(at: u64) -> Event {
    Event {
        at: Ns::secs(at),
        step: Some(0),
        source: None,
        level: Level::Info,
        code: "a-code".to_owned(),
        text: format!("at {at}"),
    }
}

#[test]
fn everything_comes_once() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.commit().expect("a commit");
    let mut follower = Follower::open(&path).expect("a record that has just begun");
    let first = follower.look(100).expect("a look");
    let (sources, steps) = first.shape.expect("what there is");
    let whole = Record::open(&path).expect("a record");
    assert_eq!((&sources[..], &steps[..]), (whole.sources(), whole.steps()));
    assert_eq!((first.intervals.len(), first.status), (0, Status::Running));
    let step = step(0, 3, 2);
    let (mut intervals, mut counters, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for second in 0..5 {
        for source in 0..2 {
            writer.interval(&interval(&step, source, second)).expect("an interval");
        }
        writer.counter(&counter(Some(0), second as f64)).expect("a counter");
        writer.event(&event(second)).expect("an event");
        assert_eq!(follower.look(100).expect("a look").intervals, [], "not committed");
        writer.commit().expect("a commit");
        // In parts, as a long record is taken in by who comes late.
        loop {
            let news = follower.look(1).expect("a look");
            assert_eq!(news.shape, None, "nothing was added");
            intervals.extend(news.intervals);
            counters.extend(news.counters);
            events.extend(news.events);
            if !news.more {
                break;
            }
        }
    }
    let whole = Record::open(&path).expect("a record");
    assert_eq!(intervals, whole.intervals(0).expect("intervals"));
    assert_eq!(counters, whole.counters(Some(0)).expect("counters"));
    assert_eq!(events, whole.events());
    writer.step_done(0).expect("the end of a step");
    writer.finish(Status::Complete).expect("one plain file");
    assert_eq!(common::companions(&path), Vec::<String>::new());
    let last = follower.look(100).expect("a look at the folded file");
    assert_eq!((last.status, last.intervals.len()), (Status::Complete, 0));
    let late = Follower::open(&path).expect("a finished record").look(100).expect("a look");
    assert_eq!(late.intervals, intervals, "who comes late has everything");
}

#[test]
fn a_step_that_is_added_or_moved_is_said() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.commit().expect("a commit");
    let mut follower = Follower::open(&path).expect("a record");
    let known = follower.look(10).expect("a look").shape.expect("steps").1;
    let mut times = known[0].times;
    times.cooldown = times.cooldown.plus(Ns::secs(3));
    times.end = times.end.plus(Ns::secs(3));
    writer.step_times(0, &times).expect("other times");
    writer.commit().expect("a commit");
    let (_, steps) = follower.look(10).expect("a look").shape.expect("they moved");
    assert_eq!(steps[0].times, times);
    assert_eq!(follower.look(10).expect("a look").shape, None);
}

#[test]
fn what_is_no_record_is_not_followed() {
    let (_dir, path) = place();
    std::fs::write(&path, "no record").expect("a file");
    assert!(Follower::open(&path).is_err());
}
