//! Volumes grow while initiators use them: every session hears of it, and the new blocks are there.

use crate::library::rig::serving;
use crate::prelude::*;
use iscsi::initiator::SenseData;
use san::initiator::{TapeClient, TapeData};
use san::volume::VolumeSpec;
use std::path::Path;
use tempfile::TempDir;

const BLOCK: usize = 512;
const SMALL: u64 = 1 << 20;
const LARGE: u64 = 5 << 19;

fn volume(spec: &str) -> Arc<Volume> {
    Volume::open(&spec.parse::<VolumeSpec>().expect("a volume"), "WSGROWS").expect("a volume")
}

fn client(target: &TargetServer, name: &str) -> TapeClient {
    let name = format!("iqn.2026-01.example:{name}");
    let mut client = TapeClient::open_as(&target.urls()[0], &name).expect("a session");
    client.attentions().expect("a unit");
    client
}

/// READ CAPACITY (16), in bytes.
fn capacity(client: &mut TapeClient) -> Result<u64, SenseData> {
    let (mut cdb, mut bytes) = ([0; 16], [0; 32]);
    (cdb[0], cdb[1], cdb[13]) = (0x9e, 0x10, 32);
    let reply = client.command(&cdb, TapeData::In(&mut bytes)).expect("an answer");
    let last = u64::from_be_bytes(bytes[..8].try_into().expect("eight bytes"));
    reply.sense.map_or(Ok((last + 1) * BLOCK as u64), Err)
}

/// WRITE (16) or READ (16) of the block at a byte; the code of its sense data.
fn moved(client: &mut TapeClient, code: u8, at: u64, data: TapeData<'_>) -> Option<u16> {
    let mut cdb = [0; 16];
    (cdb[0], cdb[13]) = (code, 1);
    cdb[2..10].copy_from_slice(&(at / BLOCK as u64).to_be_bytes());
    client.command(&cdb, data).expect("an answer").sense.map(|sense| sense.code)
}

#[track_caller]
fn check(spec: &str) {
    let target = serving(vec![volume(spec)]);
    let control = target.control();
    let (mut one, mut two) = (client(&target, "one"), client(&target, "two"));
    let (last, block) = (LARGE - BLOCK as u64, [7; BLOCK]);
    assert_eq!(capacity(&mut one), Ok(SMALL));
    assert_eq!(moved(&mut one, 0x8a, 0, TapeData::Out(&block)), None);
    assert_eq!(moved(&mut one, 0x8a, last, TapeData::Out(&block)), Some(0x2100), "beyond the end");
    assert_eq!(control.resize(0, SMALL), Ok(false), "it has that size");
    assert_eq!(control.resize(0, LARGE), Ok(true));
    for client in [&mut one, &mut two] {
        let heard = capacity(client).expect_err("a unit attention");
        assert_eq!((heard.key, heard.code), (SenseData::UNIT_ATTENTION, 0x2a09));
        assert_eq!(capacity(client), Ok(LARGE));
    }
    let mut found = [1; BLOCK];
    assert_eq!(moved(&mut two, 0x88, last, TapeData::In(&mut found)), None);
    assert_eq!(found, [0; BLOCK], "new blocks are zeros");
    assert_eq!(moved(&mut one, 0x8a, last, TapeData::Out(&block)), None);
    assert_eq!(moved(&mut two, 0x88, last, TapeData::In(&mut found)), None);
    assert_eq!(found, block);
    assert_eq!(moved(&mut two, 0x88, 0, TapeData::In(&mut found)), None);
    assert_eq!(found, block, "what was there stays");
    assert_eq!(target.volumes()[0].attributes().blocks, LARGE / BLOCK as u64);
    let refused = |bytes: u64| control.resize(0, bytes).expect_err("a refusal");
    assert!(refused(SMALL).contains("only grow"), "{}", refused(SMALL));
    assert!(refused(LARGE + 1).contains("no multiple"), "{}", refused(LARGE + 1));
    assert!(control.resize(1, LARGE).expect_err("a refusal").contains("no LUN 1"));
    assert_eq!(capacity(&mut one), Ok(LARGE), "a refusal changes nothing");
    assert!(target.volumes()[0].sync_failure().is_none());
}

#[test]
fn a_volume_in_memory_grows_under_its_initiators() {
    check("ram:1MiB");
    check("ram:1MiB,thin");
}

#[test]
fn a_file_grows_under_its_initiators_and_stays_ours() {
    for thin in ["", ",thin"] {
        let directory = TempDir::new_in(".").expect("a directory");
        let path = directory.path().join("disk");
        let named = |path: &Path| format!("file:{}{thin}", path.display());
        check(&(named(&path) + ",size=1MiB"));
        assert_eq!(std::fs::metadata(&path).expect("it is there").len(), LARGE);
        // Without a token: the mark has gone along.
        let again = volume(&named(&path));
        assert_eq!((again.why_read_only(), again.attributes().blocks), (None, LARGE / 512));
    }
}

#[test]
fn a_file_that_is_not_to_be_written_keeps_its_size() {
    let directory = TempDir::new_in(".").expect("a directory");
    let path = directory.path().join("theirs");
    std::fs::write(&path, vec![5; SMALL as usize]).expect("a file");
    let target = serving(vec![volume(&format!("file:{}", path.display()))]);
    let why = target.control().resize(0, LARGE).expect_err("a refusal");
    assert!(why.contains("only read"), "{why}");
    assert_eq!(std::fs::metadata(&path).expect("it is there").len(), SMALL);
}

#[test]
fn a_volume_in_memory_grows_only_so_far_and_a_tape_not_at_all() {
    let target = serving(vec![volume("ram:1MiB")]);
    let why = target.control().resize(0, 17 << 20).expect_err("a refusal");
    assert!(why.contains("at most 16MiB"), "{why}");
    let tapes = crate::library::rig::TapeRig::new();
    let why = tapes.target.control().resize(1, 1 << 30).expect_err("a refusal");
    assert!(why.contains("no disk"), "{why}");
}
