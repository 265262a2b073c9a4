//! Power cuts: a storage that loses any part of what was not synced, in any order. What a flush acknowledged is there
//! afterwards, and nothing is there that was not written in its place.

use crate::rig::content;
use clock::Rng;
use std::io;
use std::sync::{Arc, Mutex};
use tape::media::format::Identity;
use tape::media::{Cartridge, Place, Read, Storage};

/// What happened to the storage since the last sync.
#[derive(Clone)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
}

#[derive(Default)]
struct Disk {
    now: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
    /// Bytes that it still takes.
    room: Option<usize>,
    /// Syncs fail from now on.
    failing: bool,
}

#[derive(Clone, Default)]
struct Fragile(Arc<Mutex<Disk>>);

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(at, data) => {
            let at = *at as usize;
            if bytes.len() < at + data.len() {
                bytes.resize(at + data.len(), 0);
            }
            bytes[at..at + data.len()].copy_from_slice(data);
        }
        Change::Length(len) => bytes.resize(*len as usize, 0),
    }
}

impl Storage for Fragile {
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        let disk = self.0.lock().unwrap();
        let rest = disk.now.get(at as usize..).unwrap_or_default();
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&mut self, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let disk = &mut *self.0.lock().unwrap();
        let data = parts.concat();
        let end = at as usize + data.len();
        if let Some(room) = disk.room
            && end > room
        {
            // A full file system takes a part.
            let fits = room.saturating_sub(at as usize);
            apply(&mut disk.now, &Change::Write(at, data[..fits].to_vec()));
            return Err(io::ErrorKind::StorageFull.into());
        }
        let change = Change::Write(at, data);
        apply(&mut disk.now, &change);
        disk.pending.push(change);
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let disk = &mut *self.0.lock().unwrap();
        let change = Change::Length(len);
        apply(&mut disk.now, &change);
        disk.pending.push(change);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().now.len() as u64)
    }

    fn sync(&mut self) -> io::Result<()> {
        let disk = &mut *self.0.lock().unwrap();
        if disk.failing {
            return Err(io::Error::other("the device is gone"));
        }
        disk.durable = disk.now.clone();
        disk.pending.clear();
        Ok(())
    }
}

impl Fragile {
    /// Power is cut: of what was not synced any part is there, and of a write perhaps its beginning.
    fn cut(&self, draw: &mut Rng) {
        let disk = &mut *self.0.lock().unwrap();
        let mut bytes = disk.durable.clone();
        for change in std::mem::take(&mut disk.pending) {
            match (change, draw.below(4)) {
                (_, 0) => {}
                (Change::Write(at, data), 1) => {
                    let torn = draw.below(data.len() as u64 + 1) as usize;
                    apply(&mut bytes, &Change::Write(at, data[..torn].to_vec()));
                }
                (change, _) => apply(&mut bytes, &change),
            }
        }
        (disk.now, disk.durable) = (bytes.clone(), bytes);
    }

    /// The process is killed: what it wrote is there.
    fn kill(&self) {
        let disk = &mut *self.0.lock().unwrap();
        disk.pending.clear();
        disk.durable = disk.now.clone();
    }
}

fn made() -> Fragile {
    let disk = Fragile::default();
    let identity = Identity {
        uuid: [9; 16],
        barcode: "CRASH1L6".to_owned(),
        generation: 6,
        capacity: 1 << 30,
    };
    Cartridge::make(&mut disk.clone(), &identity).expect("memory");
    disk
}

fn opened(disk: &Fragile, index: &Fragile) -> Cartridge {
    Cartridge::open(Box::new(disk.clone()), Some(Box::new(index.clone()))).expect("a cartridge")
}

/// The numbers of the blocks that are there; `None`: a filemark.
fn recorded(cartridge: &mut Cartridge, written: &[(u64, usize)]) -> Vec<Option<u64>> {
    let (mut place, mut all) = (cartridge.first(), Vec::new());
    let mut room = vec![0; 9000];
    loop {
        match cartridge.read(&mut place, &mut room) {
            Ok(Read::End) => return all,
            Ok(Read::Filemark) => all.push(None),
            Ok(Read::Block(size)) => {
                let same = |(number, len): &&(u64, usize)| {
                    *len == size as usize && room[..*len] == content(*number, *len)
                };
                let found = written.iter().rev().find(same);
                all.push(Some(found.expect("a block that was written").0));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Writes, flushes, overwrites and is interrupted, again and again.
fn life(seed: u64, power: bool) {
    let mut draw = Rng::keyed(seed, &[]);
    let (disk, index) = (made(), Fragile::default());
    let (mut written, mut number) = (Vec::new(), 0);
    let mut truth: Vec<Option<u64>> = Vec::new();
    for round in 0..12 {
        let mut cartridge = opened(&disk, &index);
        assert!(cartridge.missing().is_none(), "seed {seed}, round {round}");
        let mut floor = truth.len();
        let mut place: Place = cartridge.end();
        for _ in 0..draw.below(40) {
            match draw.below(12) {
                0..=5 => {
                    let size = 1 + draw.below(300) as usize * (1 + draw.below(25) as usize);
                    number += 1;
                    written.push((number, size));
                    let block = content(number, size);
                    floor = floor.min(place.object as usize);
                    truth.truncate(place.object as usize);
                    truth.push(Some(number));
                    cartridge.write(&mut place, &block, draw.chance(0.5), 1 << 30).expect("room");
                }
                6 => {
                    floor = floor.min(place.object as usize);
                    truth.truncate(place.object as usize);
                    truth.push(None);
                    cartridge.write_filemark(&mut place, 1 << 30).expect("room");
                }
                7..=9 => {
                    cartridge.flush().expect("a device");
                    floor = truth.len();
                }
                _ => {
                    let to = draw.below(truth.len() as u64 + 1);
                    place = cartridge.locate(to).expect("a place");
                    assert_eq!(place.object, to);
                }
            }
        }
        drop(cartridge);
        if power {
            disk.cut(&mut draw);
            index.cut(&mut draw);
        } else {
            disk.kill();
            index.kill();
            floor = truth.len();
        }
        let mut cartridge = opened(&disk, &index);
        let found = recorded(&mut cartridge, &written);
        let context = format!("seed {seed}, round {round}, power {power}");
        assert!(found.len() >= floor, "{context}: {} of {floor} acknowledged", found.len());
        assert_eq!(found[..], truth[..found.len()], "{context}");
        truth = found;
    }
}

#[test]
fn nothing_acknowledged_is_lost_at_a_power_cut() {
    (0..200).for_each(|seed| life(seed, true));
}

#[test]
fn nothing_written_is_lost_when_the_process_is_killed() {
    (0..60).for_each(|seed| life(seed, false));
}

#[test]
fn a_full_disk_keeps_what_was_written() {
    let (disk, index) = (made(), Fragile::default());
    let mut cartridge = opened(&disk, &index);
    let mut place = cartridge.first();
    cartridge.write(&mut place, &content(1, 900), false, 1 << 30).expect("room");
    disk.0.lock().unwrap().room = Some(6000);
    let refused = cartridge.write(&mut place, &content(2, 5000), false, 1 << 30);
    assert!(refused.unwrap_err().to_string().contains("storage"), "a clear message");
    assert_eq!(place.object, 1);
    cartridge.flush().expect("a device");
    // Smaller ones still fit.
    cartridge.write(&mut place, &content(3, 100), false, 1 << 30).expect("room");
    disk.kill();
    let mut again = opened(&disk, &index);
    assert_eq!(recorded(&mut again, &[(1, 900), (3, 100)]), [Some(1), Some(3)]);
}

#[test]
fn after_a_failed_sync_nothing_more_is_acknowledged() {
    let (disk, index) = (made(), Fragile::default());
    let mut cartridge = opened(&disk, &index);
    let mut place = cartridge.first();
    cartridge.write(&mut place, &content(1, 900), false, 1 << 30).expect("room");
    disk.0.lock().unwrap().failing = true;
    assert!(cartridge.flush().is_err());
    disk.0.lock().unwrap().failing = false;
    assert!(cartridge.flush().is_err(), "the kernel forgets what it could not write");
    let refused = cartridge.write(&mut place, &content(2, 10), false, 1 << 30).unwrap_err();
    assert!(refused.to_string().contains("the device is gone"), "{refused}");
}
