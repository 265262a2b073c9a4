//! A library in a scratch directory, and commands to it.

use clock::Ns;
use iscsi::scsi::{Nexus, PassedCommand, ScsiStatus, Sense};
use std::process::Command;
use tape::{Answer, Generation, Library, LibrarySettings};
use tempfile::TempDir;

pub struct Rig {
    pub directory: TempDir,
    pub library: Library,
    pub now: Ns,
}

pub fn nexus(number: u8) -> Nexus {
    Nexus::new("iqn.2026-01.example:i", [0, 0, 0, 0, 0, number], 1)
}

pub fn settings(directory: &std::path::Path) -> LibrarySettings {
    LibrarySettings {
        directory: directory.to_owned(),
        generation: Generation::named("LTO-6").expect("a generation"),
        drives: 2,
        slots: 5,
        mailslots: 2,
        cartridges: 3,
        capacity: Some(4 << 20),
        pace: None,
        compress: true,
        target: "iqn.2026-01.example:library".to_owned(),
    }
}

pub fn open(settings: &LibrarySettings) -> Library {
    Library::open(settings, "WS00", |_| [7; 16]).expect("a library")
}

impl Rig {
    pub fn new() -> Rig {
        Rig::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut LibrarySettings)) -> Rig {
        let directory = TempDir::new().expect("a directory");
        let mut settings = settings(directory.path());
        change(&mut settings);
        let library = open(&settings);
        Rig { directory, library, now: Ns::secs(1) }
    }

    /// Over a library that is open.
    pub fn over(library: Library) -> Rig {
        Rig { directory: TempDir::new().expect("a directory"), library, now: Ns::secs(1) }
    }

    /// With the first cartridge in the first drive.
    pub fn loaded() -> Rig {
        let rig = Rig::new();
        rig.load();
        rig
    }

    /// Moves the first cartridge into the first drive.
    #[track_caller]
    pub fn load(&self) {
        self.moves(0x400, 0x100).expect("a free drive");
    }

    /// MOVE MEDIUM.
    pub fn moves(&self, from: u16, to: u16) -> Result<(), Sense> {
        let ([a, b], [c, d]) = (from.to_be_bytes(), to.to_be_bytes());
        self.check(0, &[0xa5, 0, 0, 1, a, b, c, d, 0, 0, 0, 0], &[], 0).map(drop)
    }

    /// A command of the first nexus.
    pub fn run(&self, unit: usize, cdb: &[u8], data: &[u8], room: usize) -> (Answer, Vec<u8>) {
        self.run_as(1, unit, cdb, data, room)
    }

    pub fn run_as(
        &self,
        by: u8,
        unit: usize,
        cdb: &[u8],
        data: &[u8],
        room: usize,
    ) -> (Answer, Vec<u8>) {
        let mut whole = [0; 16];
        whole[..cdb.len()].copy_from_slice(cdb);
        let command = PassedCommand {
            cdb: whole,
            nexus: nexus(by),
            data_in: room as u32,
            data_out: data.len() as u32,
        };
        let mut bytes = vec![0; room];
        let answer = self.library.execute(unit, self.now, &command, data, &mut bytes);
        bytes.truncate(answer.moved);
        (answer, bytes)
    }

    /// The same, where only success or the sense data matters.
    pub fn check(
        &self,
        unit: usize,
        cdb: &[u8],
        data: &[u8],
        room: usize,
    ) -> Result<Vec<u8>, Sense> {
        let (answer, bytes) = self.run(unit, cdb, data, room);
        match answer.ending.status {
            ScsiStatus::Good => Ok(bytes),
            _ => Err(answer.ending.sense.expect("sense data")),
        }
    }

    /// A block of variable length.
    pub fn write(&self, block: &[u8]) -> Result<(), Sense> {
        let [_, a, b, c] = (block.len() as u32).to_be_bytes();
        self.check(1, &[0x0a, 0, a, b, c, 0], block, 0).map(drop)
    }

    pub fn read(&self, len: u32) -> Result<Vec<u8>, Sense> {
        let [_, a, b, c] = len.to_be_bytes();
        self.check(1, &[0x08, 0, a, b, c, 0], &[], len as usize)
    }

    pub fn filemarks(&self, count: u8) -> Result<(), Sense> {
        self.check(1, &[0x10, 0, 0, 0, count, 0], &[], 0).map(drop)
    }

    pub fn rewind(&self) {
        self.check(1, &[0x01, 0, 0, 0, 0, 0], &[], 0).expect("a medium");
    }

    /// Objects and filemarks before the position.
    pub fn position(&self) -> (u64, u64) {
        let bytes = self.check(1, &[0x34, 6, 0, 0, 0, 0, 0, 0, 0, 0], &[], 32).expect("a medium");
        let figure = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight"));
        (figure(8), figure(16))
    }
}

/// Runs a program of the reference; `None`, with a line that says so, where there is no Python.
pub fn python(program: &str, args: &[&str]) -> Option<String> {
    let path = format!("{}/tests/it/reference/{program}", env!("CARGO_MANIFEST_DIR"));
    match Command::new("python3").arg(path).args(args).output() {
        Ok(done) => {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            Some(String::from_utf8(done.stdout).expect("text"))
        }
        Err(_) if std::env::var_os("CI").is_none() => {
            println!("skipped: python3 is missing");
            None
        }
        Err(error) => panic!("python3: {error}"),
    }
}

/// The bytes of the block with a number: half of it compresses.
pub fn content(number: u64, size: usize) -> Vec<u8> {
    let mixed = |i: u64| (number.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(0x85eb_ca6b)) >> 7;
    (0..size as u64).map(|i| if i % 64 < 32 { number as u8 } else { mixed(i) as u8 }).collect()
}
