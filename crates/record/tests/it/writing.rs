//! What a writer refuses, and that a refusal harms nothing.

use crate::child;
use crate::common::{self, begun, counter, head, interval, place, says, source, step};
use record::*;
use std::path::Path;

#[test]
fn a_record_is_never_written_over_anything() {
    let (dir, path) = place();
    std::fs::write(&path, "precious").expect("a file");
    let refused = || Writer::create(&path, &head()).map(|_| ());
    says(refused(), &["run.wsr already exists", "another name"]);
    assert_eq!(std::fs::read_to_string(&path).expect("the file"), "precious");
    says(Writer::create(dir.path(), &head()).map(|_| ()), &["already exists"]);
    #[cfg(unix)]
    {
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &link).expect("a link");
        says(Writer::create(&link, &head()).map(|_| ()), &["already exists"]);
    }
}

#[test]
fn a_place_that_takes_no_file_is_named() {
    let (dir, path) = place();
    std::fs::write(&path, "a file").expect("a file");
    let cases = [dir.path().join("no/such/directory.wsr"), path.join("below-a-file.wsr")];
    for case in &cases {
        let name = case.display().to_string();
        says(Writer::create(case, &head()).map(|_| ()), &["cannot create", &name, "directory"]);
    }
    #[cfg(target_os = "linux")]
    says(Writer::create(Path::new("/proc/run.wsr"), &head()).map(|_| ()), &["cannot create"]);
}

#[test]
fn odd_names_are_only_names() {
    let names = ["file:run.wsr?mode=memory", ":memory:", "a b%20#?.wsr", "-wal", "Größe.wsr"];
    for name in names {
        let (dir, _) = place();
        let mut command = child::command("create", Path::new(name), None);
        command.current_dir(dir.path());
        assert!(child::output(command).contains("created"), "{name}");
        let path = dir.path().join(name);
        assert!(path.is_file(), "{name} is not a file");
        assert_eq!(Record::open(&path).expect("a record").head(), &head());
    }
}

/// Asserts that a writer refuses a call, saying `parts`, and goes on unharmed.
#[track_caller]
fn refuses(call: impl FnOnce(&mut Writer) -> Result<(), RecordError>, parts: &[&str]) {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.interval(&interval(&step(0, 3, 2), 0, 0)).expect("an interval before");
    says(call(&mut writer), parts);
    writer.interval(&interval(&step(0, 3, 2), 1, 0)).expect("an interval after");
    writer.commit().expect("a commit after");
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    assert_eq!(record.intervals(0).expect("intervals").len(), 2);
    assert_eq!((record.sources().len(), record.steps().len()), (3, 1));
}

#[test]
fn what_was_not_announced_is_refused() {
    refuses(|w| w.interval(&interval(&step(7, 3, 2), 0, 0)), &["step 7 is not"]);
    refuses(|w| w.interval(&interval(&step(0, 3, 2), 9, 0)), &["source 9 is not"]);
    refuses(|w| w.step(&step(1, 3, 8)), &["source 3 is not"]);
    refuses(|w| w.step_done(4), &["step 4 is not"]);
    refuses(|w| w.step_times(4, &step(4, 3, 2).times), &["step 4 is not"]);
    refuses(|w| w.counter(&counter(Some(3), 1.0)), &["step 3 is not"]);
    let stranger = Counter { source: SourceId(8), ..counter(None, 1.0) };
    refuses(|w| w.counter(&stranger), &["source 8 is not"]);
}

#[test]
fn what_is_there_already_is_refused() {
    refuses(|w| w.interval(&interval(&step(0, 3, 2), 0, 0)), &["source 0", "already"]);
    refuses(|w| w.step(&step(0, 3, 2)), &["step 0 is already in the record"]);
    refuses(
        |w| w.source(&source(1, SourceKind::Hop(HopKind::Other))),
        &["source 1 (hop1)", "already"],
    );
    let namesake = Source { id: SourceId(9), ..source(1, SourceKind::Worker) };
    refuses(|w| w.source(&namesake), &["vm1", "already"]);
}

#[test]
fn a_refused_interval_is_not_in_the_totals() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    let once = Interval { read: Some(Completed::empty(false)), ..interval(&step(0, 3, 2), 0, 1) };
    writer.interval(&once).expect("an interval");
    writer.interval(&once).expect_err("the same again");
    writer.finish(Status::Complete).expect("one plain file");
    let totals = Record::open(&path).and_then(|r| r.totals(0)).expect("totals");
    assert_eq!(totals[0].measured, clock::Ns::secs(1));
}

#[test]
fn a_done_step_takes_nothing_more() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.step_done(0).expect("the end of a step");
    says(writer.step_done(0), &["step 0 is done"]);
    says(writer.step_times(0, &step(0, 3, 2).times), &["step 0 is done"]);
    says(writer.interval(&interval(&step(0, 3, 2), 0, 0)), &["step 0 is done"]);
    writer.finish(Status::Complete).expect("one plain file");
    assert!(Record::open(&path).and_then(|r| r.totals(0)).expect("totals").is_empty());
}

#[test]
fn a_measurement_that_begins_sooner_corrects_its_step_alone() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    writer.step(&step(1, 3, 2)).expect("another step");
    let mut sooner = step(0, 3, 2);
    (sooner.times.measure, sooner.times.end) = (clock::Ns(7), clock::Ns(9));
    writer.step_times(0, &sooner.times).expect("the step is known");
    writer.finish(Status::Complete).expect("one plain file");
    let record = Record::open(&path).expect("a record");
    assert_eq!(record.steps(), [sooner, step(1, 3, 2)]);
}

#[test]
fn commits_of_nothing_are_harmless() {
    let (_dir, path) = place();
    let mut writer = begun(&path);
    for _ in 0..10 {
        writer.commit().expect("a commit");
    }
    writer.facts(&[]).expect("no facts");
    writer.finish(Status::Complete).expect("one plain file");
    assert_eq!(common::companions(&path), Vec::<String>::new());
}
