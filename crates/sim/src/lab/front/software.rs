//! The software above a disk: the program that issues an I/O, the file system below it, and what that reads ahead.
//!
//! It runs on the processors of the guest, or of the host where there is no guest. A part's figures are used where they
//! are given; nothing is assumed of a program that does not state what it takes.

use super::{FrontBuilder, defaults, work};
use crate::lab::draft::Draft;
use crate::lab::sheet::Sheet;
use crate::model::{Hop, PoolId, StationId};
use scenario::topology::HopKind;

/// The software above the disk of one way.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Software {
    /// The machine whose processors it runs on, and these.
    machine: Option<(String, StationId)>,
    /// CPU seconds of a program for each I/O.
    program: Option<f64>,
    /// CPU seconds of a file system for each I/O, and for each byte.
    file: [Option<f64>; 2],
    /// Bytes that a sequential reader is read ahead.
    pub read_ahead: Option<u64>,
}

impl FrontBuilder<'_> {
    /// By way.
    pub(super) fn software(&self) -> Vec<Software> {
        let of = |way: &scenario::topology::Way| {
            let Some(path) = way.paths.first() else { return Software::default() };
            let on = |kind| self.atlas.on(path, kind);
            let machine = on(HopKind::VmCpu).or_else(|| on(HopKind::HostCpu));
            let station = |device: &str| self.processors.get(device).map(|(_, station)| *station);
            let machine = machine.and_then(|of| Some((of.name.clone(), station(&of.device)?)));
            let sheets = [HopKind::VirtualAdapter, HopKind::HostCpu]
                .map(|kind| on(kind).map_or(Sheet::default(), |hop| self.atlas.sheet(hop)));
            let own = if on(HopKind::VmCpu).is_some() { sheets[0] } else { sheets[1] };
            Software {
                machine,
                program: own.time("program_cpu_per_io"),
                file: [own.time("file_cpu_per_io"), own.per_byte("file_cpu_per_byte")],
                read_ahead: own.bytes("read_ahead"),
            }
        };
        self.atlas.topology.ways.iter().map(of).collect()
    }
}

impl Software {
    /// What a program does for an I/O before it issues it, on the one thread of its worker.
    pub fn program(&self, thread: impl FnOnce() -> PoolId) -> Vec<Hop> {
        let (Some((_, station)), Some(seconds)) = (&self.machine, self.program) else {
            return Vec::new();
        };
        let pool = thread();
        let work = work(*station, seconds, 0.0);
        vec![Hop::Take { pool, tokens: 1 }, work, Hop::Give { pool, tokens: 1 }]
    }

    /// What a file system does for a block of a file.
    pub fn file_system(&self, draft: &mut Draft) -> Option<Hop> {
        let (machine, station) = self.machine.as_ref()?;
        let each = defaults::FILE_IO.unless(self.file[0], machine, draft);
        let byte = defaults::FILE_BYTE.unless(self.file[1], machine, draft);
        Some(work(*station, each, byte))
    }
}
