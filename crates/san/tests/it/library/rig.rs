//! A target with a library, and with a disk before it where asked for.

use crate::prelude::*;

use san::initiator::{CommandError, TapeClient};
use san::volume::{Generation, LibrarySettings};
use std::path::Path;
use tempfile::TempDir;

/// The target's name.
const NAME: &str = "iqn.2026-01.example:library";

pub fn settings(directory: &Path) -> LibrarySettings {
    LibrarySettings {
        directory: directory.to_owned(),
        generation: Generation::named("LTO-5").expect("a generation"),
        drives: 2,
        slots: 4,
        mailslots: 1,
        cartridges: 3,
        capacity: Some(8 << 20),
        pace: None,
        compress: true,
        target: NAME.to_owned(),
    }
}

pub struct TapeRig {
    pub target: TargetServer,
    pub directory: TempDir,
    /// Logical units before the library.
    pub disks: usize,
}

pub fn started(directory: &Path, disks: Vec<Arc<Volume>>) -> TargetServer {
    started_at(directory, disks, 0)
}

pub fn started_at(directory: &Path, disks: Vec<Arc<Volume>>, port: u16) -> TargetServer {
    let mut volumes = disks;
    volumes.extend(Volume::open_library(&settings(directory), "WSLIB").expect("a library"));
    serving_at(volumes, port)
}

/// A target of these volumes.
pub fn serving(volumes: Vec<Arc<Volume>>) -> TargetServer {
    serving_at(volumes, 0)
}

fn serving_at(volumes: Vec<Arc<Volume>>, port: u16) -> TargetServer {
    let loopback = SocketAddr::from(([127, 0, 0, 1], port));
    let mut config = TargetSettings::new(NAME, vec![PortalConfig::new(loopback)], volumes);
    config.threads = 2;
    config.limits.stop_time = Duration::from_millis(200);
    TargetServer::start(config).expect("a target")
}

impl TapeRig {
    pub fn new() -> TapeRig {
        TapeRig::with(Vec::new())
    }

    pub fn with(disks: Vec<Arc<Volume>>) -> TapeRig {
        let directory = TempDir::new().expect("a directory");
        let count = disks.len();
        TapeRig { target: started(directory.path(), disks), directory, disks: count }
    }

    /// A session with a unit of the library, as a named initiator, that has heard what was pending.
    pub fn client(&self, unit: usize, name: &str) -> TapeClient {
        let mut client = self.raw(unit, name);
        client.attentions().expect("a unit");
        client
    }

    pub fn raw(&self, unit: usize, name: &str) -> TapeClient {
        let url = &self.target.urls()[self.disks + unit];
        TapeClient::open_as(url, &format!("iqn.2026-01.example:{name}")).expect("a session")
    }
}

/// The code of an error that has sense data.
#[track_caller]
pub fn code<T: std::fmt::Debug>(result: Result<T, CommandError>) -> u16 {
    match result {
        Err(CommandError::Sense(sense)) => sense.code,
        other => panic!("sense data is missing: {other:?}"),
    }
}

/// The bytes of the block with a number.
pub fn content(number: u64, size: usize) -> Vec<u8> {
    let mixed = |i: u64| (number.wrapping_mul(0x9e37_79b9) ^ i.wrapping_mul(0x85eb_ca6b)) >> 7;
    (0..size as u64).map(|i| if i % 64 < 32 { number as u8 } else { mixed(i) as u8 }).collect()
}
