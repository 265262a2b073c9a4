//! What a target holds before its first load: filled where it may be written and needs it, looked at where it is only
//! read, and left exactly as it was where it must not be touched.

use crate::common::*;
use crate::prelude::*;
use disk::{BLOCK, DiskEngine, SECTOR};
use record::{Event, Fact, Sampling};
use std::fs::{self, File, OpenOptions};
use workload::{Footprint, IoDemand, Reduction, WorkingSet};

const MIB: u64 = 1 << 20;

/// What a preparation said and left.
struct Prepared {
    facts: Vec<Fact>,
    events: Vec<Event>,
    verdict: Result<(), EngineError>,
}

impl Prepared {
    fn codes(&self) -> Vec<&str> {
        self.events.iter().map(|e| e.code.as_str()).collect()
    }

    fn fact(&self, key: &str) -> Option<&str> {
        self.facts.iter().find(|f| f.key == key).map(|f| f.value.as_str())
    }

    #[track_caller]
    fn sampling(&self) -> Sampling {
        self.fact(Sampling::FACT).expect("a sampling").parse().expect("in its own words")
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Prepares a step of one worker that reads `read` percent, and does not start it.
fn prepare(engine: &mut DiskEngine, target: TargetSpec, read: f64, stop: &Stop) -> Prepared {
    prepare_step(engine, &step_of(target, read), stop)
}

fn step_of(target: TargetSpec, read: f64) -> StepSpec {
    step(target, 1, random(4 * KIB, read, closed(1)), Ns::millis(50))
}

fn prepare_step(engine: &mut DiskEngine, step: &StepSpec, stop: &Stop) -> Prepared {
    let (out, outputs) = mpsc::channel();
    let prepared = engine.prepare(step, &out, stop);
    drop(out);
    let (facts, verdict) = match prepared {
        Ok(prepared) => (prepared.facts(), Ok(())),
        Err(e) => (Vec::new(), Err(e)),
    };
    let events = outputs.into_iter().filter_map(|output| match output {
        engine::Output::Event(event) => Some(event),
        _ => None,
    });
    Prepared { facts, events: events.collect(), verdict }
}

/// The same on an engine of its own, as a run of one step would.
fn once(target: TargetSpec, read: f64) -> Prepared {
    prepare(&mut DiskEngine::new(Pinning::Never), target, read, &Stop::default())
}

/// What stands at a path, with its token where it is not ours any more.
fn open(path: &Path) -> TargetSpec {
    let spec = file(path, None);
    match disk::inspect(&spec, true).examined {
        Some(Ok(found)) => TargetSpec { write_token: Some(found.token), overwrite: true, ..spec },
        _ => spec,
    }
}

/// A file that Wirespeed made, from which everything beyond `kept` bytes was taken again.
fn hollow(path: &Path, bytes: u64, kept: u64) {
    once(file(path, Some(bytes)), 100.0).verdict.expect("a new file");
    let data = fs::read(path).expect("readable");
    let file = OpenOptions::new().write(true).open(path).expect("ours");
    file.set_len(0).expect("ours");
    file.set_len(bytes).expect("ours");
    file.write_all_at(&data[..kept as usize], 0).expect("room");
    file.sync_all().expect("a disk");
}

/// Blocks of a file that hold anything.
fn blocks_with_data(path: &Path) -> usize {
    let data = fs::read(path).expect("readable");
    data.chunks(BLOCK).filter(|block| block.iter().any(|b| *b != 0)).count()
}

#[test]
fn a_created_file_holds_no_sector_twice() {
    let folder = folder();
    let path = folder.path().join("data");
    let created = once(file(&path, Some(8 * MIB)), 100.0);
    assert!(created.fact("fill").expect("a fact").starts_with("8 MiB in "));
    assert_eq!(created.fact(Sampling::FACT), None, "what was just made is not looked at");
    let data = fs::read(&path).expect("readable");
    let different: HashSet<&[u8]> = data.chunks(SECTOR).collect();
    assert_eq!(different.len() as u64, 8 * MIB / SECTOR as u64);
}

#[test]
fn a_created_file_is_as_reducible_as_was_asked() {
    let folder = folder();
    let path = folder.path().join("data");
    let data = Reduction { compress: 4.0, dedupe: 2.0 };
    once(TargetSpec { data, ..file(&path, Some(8 * MIB)) }, 100.0).verdict.expect("a new file");
    let content = fs::read(&path).expect("readable");
    let different: HashSet<&[u8]> = content.chunks(BLOCK).collect();
    assert_eq!(different.len() as u64, 4 * MIB / BLOCK as u64);
    let reduced: usize = content.chunks(BLOCK).map(|b| lz4_flex::block::compress(b).len()).sum();
    let ratio = content.len() as f64 / reduced as f64;
    assert!((ratio / 4.0 - 1.0).abs() < 0.02, "{ratio}");
}

/// Runs a step of three workers on a new file, and returns the file before and after.
fn written(data: Reduction, read: f64) -> (Vec<u8>, Vec<u8>) {
    let folder = folder();
    let path = folder.path().join("data");
    let target = TargetSpec { data, ..file(&path, Some(8 * MIB)) };
    once(target.clone(), 100.0).verdict.expect("a new file");
    let before = fs::read(&path).expect("readable");
    let step = step(target, 3, random(16 * KIB, read, closed(4)), Ns::millis(300));
    let outcome = run(&step).expect("our own file");
    assert_eq!((outcome.verdict.clone(), outcome.errors()), (Ok(()), 0));
    (before, fs::read(&path).expect("readable"))
}

#[test]
fn what_a_load_writes_is_like_nothing_else_even_where_it_reads() {
    for read in [0.0, 50.0] {
        let (before, after) = written(Reduction::default(), read);
        let different: HashSet<&[u8]> = after.chunks(SECTOR).collect();
        assert_eq!(different.len(), after.len() / SECTOR);
        let kept = before.chunks(SECTOR).filter(|sector| different.contains(sector)).count();
        assert!(kept < different.len(), "something was written");
    }
}

#[test]
fn what_a_load_writes_is_as_reducible_as_was_asked() {
    let (before, after) = written(Reduction { compress: 4.0, dedupe: 1.0 }, 50.0);
    assert!(before != after);
    let reduced: usize = after.chunks(BLOCK).map(|b| lz4_flex::block::compress(b).len()).sum();
    let ratio = after.len() as f64 / reduced as f64;
    assert!((ratio / 4.0 - 1.0).abs() < 0.02, "{ratio}");
}

#[test]
fn what_needs_it_is_filled_before_it_is_written() {
    let folder = folder();
    let path = folder.path().join("data");
    hollow(&path, 8 * MIB, 0);
    assert_eq!(blocks_with_data(&path), 0);
    let filled = once(open(&path), 50.0);
    assert_eq!((filled.verdict.clone(), blocks_with_data(&path)), (Ok(()), 2048));
    assert!(filled.fact("fill").expect("a fact").starts_with("8 MiB in "));
    let again = once(open(&path), 50.0);
    assert_eq!((again.codes(), again.fact("fill")), (vec!["fill-not-needed"], None));
    assert_eq!(again.sampling().sound(), 1000);
}

#[test]
fn only_what_the_workload_can_touch_is_filled() {
    let folder = folder();
    let path = folder.path().join("data");
    hollow(&path, 8 * MIB, 0);
    let mut step = step_of(open(&path), 0.0);
    step.workers[0].workload.working_set = Some(WorkingSet::Bytes(3 * MIB));
    prepare_step(&mut DiskEngine::default(), &step, &Stop::default()).verdict.expect("filled");
    assert_eq!(blocks_with_data(&path), 768);
    // Another step of the same run will touch more.
    hollow(&path.with_extension("2"), 8 * MIB, 0);
    let reach = Footprint { bytes: 0, percent: 75.0 };
    step.targets[0] = TargetSpec {
        demand: IoDemand { reach, ..IoDemand::default() },
        ..open(&path.with_extension("2"))
    };
    prepare_step(&mut DiskEngine::default(), &step, &Stop::default()).verdict.expect("filled");
    assert_eq!(blocks_with_data(&path.with_extension("2")), 1536);
}

#[test]
fn a_target_is_filled_once_a_run_and_before_a_step_that_only_reads_it() {
    let folder = folder();
    let path = folder.path().join("data");
    hollow(&path, 4 * MIB, 0);
    let writes = IoDemand { writes: true, reach: Footprint::WHOLE, ..IoDemand::default() };
    let target = TargetSpec { demand: writes, fill: Fill::Always, ..open(&path) };
    let mut engine = DiskEngine::new(Pinning::Never);
    let first = prepare(&mut engine, target.clone(), 100.0, &Stop::default());
    assert!(first.fact("fill").is_some());
    assert_eq!(blocks_with_data(&path), 1024);
    let before = fs::read(&path).expect("readable");
    for read in [100.0, 0.0] {
        let next = prepare(&mut engine, target.clone(), read, &Stop::default());
        assert_eq!((next.fact("fill"), next.fact(Sampling::FACT)), (None, None));
        assert_eq!(before, fs::read(&path).expect("readable"));
    }
}

#[test]
fn rules_for_filling_are_kept() {
    // The rule, how much the file holds, and whether it is filled.
    for (rule, kept, filled) in [
        (Fill::Never, 0, false),
        (Fill::Never, 4 * MIB, false),
        (Fill::Always, 4 * MIB, true),
        (Fill::Auto, 4 * MIB, false),
        (Fill::Auto, 3 * MIB, true),
        (Fill::SniaPts, 4 * MIB, true),
    ] {
        let folder = folder();
        let path = folder.path().join("data");
        hollow(&path, 4 * MIB, kept);
        let before = fs::read(&path).expect("readable");
        let prepared = once(TargetSpec { fill: rule, ..open(&path) }, 50.0);
        let fact = prepared.fact("fill").or(prepared.fact("precondition"));
        assert_eq!(fact.is_some(), filled, "{rule:?} {kept}");
        assert_eq!(before != fs::read(&path).expect("readable"), filled, "{rule:?} {kept}");
        if rule == Fill::Never {
            let missing = 1000 - (1000 * kept / (4 * MIB)) as u32;
            let Sampling { blocks, unwritten, zero, .. } = prepared.sampling();
            assert_eq!((blocks, unwritten + zero), (1000, missing));
        }
    }
}

#[test]
fn data_of_other_ratios_is_made_anew() {
    let folder = folder();
    let path = folder.path().join("data");
    hollow(&path, 4 * MIB, 4 * MIB);
    let data = Reduction { compress: 2.0, dedupe: 1.0 };
    for (data, fills) in [(data, true), (data, false), (Reduction::default(), true)] {
        let prepared = once(TargetSpec { data, ..open(&path) }, 50.0);
        assert_eq!(prepared.fact("fill").is_some(), fills, "{data:?}");
    }
}

#[test]
fn a_target_that_is_only_read_is_looked_at_once_and_left_alone() {
    let folder = folder();
    let path = folder.path().join("data");
    let sparse = File::create(&path).expect("a file");
    sparse.set_len(16 * MIB).expect("room");
    sparse.write_all_at(&vec![0x5a; 4 * MIB as usize], 0).expect("room");
    sparse.write_all_at(&vec![0; 4 * MIB as usize], 4 * MIB).expect("room");
    sparse.sync_all().expect("a disk");
    let before = fs::metadata(&path).expect("there");
    for rule in [Fill::Auto, Fill::Always, Fill::Never] {
        let mut engine = DiskEngine::new(Pinning::Never);
        let target = TargetSpec { fill: rule, ..open(&path) };
        let first = prepare(&mut engine, target.clone(), 100.0, &Stop::default());
        let Sampling { blocks, over, unwritten, zero, repeated, .. } = first.sampling();
        assert_eq!((blocks, over), (1000, 16 * MIB));
        assert_eq!((repeated, unwritten + zero), (250, 750));
        let again = prepare(&mut engine, target, 100.0, &Stop::default());
        assert_eq!(again.fact(Sampling::FACT), None);
    }
    let after = fs::metadata(&path).expect("there");
    assert_eq!(before.modified().expect("a time"), after.modified().expect("a time"));
}

#[test]
fn space_that_is_reserved_and_not_written_holds_nothing() {
    let folder = folder();
    let path = folder.path().join("data");
    let reserved = File::create(&path).expect("a file");
    match rustix::fs::fallocate(&reserved, rustix::fs::FallocateFlags::empty(), 0, 4 * MIB) {
        Ok(()) => {}
        Err(rustix::io::Errno::OPNOTSUPP) => {
            return println!("skipped: the file system of {} reserves nothing", path.display());
        }
        Err(e) => panic!("{e}"),
    }
    let Sampling { blocks, unwritten, zero, .. } = once(open(&path), 100.0).sampling();
    assert_eq!((blocks, unwritten + zero), (1000, 1000));
}

/// A loop device over a file; detached when dropped.
struct Loop(PathBuf);

impl Loop {
    /// `None`, with a note, where there can be none.
    fn over(file: &Path) -> Option<Loop> {
        let made = Command::new("losetup").args(["-f", "--show"]).arg(file).output();
        match made {
            Ok(out) if out.status.success() => {
                Some(Loop(String::from_utf8_lossy(&out.stdout).trim().into()))
            }
            other => {
                println!("skipped: no loop device ({other:?})");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("-d").arg(&self.0).status();
    }
}

#[test]
fn a_device_is_looked_at_as_a_file_is() {
    let folder = folder();
    let path = folder.path().join("data");
    hollow(&path, 8 * MIB, 2 * MIB);
    let Some(device) = Loop::over(&path) else { return };
    let before = fs::read(&path).expect("readable");
    let Sampling { blocks, over, unwritten, zero, repeated, .. } =
        once(file(&device.0, None), 100.0).sampling();
    assert_eq!((blocks, over), (1000, 8 * MIB));
    assert_eq!((unwritten, zero, repeated), (0, 750, 0), "a device does not say what is unwritten");
    assert!(before == fs::read(&path).expect("readable"));
}

#[test]
fn preconditioning_writes_everything_twice_and_says_that_nothing_was_purged() {
    let folder = folder();
    let path = folder.path().join("data");
    hollow(&path, 4 * MIB + 512, 0);
    let mut step = step_of(TargetSpec { fill: Fill::SniaPts, ..open(&path) }, 100.0);
    step.workers[0].workload.working_set = Some(WorkingSet::Bytes(MIB));
    let prepared = prepare_step(&mut DiskEngine::default(), &step, &Stop::default());
    assert_eq!(prepared.codes(), ["preconditioning", "not-purged"]);
    let fact = prepared.fact("precondition").expect("a fact");
    assert!(fact.starts_with("8 MiB in ") && fact.ends_with("as SNIA PTS does"), "{fact}");
    assert_eq!(blocks_with_data(&path), 1025, "the whole capacity, whatever the working set");
}

#[test]
fn preconditioning_needs_the_right_to_write() {
    let folder = folder();
    let path = folder.path().join("data");
    fs::write(&path, [7; 8192]).expect("written");
    let target = TargetSpec { fill: Fill::SniaPts, ..file(&path, None) };
    assert!(matches!(once(target, 100.0).verdict, Err(EngineError::Refused(_))));
    assert_eq!(fs::read(&path).expect("readable"), [7; 8192]);
}

#[test]
fn a_fill_that_is_called_off_says_what_it_leaves() {
    let folder = folder();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    hollow(&old, 4 * MIB, 0);
    let stop = Stop::default();
    stop.ask();
    let mut engine = DiskEngine::new(Pinning::Never);
    let filling = prepare(&mut engine, open(&old), 0.0, &stop);
    assert_eq!(filling.codes(), ["fill-stopped"]);
    assert!(filling.events[0].text.contains("after 0 of 4 MiB"), "{:?}", filling.events);
    assert!(matches!(filling.verdict, Err(EngineError::Target { .. })));
    let creating = prepare(&mut engine, file(&new, Some(MIB)), 0.0, &stop);
    assert_eq!(creating.codes(), ["target-created", "fill-stopped"]);
    let words = creating.verdict.expect_err("stopped").to_string();
    assert!(words.contains("nothing is left behind") && !new.exists(), "{words}");
    // Whoever goes on is not told that it was filled.
    let later = prepare(&mut engine, open(&old), 0.0, &Stop::default());
    assert!(later.fact("fill").is_some());
}

#[test]
fn a_buffered_target_is_filled_and_not_left_in_the_page_cache() {
    let folder = folder();
    let path = folder.path().join("data");
    hollow(&path, 4 * MIB, 0);
    let filled = once(TargetSpec { buffered: true, ..open(&path) }, 50.0);
    assert!(filled.fact("fill").is_some());
    assert_eq!(blocks_with_data(&path), 1024);
}
