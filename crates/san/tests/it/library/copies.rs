//! The drives of a library as targets of copies: what was written is on the cartridges as a reader of the documented format finds
//! it, cartridge after cartridge, also when the target is killed meanwhile.

use super::killed::{child, data_by_format};
use super::rig::{settings, started};
use crate::multipath::relay::Relay;
use crate::prelude::*;
use clock::Rng;
use disk::Schemes;
use engine::{CopySpec, Engine, Output, StepSpec, Stop, WorkerSpec};
use record::Event;
use san::initiator::{TAPE_SCHEME, TapeClient, Tapes};
use san::server::PortState;
use std::fs;
use std::path::Path;
use tempfile::TempDir;
use workload::{Arrivals, Regions, Row, Spec};

const BLOCK: u32 = 4 << 10;

/// What came of a copy.
struct Ran {
    events: Vec<Event>,
    failure: Option<EngineError>,
    errors: u64,
}

impl Ran {
    fn said(&self, code: &str) -> Option<&str> {
        self.events.iter().find(|event| event.code == code).map(|event| event.text.as_str())
    }
}

fn copy(blocks: u64, verify: bool) -> CopySpec {
    CopySpec {
        block: BLOCK,
        depth: 8,
        reads: 4,
        writes: 4,
        blocks: Some(blocks),
        after: Vec::new(),
        from_share: (0, 1),
        to_share: (0, 1),
        verify,
        retry: Ns::ZERO,
    }
}

/// Runs one copy between targets with these URLs until it has ended; `during` hears of its beginning.
fn run(from: &str, to: (&str, Option<String>), of: CopySpec, during: impl FnOnce()) -> Ran {
    let workload =
        Spec::access(vec![Row::new(BLOCK, 50.0, 0.0)], Arrivals::closed(of.depth), Regions::Own);
    let worker = WorkerSpec {
        copy: Some(of),
        ..WorkerSpec::new(0, "copy".to_owned(), vec![0, 1], workload)
    };
    let step = StepSpec {
        index: 0,
        seed: 1,
        warmup: Ns::ZERO,
        measure: Ns::secs(55),
        cooldown: Ns::ZERO,
        slice: Ns::ZERO,
        targets: vec![
            TargetSpec { buffered: true, ..TargetSpec::new("source", from) },
            TargetSpec { write_token: to.1, ..TargetSpec::new("drive", to.0) },
        ],
        workers: vec![worker],
        loads: Vec::new(),
        attended: Vec::new(),
        counted: None,
        lab: None,
    };
    let schemes = Schemes::default().with(TAPE_SCHEME, Arc::new(Tapes));
    let mut engine = DiskEngine::new(Pinning::Never).with(schemes);
    let (out, outputs) = mpsc::channel();
    let mut ran = Ran { events: Vec::new(), failure: None, errors: 0 };
    let prepared = match engine.prepare(&step, &out, &Stop::default()) {
        Ok(prepared) => prepared,
        Err(why) => return Ran { failure: Some(why), ..ran },
    };
    let start = clock::now();
    let running = prepared.start(start, start, out);
    let mut during = Some(during);
    loop {
        match outputs.recv_timeout(Duration::from_secs(60)).expect("an end in bounded time") {
            Output::Interval(interval) => {
                ran.errors += interval.tallies().map(|done| done.errors).sum::<u64>();
            }
            Output::Event(event) => {
                if event.code == "copy-began"
                    && let Some(during) = during.take()
                {
                    during();
                }
                if event.code == "copy-ended" {
                    running.stop();
                }
                ran.events.push(event);
            }
            Output::Counter(_) | Output::Ended(..) => {}
            Output::Finished => return ran,
            Output::Failed(why) => {
                ran.failure = Some(why);
                return ran;
            }
        }
    }
}

/// The token of a drive, as a refusal's `plan` would print it.
fn token(url: &str) -> String {
    let schemes = Schemes::default().with(TAPE_SCHEME, Arc::new(Tapes));
    let spec = TargetSpec::new("drive", url);
    let report = schemes.inspect(&spec, true);
    report.examined.expect("a drive that is not ours").expect("one that answers").token
}

/// A file of random bytes, and its content.
fn source(directory: &Path, blocks: u64) -> (String, Vec<u8>) {
    let mut data = vec![0; (blocks * u64::from(BLOCK)) as usize];
    Rng::keyed(5, &[]).fill(&mut data);
    let path = directory.join("source");
    fs::write(&path, &data).expect("a file");
    (path.to_str().expect("a path in UTF-8").to_owned(), data)
}

fn tape_url(iscsi: &str, options: &str) -> String {
    format!("{}?{options}", iscsi.replacen("iscsi:", "tape:", 1))
}

/// A library whose cartridges hold so much, and its target.
fn library(capacity: u64) -> (TempDir, TargetServer) {
    let directory = TempDir::new().expect("a directory");
    make(directory.path(), capacity);
    let target = started(directory.path(), Vec::new());
    (directory, target)
}

fn make(directory: &Path, capacity: u64) {
    let settings = san::volume::LibrarySettings { capacity: Some(capacity), ..settings(directory) };
    drop(Volume::open_library(&settings, "WSLIB").expect("a library"));
}

/// The bytes of the blocks of cartridges, in order, by the format alone.
fn on_tape(directory: &Path, barcodes: &[&str]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for barcode in barcodes {
        all.extend(data_by_format(&directory.join(format!("{barcode}.tape")))?);
    }
    Some(all)
}

/// 2.5 MiB onto cartridges of 1 MiB: the third is used, and all are read back.
#[test]
fn a_copy_goes_on_from_cartridge_to_cartridge() {
    let (directory, target) = library(1 << 20);
    let files = TempDir::new().expect("a directory");
    let (from, data) = source(files.path(), 640);
    let cartridges = ["WSP001L5", "WSP002L5", "WSP003L5"];
    let options = format!("changer=0&cartridges={}", cartridges.join("+"));
    let url = tape_url(&target.urls()[1], &options);
    let refused = run(&from, (&url, None), copy(640, true), || ()).failure.expect("a refusal");
    assert!(matches!(refused, EngineError::Refused(_)), "{refused}");
    let ran = run(&from, (&url, Some(token(&url))), copy(640, true), || ());
    assert_eq!((&ran.failure, ran.errors), (&None, 0), "{:?}", ran.events);
    assert!(ran.said("tape-news").is_some_and(|text| text.contains("WSP002L5 is loaded")));
    drop(target);
    let Some(found) = on_tape(directory.path(), &cartridges) else { return };
    assert!(found == data, "{} bytes of {}", found.len(), data.len());
}

#[test]
fn a_full_cartridge_without_another_ends_the_copy() {
    let (directory, target) = library(1 << 20);
    let files = TempDir::new().expect("a directory");
    let (from, data) = source(files.path(), 640);
    let url = tape_url(&target.urls()[1], "changer=0&cartridges=WSP001L5");
    let ran = run(&from, (&url, Some(token(&url))), copy(640, false), || ());
    let Some(EngineError::Worker { problem, .. }) = &ran.failure else {
        panic!("{:?}", ran.failure)
    };
    assert!(problem.contains("ENOSPC") && problem.contains("is full"), "{problem}");
    assert!(ran.said("tape-failed").is_some_and(|text| text.contains("WSP001L5 is full")));
    drop(target);
    let Some(found) = on_tape(directory.path(), &["WSP001L5"]) else { return };
    assert!(data.starts_with(&found) && found.len() > 900 << 10, "{}", found.len());
}

/// Every second block packs to nothing: it still fits where one under way before it did not, and is written in its place.
#[test]
fn blocks_stay_in_order_where_one_does_not_fit_and_the_next_does() {
    const LONG: u32 = 64 << 10;
    let (directory, target) = library(1 << 20);
    let files = TempDir::new().expect("a directory");
    let (from, mut data) = source(files.path(), 64 * u64::from(LONG / BLOCK));
    data.chunks_mut(LONG as usize).skip(1).step_by(2).for_each(|block| block.fill(0));
    fs::write(&from, &data).expect("a file");
    let cartridges = ["WSP001L5", "WSP002L5", "WSP003L5"];
    let options = format!("changer=0&cartridges={}", cartridges.join("+"));
    let url = tape_url(&target.urls()[1], &options);
    let ran =
        run(&from, (&url, Some(token(&url))), CopySpec { block: LONG, ..copy(64, true) }, || ());
    assert_eq!((&ran.failure, ran.errors), (&None, 0), "{:?}", ran.events);
    drop(target);
    let Some(found) = on_tape(directory.path(), &cartridges) else { return };
    assert!(found == data, "{} bytes of {}", found.len(), data.len());
}

/// A write that ends in a unit attention is not executed; those under way behind it are, and so must be written once more.
#[test]
fn blocks_stay_in_order_under_unit_attentions() {
    let (directory, target) = library(8 << 20);
    let files = TempDir::new().expect("a directory");
    let (from, data) = source(files.path(), 1500);
    let url = tape_url(&target.urls()[1], "changer=0");
    let token = token(&url);
    // Fewer than the client tries in vain, however they fall.
    let target = Arc::new(target);
    let raising = target.clone();
    let ran = run(&from, (&url, Some(token)), copy(1500, true), || {
        thread::spawn(move || {
            for round in 0..30 {
                let states = [PortState::ActiveNonOptimized, PortState::ActiveOptimized];
                assert!(raising.set_access(1, states[round % 2]));
                clock::sleep_until(clock::now().plus(Ns::millis(3)));
            }
        });
    });
    assert_eq!((&ran.failure, ran.errors), (&None, 0), "{:?}", ran.events);
    drop(target);
    let Some(found) = on_tape(directory.path(), &["WSP001L5"]) else { return };
    assert!(found == data, "{} bytes of {}", found.len(), data.len());
}

/// The cartridge that is written to stays in the drive.
#[test]
fn a_robot_does_not_take_out_what_is_being_written() {
    let (_directory, target) = library(16 << 20);
    let files = TempDir::new().expect("a directory");
    let (from, _) = source(files.path(), 16);
    let url = tape_url(&target.urls()[1], "changer=0");
    let endless = CopySpec { blocks: None, ..copy(16, false) };
    let ran = run(&from, (&url, Some(token(&url))), endless, || {
        let mut robot = TapeClient::open(&target.urls()[0]).expect("a session");
        robot.attentions().expect("a unit");
        // MEDIUM REMOVAL PREVENTED, unless the copy has ended before.
        let moved = robot.move_medium(256, 1024 + 3);
        assert!(moved.is_ok() || super::rig::code(moved) == 0x5302);
    });
    let said = ran.said("tape-failed").expect("a reason");
    assert!(said.contains("is full"), "{said}");
}

/// The target is lost, and again at each of the commands by which the copy finds its place: it goes on until it has.
#[test]
fn a_copy_to_tape_survives_losses_while_it_repairs_itself() {
    let (directory, target) = library(8 << 20);
    let files = TempDir::new().expect("a directory");
    let (from, data) = source(files.path(), 400);
    let iscsi = &target.urls()[1];
    let portal = iscsi.split('/').nth(2).expect("a portal");
    let relay = Relay::before(portal.parse().expect("an address"));
    let url = tape_url(&iscsi.replace(portal, &relay.address.to_string()), "changer=0&retry=50s");
    let token = token(&url);
    let ran = run(&from, (&url, Some(token)), copy(384, true), || {
        relay.short_lived(1..=14);
        relay.cut();
    });
    assert_eq!((&ran.failure, ran.errors), (&None, 0), "{:?}", ran.events);
    assert_eq!(relay.lives_left(), 0, "it was not lost so often: {:?}", ran.events);
    drop(target);
    let Some(found) = on_tape(directory.path(), &["WSP001L5"]) else { return };
    assert!(found == data[..384 * BLOCK as usize], "{} bytes", found.len());
}

/// The target is killed while it writes, and stands again at the same place: the copy goes on, and every block is there once.
#[test]
fn a_copy_to_tape_survives_kills_of_its_target() {
    kills(2);
}

#[test]
#[ignore = "takes minutes; `WIRESPEED_KILLS` says how many"]
fn a_copy_to_tape_survives_many_kills_of_its_target() {
    kills(std::env::var("WIRESPEED_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(200));
}

fn kills(count: u64) {
    let files = TempDir::new().expect("a directory");
    let (from, data) = source(files.path(), 400);
    for kill in 0..count {
        let library = TempDir::new().expect("a directory");
        make(library.path(), 8 << 20);
        let (mut first, iscsi) = child(library.path(), 0);
        let url = tape_url(&iscsi, "retry=50s");
        // Loaded by hand: this drive has no changer.
        super::killed::load(&iscsi);
        let port = iscsi.split('/').nth(2).and_then(|place| place.rsplit(':').next());
        let port: u16 = port.and_then(|port| port.parse().ok()).expect("a port");
        let mut second = None;
        let ran = run(&from, (&url, Some(token(&url))), copy(384, true), || {
            let wait = Rng::keyed(kill, &[9]).below(60_000_000);
            clock::sleep_until(clock::now().plus(Ns(wait)));
            first.kill().expect("it runs");
            first.wait().expect("it ends");
            second = Some(child(library.path(), port).0);
        });
        assert_eq!((&ran.failure, ran.errors), (&None, 0), "kill {kill}: {:?}", ran.events);
        let mut second = second.expect("it was started");
        second.kill().expect("it runs");
        second.wait().expect("it ends");
        let Some(found) = on_tape(library.path(), &["WSP001L5"]) else { return };
        let wanted = &data[..384 * BLOCK as usize];
        assert!(found == wanted, "kill {kill}: {} bytes of {}", found.len(), wanted.len());
    }
}
