//! The claim of a LUN: one unit on all paths, no other's key, there again after a restart or not written, released in the
//! end. The files behind the volumes say what was written, and a scripted initiator registers and clears.

use crate::initiator::peer::{granted, mixed, schemes, step};
use crate::multipath::relay::Relay;
use crate::multipath::rig::{NAME, at, run, run_until, target, url, url_of};
use crate::prelude::*;
use crate::target::hand::{Hand, who};
use iscsi::login::InitiatorConfig;

/// Another initiator at LUN 0.
fn other(target: &TargetServer) -> Hand {
    let config = who("another");
    let config = InitiatorConfig { target: Some(NAME.parse().expect("a name")), ..config };
    let mut hand = Hand::enter(target.addresses()[0], config).expect("a login");
    hand.calm();
    hand
}

/// PERSISTENT RESERVE OUT; its status.
fn reserve_out(hand: &mut Hand, action: u8, key: u64, new: u64) -> u8 {
    let mut list = [0; 24];
    list[..8].copy_from_slice(&key.to_be_bytes());
    list[8..16].copy_from_slice(&new.to_be_bytes());
    hand.command(&[0x5f, action, 5, 0, 0, 0, 0, 0, 24, 0], 0, &list).status
}

/// The keys that are registered, as another initiator reads them.
fn keys(hand: &mut Hand) -> Vec<u64> {
    let answer = hand.command(&[0x5e, 0, 0, 0, 0, 0, 0, 16, 0, 0], 4096, &[]);
    let len = u32::from_be_bytes(answer.data[4..8].try_into().expect("four bytes")) as usize;
    let keys = answer.data[8..8 + len].as_chunks::<8>().0;
    keys.iter().map(|key| u64::from_be_bytes(*key)).collect()
}

/// A file for a volume, with or without data of somebody.
fn file(precious: bool) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("volume");
    let spec = format!("file:{},size=4MiB", path.display());
    Volume::open(&spec.parse().expect("a volume"), "made").expect("room");
    if precious {
        let file = std::fs::File::options().write(true).open(&path).expect("ours");
        std::os::unix::fs::FileExt::write_all_at(&file, &vec![b'p'; 4 << 20], 0).expect("room");
    }
    (folder, format!("file:{}", path.display()))
}

/// What a file's volume holds.
fn held(folder: &tempfile::TempDir) -> Vec<u8> {
    std::fs::read(folder.path().join("volume")).expect("there")
}

#[test]
fn two_units_of_one_name_are_not_two_paths() {
    let ((one_folder, one), (other_folder, other)) = (file(false), file(false));
    let (one, other) = (target(&[1], &[&one]), target(&[1], &[&other]));
    for (first, second) in [(&one, &other), (&other, &one)] {
        let lun = granted(&url(&[first.addresses()[0], second.addresses()[0]], ""));
        let step = step(vec![lun], 1, &mixed(4096, 0.0, 4), Ns::millis(100));
        match run(&step, |_| {}) {
            Err(EngineError::Refused(why)) => {
                assert!(why.contains("another unit of the same identifiers"), "{why}")
            }
            other => panic!("{other:?}"),
        }
    }
    for folder in [&one_folder, &other_folder] {
        assert!(held(folder).iter().all(|byte| *byte == 0), "it was written to");
    }
    one.stop().expect("it stops");
    other.stop().expect("it stops");
}

/// What `plan` asks is what a run would be told.
#[test]
fn units_of_other_content_are_refused_where_they_are_only_examined() {
    let ((_one_folder, one), (_other_folder, other)) = (file(false), file(true));
    let (one, other) = (target(&[1], &[&one]), target(&[1], &[&other]));
    for (first, second) in [(&one, &other), (&other, &one)] {
        let both = url(&[first.addresses()[0], second.addresses()[0]], "");
        let report = schemes().inspect(&TargetSpec::new("lun", &both), true);
        let said = format!("{:?}", report.fate);
        assert!(report.fate.is_err() && said.contains("different units"), "{said}");
    }
    let twice = url(&[one.addresses()[0]; 2], "");
    let report = schemes().inspect(&TargetSpec::new("lun", &twice), true);
    assert!(!format!("{:?}", report.fate).contains("different units"), "{:?}", report.fate);
    one.stop().expect("it stops");
    other.stop().expect("it stops");
}

#[test]
fn two_portals_of_one_unit_are_two_paths_and_nothing_is_left_in_the_end() {
    let target = target(&[1, 2], &["ram:4MiB"]);
    let step = step(vec![granted(&url_of(&target, ""))], 2, &mixed(4096, 50.0, 4), Ns::millis(200));
    let mut seen = Vec::new();
    let mut reader = other(&target);
    run_until(&step, |_, _| {
        seen = keys(&mut reader);
        false
    })
    .expect("a verdict")
    .sound();
    assert!(!seen.is_empty());
    assert_eq!(keys(&mut reader), Vec::<u64>::new());
    target.stop().expect("it stops");
}

#[test]
fn a_registered_key_of_another_is_a_use() {
    let (folder, spec) = file(false);
    let target = target(&[1], &[&spec]);
    let mut hand = other(&target);
    assert_eq!(reserve_out(&mut hand, 0, 0, 0xbeef), 0);
    let lun = granted(&url_of(&target, ""));
    let step = step(vec![lun], 1, &mixed(4096, 0.0, 4), Ns::millis(100));
    match run(&step, |_| {}) {
        Err(EngineError::Refused(why)) => {
            assert!(why.contains("key 0x000000000000beef"), "{why}")
        }
        other => panic!("{other:?}"),
    }
    assert!(held(&folder).iter().all(|byte| *byte == 0), "it was written to");
    target.stop().expect("it stops");
}

/// What another initiator does while the LUN is written stops the run, and why is said.
#[track_caller]
fn stopped_by(act: impl Fn(&mut Hand), words: &str) {
    let target = target(&[1], &["ram:4MiB"]);
    let lun = granted(&url_of(&target, ""));
    let step = step(vec![lun], 1, &mixed(4096, 0.0, 4), Ns::secs(20));
    let mut hand = other(&target);
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![(300, Box::new(move || act(&mut hand)))];
    let told = run(&step, at(faults)).expect_err("it is stopped").to_string();
    assert!(told.contains(words), "{told}");
    target.stop().expect("it stops");
}

#[test]
fn who_registers_or_clears_during_a_run_stops_it() {
    stopped_by(
        |hand| assert_eq!(reserve_out(hand, 0, 0, 0xbeef), 0),
        "registered by another initiator (0x000000000000beef)",
    );
    stopped_by(
        |hand| {
            assert_eq!(reserve_out(hand, 0, 0, 0xbeef), 0);
            assert_eq!(reserve_out(hand, 3, 0xbeef, 0), 0);
        },
        "was taken away",
    );
}

/// A run on a LUN whose portal leads to another target after a while: to one with a volume of the same identifiers.
fn exchanged(precious: bool) -> (Result<u64, EngineError>, Vec<u8>) {
    let (_one, spec) = file(false);
    let (folder, other_spec) = file(precious);
    let one = target(&[1], &[&spec]);
    let other = target(&[1], &[&other_spec]);
    let relay = Relay::before(one.addresses()[0]);
    let lun = granted(&url(&[relay.address], "no_path_retry=20s"));
    let step = step(vec![lun], 1, &mixed(4096, 0.0, 4), Ns::secs(4));
    let away = other.addresses()[0];
    let faults: Vec<(u64, Box<dyn FnMut()>)> = vec![(
        300,
        Box::new(move || {
            relay.lead_to(away);
            relay.cut();
        }),
    )];
    let ended = run(&step, at(faults)).map(|story| story.errors);
    other.stop().expect("it stops");
    one.stop().expect("it stops");
    (ended, held(&folder))
}

#[test]
fn a_lun_that_was_exchanged_for_somebodys_is_not_written() {
    let (ended, there) = exchanged(true);
    let told = ended.expect_err("it is stopped").to_string();
    assert!(told.contains("may be another one") && told.contains("did not write"), "{told}");
    assert!(there.iter().all(|byte| *byte == b'p'), "it was written to");
}

#[test]
fn a_target_that_has_forgotten_the_claim_is_claimed_again_where_nothing_is_lost() {
    let (ended, there) = exchanged(false);
    assert_eq!(ended, Ok(0));
    assert!(there.iter().any(|byte| *byte != 0), "it is written to again");
}

#[test]
fn what_a_killed_run_left_is_released_on_request_and_not_before() {
    let target = target(&[1], &["ram:4MiB"]);
    let mut hand = other(&target);
    // A key of Wirespeed's of which nothing is known here: it may be alive on another machine.
    let left = 0x5753_0123_4567_8000;
    assert_eq!(reserve_out(&mut hand, 0, 0, left), 0);
    assert_eq!(reserve_out(&mut hand, 1, left, 0), 0);
    let url = url_of(&target, "");
    let fate = schemes().inspect(&granted(&url), true).fate.expect_err("it is reserved");
    assert!(fate.to_string().contains("reserved by another"), "{fate}");
    let released = san::initiator::release(&url).expect("it is released");
    assert_eq!((released.released, released.foreign), (vec![left], Vec::new()));
    assert_eq!(keys(&mut other(&target)), Vec::<u64>::new());
    // Another program's key stays.
    let mut hand = other(&target);
    assert_eq!(reserve_out(&mut hand, 6, 0, 0xbeef), 0);
    let kept = san::initiator::release(&url).expect("it answers");
    assert_eq!((kept.released, kept.foreign), (Vec::new(), vec![0xbeef]));
    assert_eq!(keys(&mut hand), [0xbeef]);
    target.stop().expect("it stops");
}
