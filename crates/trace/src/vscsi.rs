//! vscsiStats' binary traces: records of 32 bytes without and of 40 bytes with latencies.

use crate::io::Devices;
use crate::order::Reorder;
use crate::{Place, Tally, TraceError, TraceIo, TraceReader};
use clock::Ns;
use std::io::{BufReader, Read};
use workload::Dir;

const SECTOR: u64 = 512;

/// What a SCSI command does; `None` for one that is no I/O to a range.
fn dir_of(opcode: u16) -> Option<Dir> {
    match opcode {
        0x08 | 0x28 | 0x88 | 0xa8 => Some(Dir::Read),
        0x0a | 0x2a | 0x8a | 0xaa | 0x2e | 0x8e => Some(Dir::Write),
        0x35 | 0x91 => Some(Dir::Flush),
        0x42 => Some(Dir::Trim),
        0x41 | 0x93 => Some(Dir::Zero),
        _ => None,
    }
}

/// The version of the records that begin so; `None` where it is neither. The version is the high byte of `ver`; the rest of it
/// and the commands are looked at as well, since nothing else marks such a file.
pub(crate) fn version(head: &[u8]) -> Option<u8> {
    let half = |at: usize| Some(u16::from_le_bytes(*head.get(at..at + 2)?.first_chunk()?));
    let fits = |version: u16, size: usize, cmd: usize, ver: usize| {
        let records = (head.len() / size).min(8);
        records > 0
            && (0..records).all(|n| {
                half(n * size + ver).is_some_and(|v| v >> 8 == version)
                    && half(n * size + cmd).is_some_and(|c| c <= 0xff)
            })
            && (0..records).any(|n| half(n * size + cmd).and_then(dir_of).is_some())
    };
    if fits(2, 40, 0, 2) {
        Some(2)
    } else if fits(1, 32, 12, 14) {
        Some(1)
    } else {
        None
    }
}

/// A binary trace of vscsiStats.
pub(crate) struct Vscsi<R> {
    input: BufReader<R>,
    version: u8,
    byte: u64,
    devices: Devices,
    order: Reorder,
    ended: bool,
    tally: Tally,
}

impl<R: Read> Vscsi<R> {
    pub fn new(input: R, version: u8) -> Vscsi<R> {
        let mut tally = Tally::default();
        if version == 1 {
            tally.note("version 1 of vscsiStats' traces holds no latencies");
        }
        let mut devices = Devices::default();
        devices.number("");
        let (order, byte, ended) = (Reorder::default(), 0, false);
        let input = BufReader::with_capacity(1 << 16, input);
        Vscsi { input, version, byte, devices, order, ended, tally }
    }

    fn read(&mut self) -> Result<bool, TraceError> {
        let place = Place::Byte(self.byte);
        let size = if self.version == 1 { 32 } else { 40 };
        let mut record = [0; 40];
        let mut filled = 0;
        while filled < size {
            let n = self.input.read(&mut record[filled..size]);
            match n.map_err(|e| TraceError::new(place, format!("cannot be read: {e}")))? {
                0 => break,
                n => filled += n,
            }
        }
        if filled == 0 {
            return Ok(false);
        }
        if filled < size {
            let problem = format!("the file ends within a record: {filled} of {size} bytes");
            return Err(TraceError::new(place, problem));
        }
        self.byte += size as u64;
        self.tally.records += 1;
        let half = |at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
        let word = |at: usize| u32::from(half(at)) | u32::from(half(at + 2)) << 16;
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let (cmd, ver, len, lbn, at) = match self.version {
            1 => (half(12), half(14), word(4), long(16), long(24)),
            _ => (half(0), half(2), word(8), long(16), long(24)),
        };
        if ver >> 8 != u16::from(self.version) {
            let problem =
                format!("a record of version {} in a file of version {}", ver >> 8, self.version);
            return Err(TraceError::new(place, problem));
        }
        let Some(dir) = dir_of(cmd) else {
            self.tally.other += 1;
            return Ok(true);
        };
        let offset = lbn.checked_mul(SECTOR).ok_or_else(|| {
            TraceError::new(place, format!("block {lbn} is beyond what a device can have"))
        })?;
        let us = |us: u64| {
            let ns = us.checked_mul(1000).map(Ns);
            ns.ok_or_else(|| TraceError::new(place, format!("{us} µs is no time")))
        };
        let at = us(at)?;
        let latency = if self.version == 1 { None } else { Some(us(long(32))?) };
        let len = if dir == Dir::Flush { 0 } else { len };
        let (fua, device, issuer) = (false, 0, 0);
        self.order.push(TraceIo { at, dir, fua, device, offset, len, latency, issuer });
        Ok(true)
    }
}

impl<R: Read> TraceReader for Vscsi<R> {
    fn next(&mut self) -> Result<Option<TraceIo>, TraceError> {
        loop {
            if let Some(io) = self.order.pop(self.ended) {
                return Ok(Some(io));
            }
            if self.ended {
                return Ok(None);
            }
            self.ended = !self.read()?;
        }
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn tally(&self) -> Tally {
        let (disordered, clamped) = (self.order.disordered, self.order.clamped);
        Tally { disordered, clamped, ..self.tally.clone() }
    }
}
