//! blktrace's binary records of 48 bytes in the byte order of the machine: in files, one a CPU, and as a running kernel hands
//! them out.

use crate::block::{BlockAction, BlockEvent, BlockMatcher, Layer};
use crate::io::DEVICES_MANY;
use crate::io::Devices;
use crate::{Place, Tally, TraceError, TraceIo, TraceReader};
use clock::Ns;
use std::collections::BTreeMap;
use std::io::{BufReader, ErrorKind, Read};
use workload::Dir;

/// Bytes of a record before its payload.
const RECORD: usize = 48;
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Categories of an event, in the upper half of its action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PACKET: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
const DRIVER: u32 = 1 << 14;
const FUA: u32 = 1 << 15;

/// Whether these bytes begin a file of blktrace.
pub(crate) fn begins(head: &[u8]) -> bool {
    let Some(magic) = head.first_chunk::<4>() else { return false };
    [u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)].iter().any(|m| m & !0xff == MAGIC)
}

/// One CPU's file.
struct CpuFile<R> {
    input: BufReader<R>,
    byte: u64,
    big: bool,
    next: Option<(BlockEvent, u32)>,
    latest: Ns,
}

/// The files of all CPUs, merged by time.
pub(crate) struct Blktrace<R> {
    files: Vec<CpuFile<R>>,
    devices: Devices,
    numbers: BTreeMap<u32, u16>,
    matcher: BlockMatcher,
    started: bool,
    ended: bool,
    origin: Option<Ns>,
    records: u64,
    disordered: u64,
    other: u64,
}

impl<R: Read> Blktrace<R> {
    pub fn new(inputs: Vec<R>, layer: Layer) -> Blktrace<R> {
        let file = |input| CpuFile {
            input: BufReader::with_capacity(1 << 16, input),
            byte: 0,
            big: false,
            next: None,
            latest: Ns::ZERO,
        };
        Blktrace {
            files: inputs.into_iter().map(file).collect(),
            devices: Devices::default(),
            numbers: BTreeMap::new(),
            matcher: BlockMatcher::new(layer),
            started: false,
            ended: false,
            origin: None,
            records: 0,
            disordered: 0,
            other: 0,
        }
    }

    /// Reads on in a file, up to its next event of a request.
    fn advance(&mut self, file: usize) -> Result<(), TraceError> {
        loop {
            let of = &mut self.files[file];
            let Some((event, device, place)) = of.record()? else {
                of.next = None;
                return Ok(());
            };
            self.records += 1;
            let Some(event) = event else {
                self.other += 1;
                continue;
            };
            self.disordered += u64::from(event.at < of.latest);
            of.latest = of.latest.max(event.at);
            if !self.numbers.contains_key(&device) {
                // The numbers of a device as the kernel packs them: 12 bits and 20.
                let name = format!("{},{}", device >> 20, device & 0xf_ffff);
                let number = self.devices.number(&name);
                let number = number.ok_or_else(|| TraceError::new(place, DEVICES_MANY))?;
                self.numbers.insert(device, number);
            }
            of.next = Some((event, device));
            return Ok(());
        }
    }

    /// Hands the earliest event of all files to the matcher; whether there was one.
    fn feed(&mut self) -> Result<bool, TraceError> {
        if !self.started {
            self.started = true;
            for file in 0..self.files.len() {
                self.advance(file)?;
            }
        }
        let at = |file: &CpuFile<R>| file.next.map(|(event, _)| event.at);
        let earliest = (0..self.files.len())
            .filter_map(|n| Some((at(&self.files[n])?, n)))
            .min_by_key(|(at, n)| (*at, *n));
        let Some((_, file)) = earliest else { return Ok(false) };
        if let Some((mut event, device)) = self.files[file].next {
            let origin = *self.origin.get_or_insert(event.at);
            event.at = event.at.since(origin);
            event.device = self.numbers.get(&device).copied().unwrap_or_default();
            self.matcher.push(event);
        }
        self.advance(file)?;
        Ok(true)
    }
}

/// A record: its event unless it is none of a request, its device, and where it stands.
type Record = (Option<BlockEvent>, u32, Place);

impl<R: Read> CpuFile<R> {
    fn record(&mut self) -> Result<Option<Record>, TraceError> {
        let place = Place::Byte(self.byte);
        let mut bytes = [0; RECORD];
        match fill(&mut self.input, &mut bytes) {
            Ok(0) => return Ok(None),
            Ok(RECORD) => {}
            Ok(n) => {
                let problem = format!("the file ends within a record: {n} of {RECORD} bytes");
                return Err(TraceError::new(place, problem));
            }
            Err(e) => return Err(TraceError::new(place, format!("cannot be read: {e}"))),
        }
        if self.byte == 0 {
            self.big = Head { bytes: &bytes, big: false }.word(0) & !0xff != MAGIC;
        }
        let head = Head { bytes: &bytes, big: self.big };
        if head.word(0) & !0xff != MAGIC {
            return Err(TraceError::new(place, format!("{:#010x} begins no record", head.word(0)))
                .help("records of blktrace begin with 0x65617407"));
        }
        if head.word(0) & 0xff != VERSION {
            let problem = format!("version {} of blktrace's records", head.word(0) & 0xff);
            return Err(TraceError::new(place, problem).help("version 7 is known"));
        }
        let payload = head.payload();
        let skipped =
            std::io::copy(&mut (&mut self.input).take(u64::from(payload)), &mut std::io::sink());
        let skipped =
            skipped.map_err(|e| TraceError::new(place, format!("cannot be read: {e}")))?;
        if skipped < u64::from(payload) {
            let problem = format!("the file ends within a payload: {skipped} of {payload} bytes");
            return Err(TraceError::new(place, problem));
        }
        self.byte += RECORD as u64 + u64::from(payload);
        Ok(Some((head.event(), head.word(36), place)))
    }
}

/// The fixed part of a record.
struct Head<'a> {
    bytes: &'a [u8; RECORD],
    big: bool,
}

impl Head<'_> {
    fn word(&self, at: usize) -> u32 {
        let raw = [0, 1, 2, 3].map(|n| self.bytes[at + n]);
        if self.big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) }
    }

    fn long(&self, at: usize) -> u64 {
        let (a, b) = (u64::from(self.word(at)), u64::from(self.word(at + 4)));
        if self.big { a << 32 | b } else { b << 32 | a }
    }

    /// The error of a completion, and how many bytes follow: two halves of a word.
    fn tail(&self) -> (u32, u32) {
        let tail = self.word(44);
        if self.big { (tail >> 16, tail & 0xffff) } else { (tail & 0xffff, tail >> 16) }
    }

    fn payload(&self) -> u32 {
        self.tail().1
    }

    /// The event of a request; `None` for messages.
    fn event(&self) -> Option<BlockEvent> {
        let (action, category) = (self.word(28) & 0xff, self.word(28) >> 16);
        if category & (NOTIFY | DRIVER) != 0 {
            return None;
        }
        Some(BlockEvent {
            at: Ns(self.long(8)),
            action: action_of(action),
            dir: dir_of(category, self.word(24)),
            fua: category & FUA != 0,
            device: 0,
            sector: self.long(16),
            bytes: u64::from(self.word(24)),
            pid: self.word(32),
            failed: action == 8 && self.tail().0 != 0,
        })
    }
}

/// The events of requests in what this machine's kernel hands out for a processor, with the number of bytes that are whole
/// records: the rest goes before what comes next.
/// # Errors
/// The place of bytes that are no record of the known version.
pub fn blktrace_events(
    bytes: &[u8],
    mut event: impl FnMut(BlockEvent),
) -> Result<usize, TraceError> {
    let big = cfg!(target_endian = "big");
    let mut at = 0;
    while let Some(head) = bytes[at..].first_chunk::<RECORD>() {
        let head = Head { bytes: head, big };
        if head.word(0) != MAGIC | VERSION {
            let problem = format!("{:#010x} begins no record", head.word(0));
            return Err(TraceError::new(Place::Byte(at as u64), problem));
        }
        let end = at + RECORD + head.payload() as usize;
        if end > bytes.len() {
            break;
        }
        head.event().into_iter().for_each(&mut event);
        at = end;
    }
    Ok(at)
}

/// Reads as much as there is, up to the buffer's length.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

fn action_of(action: u32) -> BlockAction {
    match action {
        1 => BlockAction::Queue,
        2 | 3 => BlockAction::Merge,
        6 => BlockAction::Requeue,
        7 => BlockAction::Issue,
        8 => BlockAction::Complete,
        13 => BlockAction::Split,
        _ => BlockAction::Other,
    }
}

fn dir_of(category: u32, bytes: u32) -> Option<Dir> {
    match category {
        c if c & PACKET != 0 => None,
        c if c & DISCARD != 0 => Some(Dir::Trim),
        c if c & FLUSH != 0 && bytes == 0 => Some(Dir::Flush),
        _ if bytes == 0 => None,
        c if c & WRITE != 0 => Some(Dir::Write),
        _ => Some(Dir::Read),
    }
}

impl<R: Read> TraceReader for Blktrace<R> {
    fn next(&mut self) -> Result<Option<TraceIo>, TraceError> {
        loop {
            if let Some(io) = self.matcher.pop(self.ended) {
                return Ok(Some(io));
            }
            if self.ended {
                return Ok(None);
            }
            self.ended = !self.feed()?;
        }
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn tally(&self) -> Tally {
        let of = self.matcher.tally();
        Tally {
            records: self.records,
            disordered: self.disordered,
            other: of.other + self.other,
            ..of.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as this machine's kernel lays it out.
    fn record(at: u64, action: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (MAGIC | VERSION).to_ne_bytes().to_vec();
        bytes.extend(1u32.to_ne_bytes());
        for long in [at, 8] {
            bytes.extend(long.to_ne_bytes());
        }
        for word in [4096, action, 77, 7 << 20, 0] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(0u16.to_ne_bytes());
        bytes.extend((payload.len() as u16).to_ne_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn a_stream_is_read_wherever_it_is_cut() {
        let queued = record(5, 1 << 16 | 1, b"");
        let named = record(6, NOTIFY << 16, b"fio\0");
        let split = record(7, (1 | WRITE) << 16 | 13, &[0; 8]);
        let all = [queued, named, split].concat();
        for cut in 0..=all.len() {
            let mut seen = Vec::new();
            let whole = blktrace_events(&all[..cut], |event| seen.push(event)).unwrap();
            assert!(whole <= cut);
            blktrace_events(&all[whole..], |event| seen.push(event)).unwrap();
            let seen: Vec<_> = seen.iter().map(|e| (e.at.0, e.action, e.sector, e.pid)).collect();
            assert_eq!(seen, [(5, BlockAction::Queue, 8, 77), (7, BlockAction::Split, 8, 77)]);
        }
        let wrong = blktrace_events(&all[1..], |_| {}).unwrap_err();
        assert_eq!(wrong.place, Place::Byte(0));
    }
}
