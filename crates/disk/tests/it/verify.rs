//! Verification on real files: what is written is found again after a crash, and every hidden change is named.

use crate::common::*;
use crate::prelude::*;
use std::process::{Command, Stdio};
use workload::{Arrivals, Regions, Spec, WorkingSet};

const MIB: u64 = 1 << 20;

/// A folder with a target and the file of its state.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        // Beside the sources' target folder: temporary folders may lie in memory, where there is no direct I/O.
        Place { folder: tempfile::tempdir().expect("a directory") }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn target(&self, kept: bool) -> TargetSpec {
        target(&self.data(), kept.then(|| self.state()))
    }
}

fn target(data: &Path, state: Option<PathBuf>) -> TargetSpec {
    TargetSpec {
        verify_state: state.map(|s| s.to_str().expect("UTF-8").to_owned()),
        ..file(data, Some(4 * MIB))
    }
}

/// A verified step; the demand of its target is that of a run with nothing else in it.
fn verified(target: TargetSpec, workers: u32, spec: Spec, measure: Ns) -> StepSpec {
    let spec = Spec { regions: Regions::Own, ..spec };
    let demand = workload::IoDemand::of(&spec);
    let mut step = step(TargetSpec { demand, ..target }, workers, spec, measure);
    step.workers.iter_mut().for_each(|w| w.verify = true);
    step
}

fn engine() -> DiskEngine {
    DiskEngine::new(Pinning::Never)
}

/// Runs a step on an engine of its own, as a process of its own would.
#[track_caller]
fn run(step: &StepSpec) -> Outcome {
    run_on(&mut engine(), step).unwrap_or_else(|e| panic!("{e}"))
}

fn count(outcome: &Outcome, name: &str) -> u64 {
    outcome.counters.iter().filter(|c| c.kind.name() == name).map(|c| c.value as u64).sum()
}

fn faults(outcome: &Outcome) -> Vec<&str> {
    let kinds = ["lost", "stale", "torn", "misplaced", "corrupt", "foreign"];
    let is = |e: &&record::Event| kinds.iter().any(|k| e.code == format!("verify-{k}"));
    outcome.events.iter().filter(is).map(|e| e.text.as_str()).collect()
}

#[track_caller]
fn check_honest(outcome: &Outcome) {
    assert_eq!(
        (outcome.verdict.clone(), faults(outcome)),
        (Ok(()), vec![]),
        "{:?}",
        outcome.codes()
    );
    assert_eq!(outcome.errors(), 0);
}

const SHORT: Ns = Ns::millis(400);

#[test]
fn loads_of_every_kind_find_nothing() {
    let place = Place::new();
    let mut engine = engine();
    let open = fixed(2_000.0, 8);
    for (size, workers, arrivals) in
        [(4 * KIB, 1, closed(1)), (8 * KIB, 3, closed(8)), (512, 2, closed(4)), (64 * KIB, 1, open)]
    {
        for read in [0.0, 50.0, 100.0] {
            let spec = random(size, read, arrivals);
            let mut step = verified(place.target(false), workers, spec, SHORT);
            step.targets[0].demand.writes = true;
            let outcome = run_on(&mut engine, &step).expect("a new file");
            check_honest(&outcome);
            if read == 50.0 {
                assert!(
                    count(&outcome, "verify-written") > 0 && count(&outcome, "verify-checked") > 0
                );
            }
            assert_eq!(count(&outcome, "verify-blocks"), 4 * MIB / 512);
        }
    }
}

#[test]
fn a_target_that_is_preconditioned_again_is_forgotten() {
    let place = Place::new();
    let mut engine = engine();
    for round in 0..2 {
        let target = TargetSpec { fill: Fill::SniaPts, ..place.target(false) };
        let step = verified(target, 1, random(4 * KIB, 50.0, closed(4)), SHORT);
        check_honest(&run_on(&mut engine, &step).unwrap_or_else(|e| panic!("{round}: {e}")));
    }
}

#[test]
fn a_step_that_is_called_off_leaves_its_state_closed() {
    let place = Place::new();
    let step = verified(place.target(true), 1, random(4 * KIB, 50.0, closed(4)), SHORT);
    let (out, _outputs) = std::sync::mpsc::channel();
    let mut engine = engine();
    let prepared = engine.prepare(&step, &out, &Stop::default()).expect("a new file");
    let is_clean = || std::fs::read(place.state()).expect("there")[32] == 1;
    assert!(!is_clean(), "a write may come at any moment");
    drop(prepared);
    assert!(is_clean());
}

#[test]
fn a_state_outlives_its_engine() {
    let place = Place::new();
    let wrote = run(&verified(place.target(true), 2, random(4 * KIB, 30.0, closed(4)), SHORT));
    check_honest(&wrote);
    let known = count(&wrote, "verify-blocks-known");
    assert!(known > 0);
    let read = run(&verified(place.target(true), 1, random(4 * KIB, 100.0, closed(4)), SHORT));
    check_honest(&read);
    assert_eq!(count(&read, "verify-blocks-known"), known);
    assert_eq!(count(&read, "verify-blocks-seen"), known, "the pass reads all of them");
    assert!(read.codes().contains(&"verify-pass"));
    // And writing goes on where it ended, without filling over what is known.
    let again = run(&verified(place.target(true), 2, random(4 * KIB, 60.0, closed(4)), SHORT));
    check_honest(&again);
    assert!(!again.codes().contains(&"verify-pass"));
    assert!(count(&again, "verify-blocks-known") >= known);
}

#[test]
fn without_a_kept_state_nothing_is_known_at_first() {
    let place = Place::new();
    check_honest(&run(&verified(place.target(false), 1, random(4 * KIB, 0.0, closed(1)), SHORT)));
    let read = run(&verified(place.target(false), 1, random(4 * KIB, 100.0, closed(1)), SHORT));
    check_honest(&read);
    assert_eq!(count(&read, "verify-checked"), 0);
    assert!(count(&read, "verify-unknown") > 0);
}

/// Writes with a kept state, changes the file, and runs a pass.
#[track_caller]
fn check_tampering(kind: &str, tamper: impl FnOnce(&File, &mut Rng) -> u64) {
    let place = Place::new();
    let mut spec = random(4 * KIB, 0.0, closed(4));
    // Few blocks, so that each is written several times.
    spec.working_set = Some(WorkingSet::Bytes(32 << 10));
    check_honest(&run(&verified(place.target(true), 1, spec.clone(), SHORT)));
    let file = File::options().read(true).write(true).open(place.data()).expect("there");
    // A second round, so that every block has a past.
    let before: Vec<u8> = all(&file);
    std::fs::write(place.folder.path().join("before"), before).expect("room");
    // On a disk that stands still for a while, a longer one.
    for _ in 0..20 {
        check_honest(&run(&verified(place.target(true), 1, spec.clone(), SHORT)));
        if old_block(&file).is_some() {
            break;
        }
    }
    let at = tamper(&file, &mut Rng::keyed(7, &[]));
    drop(file);
    let pass = run(&verified(place.target(true), 1, random(4 * KIB, 100.0, closed(1)), SHORT));
    let found = faults(&pass);
    let here = format!("at byte {at} ");
    assert!(!found.is_empty(), "{:?}", pass.codes());
    assert!(found.iter().all(|text| text.contains(&here)), "not {here}: {found:?}");
    let code = format!("verify-{kind}");
    assert!(pass.codes().contains(&code.as_str()), "{found:?}");
    assert!(count(&pass, &code) > 0);
}

fn all(file: &File) -> Vec<u8> {
    let mut data = vec![0; 4 * MIB as usize];
    file.read_exact_at(&mut data, 0).expect("readable");
    data
}

/// The byte offset of a written block, and its bytes.
fn some_block(file: &File, rng: &mut Rng) -> (u64, Vec<u8>) {
    let data = all(file);
    loop {
        let at = rng.below(4 * MIB / 512) as usize * 512;
        if data[at + 4..at + 8] == *b"WSv1" {
            return (at as u64, data[at..at + 512].to_vec());
        }
    }
}

#[test]
fn a_flipped_bit_is_found() {
    check_tampering("corrupt", |file, rng| {
        let (at, mut block) = some_block(file, rng);
        block[100] ^= 4;
        file.write_all_at(&block, at).expect("writable");
        at
    });
}

#[test]
fn an_old_block_is_found() {
    check_tampering("stale", |file, _| bring_back_an_old_block(file));
}

/// A block as it was at the end of the first round, one that has been written at least twice since, and where it is.
fn old_block(file: &File) -> Option<(u64, Vec<u8>)> {
    let now = all(file);
    let link =
        std::fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)));
    let folder = link.expect("a path").parent().expect("a folder").to_owned();
    let before = std::fs::read(folder.join("before")).expect("kept");
    let generation = |data: &[u8], at: usize| {
        u32::from_le_bytes([data[at + 24], data[at + 25], data[at + 26], data[at + 27]])
    };
    let marked = |data: &[u8], at: usize| data[at + 4..at + 8] == *b"WSv1";
    let at = (0..now.len()).step_by(512).find(|at| {
        marked(&now, *at)
            && marked(&before, *at)
            && generation(&now, *at) > generation(&before, *at) + 1
    })?;
    Some((at as u64, before[at..at + 512].to_vec()))
}

/// Puts it back.
fn bring_back_an_old_block(file: &File) -> u64 {
    let (at, block) = old_block(file).expect("a block that was written twice");
    file.write_all_at(&block, at).expect("writable");
    at
}

#[test]
fn a_block_of_another_address_is_found() {
    check_tampering("misplaced", |file, rng| {
        let (_, block) = some_block(file, rng);
        loop {
            let (at, other) = some_block(file, rng);
            if other != block {
                file.write_all_at(&block, at).expect("writable");
                return at;
            }
        }
    });
}

#[test]
fn half_a_block_is_found() {
    check_tampering("torn", |file, rng| {
        let (at, _) = some_block(file, rng);
        file.write_all_at(&[0x5a; 256], at + 256).expect("writable");
        at
    });
}

#[test]
fn zeros_are_found() {
    check_tampering("foreign", |file, _| {
        let at = bring_back_an_old_block(file);
        file.write_all_at(&[0; 512], at).expect("writable");
        at
    });
}

#[track_caller]
fn check_refused(step: &StepSpec, words: &[&str]) {
    let error = match run_on(&mut engine(), step) {
        Ok(_) => panic!("it ran"),
        Err(e) => e.to_string(),
    };
    for word in words {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn what_cannot_be_verified_says_why() {
    let place = Place::new();
    let spec = || random(4 * KIB, 50.0, closed(1));
    let null = TargetSpec { size: Some(MIB), ..null() };
    check_refused(&verified(null, 1, spec(), SHORT), &["null:", "verified"]);

    check_honest(&run(&verified(place.target(true), 1, spec(), SHORT)));
    // One file under two names.
    let mut twice = verified(place.target(false), 1, spec(), SHORT);
    let link =
        place.folder.path().join("../").join(place.folder.path().file_name().expect("a name"));
    twice.targets.push(TargetSpec { name: "other".into(), ..target(&link.join("data"), None) });
    let mut worker = twice.workers[0].clone();
    (worker.source, worker.targets) = (record::SourceId(1), vec![1]);
    twice.workers.push(worker);
    check_refused(&twice, &["the same file", "two names"]);

    // A state of another target, no state at all, one that was cut, one of a file that is gone.
    let other = place.folder.path().join("other");
    let small = TargetSpec { create: Some(MIB), ..target(&other, Some(place.state())) };
    check_refused(&verified(small, 1, spec(), SHORT), &["4194304 bytes", "1048576 bytes", "state"]);
    std::fs::write(place.folder.path().join("text"), "precious").expect("room");
    let text = target(&place.data(), Some(place.folder.path().join("text")));
    check_refused(&verified(text, 1, spec(), SHORT), &["no verification state"]);
    assert_eq!(std::fs::read(place.folder.path().join("text")).expect("there"), b"precious");
    let folder = target(&place.data(), Some(place.folder.path().to_owned()));
    check_refused(&verified(folder, 1, spec(), SHORT), &["state"]);
    std::fs::rename(place.data(), place.folder.path().join("gone")).expect("renamed");
    check_refused(&verified(place.target(true), 1, spec(), SHORT), &["gone", "remove it"]);
}

#[test]
fn a_state_serves_one_run_at_a_time() {
    let place = Place::new();
    let spec = random(4 * KIB, 50.0, closed(1));
    let mut first = engine();
    check_honest(
        &run_on(&mut first, &verified(place.target(true), 1, spec.clone(), SHORT)).expect("new"),
    );
    check_refused(
        &verified(place.target(true), 1, spec.clone(), SHORT),
        &["locked by another program"],
    );
    drop(first);
    check_honest(&run(&verified(place.target(true), 1, spec, SHORT)));
}

/// Makes the kept state look as if the machine had started anew since.
fn cut_the_power(place: &Place) {
    change_head(place, |head| {
        head[32] = 0;
        head[40..76].copy_from_slice(b"00000000-0000-0000-0000-00000000dead");
    });
}

fn change_head(place: &Place, change: impl FnOnce(&mut [u8; 512])) {
    let file = File::options().read(true).write(true).open(place.state()).expect("there");
    let mut head = [0; 512];
    file.read_exact_at(&mut head, 0).expect("a header");
    change(&mut head);
    let sum = crc32c::crc32c(&head[..508]);
    head[508..].copy_from_slice(&sum.to_le_bytes());
    file.write_all_at(&head, 0).expect("writable");
}

#[test]
fn after_a_power_cut_what_was_flushed_must_be_there() {
    let place = Place::new();
    let spec = random(4 * KIB, 0.0, closed(4));
    let wrote = run(&verified(place.target(true), 1, spec.clone(), SHORT));
    let known = count(&wrote, "verify-blocks-known");
    cut_the_power(&place);
    let read = |place: &Place| {
        run(&verified(place.target(true), 1, random(4 * KIB, 100.0, closed(1)), SHORT))
    };
    let pass = read(&place);
    check_honest(&pass);
    assert!(count(&pass, "verify-checked") >= known && known > 0);
    check_refused(&verified(place.target(true), 1, spec, SHORT), &["power cut", "remove it"]);
    let file = File::options().read(true).write(true).open(place.data()).expect("there");
    let (at, mut block) = some_block(&file, &mut Rng::keyed(1, &[]));
    block[300] ^= 1;
    file.write_all_at(&block, at).expect("writable");
    let pass = read(&place);
    assert_eq!(count(&pass, "verify-corrupt"), faults(&pass).len() as u64);
    assert!(faults(&pass)[0].contains(&format!("at byte {at} ")), "{:?}", faults(&pass));
}

/// Makes the kept state look as if its run had been killed.
fn kill(place: &Place) {
    change_head(place, |head| head[32] = 0);
}

#[test]
fn what_was_flushed_can_be_asked_for_alone() {
    let place = Place::new();
    let spec = random(4 * KIB, 0.0, closed(4));
    check_honest(&run(&verified(place.target(true), 1, spec.clone(), SHORT)));
    kill(&place);
    let flushed = || TargetSpec { verify_flushed: true, ..place.target(true) };
    let pass = run(&verified(flushed(), 1, random(4 * KIB, 100.0, closed(1)), SHORT));
    check_honest(&pass);
    assert!(count(&pass, "verify-checked") > 0);
    check_refused(&verified(flushed(), 1, spec.clone(), SHORT), &["flushed", "remove it"]);
    // Without that word the state is as exact as ever.
    check_honest(&run(&verified(place.target(true), 1, spec, SHORT)));
}

#[test]
fn a_damaged_state_knows_less_and_says_so() {
    let place = Place::new();
    check_honest(&run(&verified(place.target(true), 1, random(4 * KIB, 0.0, closed(4)), SHORT)));
    let file = File::options().read(true).write(true).open(place.state()).expect("there");
    let table = (64 << 10) + (4 * MIB / 512 * 4).next_multiple_of(64 << 10);
    file.write_all_at(&[7], table + 3).expect("writable");
    let pass = run(&verified(place.target(true), 1, random(4 * KIB, 100.0, closed(1)), SHORT));
    check_honest(&pass);
    assert!(pass.codes().contains(&"verify-state-damaged"), "{:?}", pass.codes());
    assert!(count(&pass, "verify-checked") > 0 && count(&pass, "verify-unknown") >= 120);
    file.write_all_at(&[7], 9).expect("writable");
    check_refused(
        &verified(place.target(true), 1, random(4 * KIB, 100.0, closed(1)), SHORT),
        &["no verification state"],
    );
}

/// Where the child writes.
const CHILD: &str = "WIRESPEED_VERIFY_CHILD";

#[test]
#[ignore = "the child of the crash test"]
fn child() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let folder = PathBuf::from(folder);
    let arrivals = Arrivals::Closed { depth: 8, think: Ns::ZERO };
    let target = target(&folder.join("data"), Some(folder.join("state")));
    let step = verified(target, 2, random(8 * KIB, 30.0, arrivals), Ns::secs(60));
    let outcome = run_on(&mut engine(), &step).map_err(|e: EngineError| e.to_string());
    panic!("it should have been killed: {outcome:?}");
}

/// A child has its state in use, and something was written by it or by one before it.
fn has_begun(place: &Place) -> bool {
    let is_in_use = std::fs::read(place.state()).is_ok_and(|s| s.get(32) == Some(&0));
    let is_ours = |block: &[u8]| block[4..8] == *b"WSv1";
    is_in_use && std::fs::read(place.data()).is_ok_and(|d| d.chunks_exact(512).any(is_ours))
}

#[test]
fn a_killed_process_leaves_a_state_that_is_exact() {
    let place = Place::new();
    let mut rng = Rng::keyed(3, &[]);
    let mut known = 0;
    for round in 0..4 {
        let mut child = Command::new(std::env::current_exe().expect("a test has a file"))
            .args(["--exact", "verify::child", "--ignored", "--nocapture"])
            .env(CHILD, place.folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        // Until it writes, and then for a while that nobody can foresee.
        let sleep = |ms| clock::sleep_until(clock::now().plus(Ns::millis(ms)));
        let given_up = clock::now().plus(HANG.into());
        while !has_begun(&place) && clock::now() < given_up {
            sleep(20);
        }
        sleep(400 + rng.below(500));
        child.kill().expect("it runs");
        let status = child.wait().expect("it ends");
        assert!(!status.success() && status.code().is_none(), "round {round}: {status:?}");
        let pass = run(&verified(place.target(true), 1, random(4 * KIB, 100.0, closed(1)), SHORT));
        check_honest(&pass);
        let now = count(&pass, "verify-blocks-known");
        assert!(now >= known, "round {round}");
        known = now;
    }
    assert!(known > 0, "no child ever wrote");
    let file = File::options().read(true).write(true).open(place.data()).expect("there");
    let (at, mut block) = some_block(&file, &mut rng);
    block[77] ^= 128;
    file.write_all_at(&block, at).expect("writable");
    let pass = run(&verified(place.target(true), 1, random(4 * KIB, 100.0, closed(1)), SHORT));
    assert!(!faults(&pass).is_empty());
    assert!(
        faults(&pass).iter().all(|text| text.contains(&format!("at byte {at} "))),
        "{:?}",
        faults(&pass)
    );
}
