//! Reader and writer of the compact form: blocks of records with checksums, and an end with what the trace holds.

use crate::form::{self, BLOCK_BYTES, BLOCK_RECORDS, END, HEAD, LAST, MAGIC, Origin, RECORDS};
use crate::summary::{Summary, TraceFacts};
use crate::{Place, Tally, TraceError, TraceIo, TraceReader};
use clock::Ns;
use sha2::{Digest, Sha256};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use workload::Dir;

const DIRS: [Dir; 5] = [Dir::Read, Dir::Write, Dir::Trim, Dir::Zero, Dir::Flush];

/// What a record is coded against: forgotten at the start of each block.
#[derive(Default)]
struct Before {
    at: u64,
    device: u16,
    issuer: u32,
    ends: Vec<u64>,
}

impl Before {
    fn end(&mut self, device: u16) -> &mut u64 {
        let place = usize::from(device);
        if self.ends.len() <= place {
            self.ends.resize(place + 1, 0);
        }
        &mut self.ends[place]
    }
}

/// Writes a trace as I/Os come, in order of issue.
pub struct TraceWriter<W: Write> {
    out: BufWriter<W>,
    digest: Sha256,
    written: u64,
    block: Vec<u8>,
    records: u32,
    first: u64,
    before: Before,
    latest: Ns,
    summary: Summary,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    /// # Errors
    /// Where the output cannot be written.
    pub fn new(out: W, origin: &Origin) -> std::io::Result<TraceWriter<W>> {
        let mut writer = TraceWriter {
            out: BufWriter::with_capacity(1 << 16, out),
            digest: Sha256::new(),
            written: 0,
            block: Vec::new(),
            records: 0,
            first: 0,
            before: Before::default(),
            latest: Ns::ZERO,
            summary: Summary::default(),
        };
        let text = origin.text();
        writer.write(MAGIC)?;
        writer.write(&(text.len() as u32).to_le_bytes())?;
        writer.write(text.as_bytes())?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.digest.update(bytes);
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Bytes written so far, without the block that is being filled.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Appends an I/O. One before its predecessor gets that one's time.
    /// # Errors
    /// Where the output cannot be written.
    pub fn push(&mut self, mut io: TraceIo) -> std::io::Result<()> {
        io.at = io.at.max(self.latest);
        self.latest = io.at;
        self.summary.add(&io);
        if self.records == 0 {
            self.first = io.at.0;
            self.before = Before { at: io.at.0, ..Before::default() };
        }
        let before = &mut self.before;
        let kind = DIRS.iter().position(|dir| *dir == io.dir).unwrap_or(0) as u8;
        let expected = *before.end(io.device);
        let mut flags = kind;
        flags |= if io.fua { form::FUA } else { 0 };
        flags |= if io.latency.is_some() { form::LATENCY } else { 0 };
        flags |= if io.device != before.device { form::DEVICE } else { 0 };
        flags |= if io.offset == expected { form::FOLLOWS } else { 0 };
        flags |= if io.issuer != before.issuer { form::ISSUER } else { 0 };
        let out = &mut self.block;
        out.push(flags);
        form::put(out, io.at.0 - before.at);
        if io.device != before.device {
            form::put(out, io.device.into());
        }
        if io.offset != expected {
            form::put(out, form::fold(expected, io.offset));
        }
        form::put(out, io.len.into());
        if let Some(latency) = io.latency {
            form::put(out, latency.0);
        }
        if io.issuer != before.issuer {
            form::put(out, io.issuer.into());
        }
        (before.at, before.device, before.issuer) = (io.at.0, io.device, io.issuer);
        *before.end(io.device) = io.end();
        self.records += 1;
        if self.records == BLOCK_RECORDS { self.flush_block() } else { Ok(()) }
    }

    fn flush_block(&mut self) -> std::io::Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let block = std::mem::take(&mut self.block);
        let head = head(RECORDS, &block, self.records, self.first);
        self.write(&head)?;
        self.write(&block)?;
        self.block = block;
        self.block.clear();
        self.records = 0;
        Ok(())
    }

    /// Ends the trace; returns what it holds.
    /// # Errors
    /// Where the output cannot be written.
    pub fn finish(mut self, devices: &[String], tally: &Tally) -> std::io::Result<TraceFacts> {
        self.flush_block()?;
        let place = self.written;
        let mut facts = std::mem::take(&mut self.summary).finish(devices, tally);
        facts.digest = hex(&self.digest.clone().finalize());
        let text = facts.text();
        let head = head(LAST, text.as_bytes(), 0, 0);
        for part in [&head[..], text.as_bytes(), &place.to_le_bytes(), END] {
            self.out.write_all(part)?;
        }
        self.out.flush()?;
        Ok(facts)
    }
}

fn head(mark: u8, payload: &[u8], records: u32, first: u64) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = mark;
    head[1..5].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[5..9].copy_from_slice(&records.to_le_bytes());
    head[9..17].copy_from_slice(&first.to_le_bytes());
    let sum = crc32c::crc32c_append(crc32c::crc32c(&head[..17]), payload);
    head[17..].copy_from_slice(&sum.to_le_bytes());
    head
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a trace of the compact form.
pub struct OwnReader<R> {
    input: BufReader<R>,
    byte: u64,
    digest: Sha256,
    origin: Origin,
    block: Vec<u8>,
    at: usize,
    left: u32,
    before: Before,
    facts: Option<TraceFacts>,
    ended: bool,
    devices: Vec<String>,
    records: u64,
}

impl<R: Read> OwnReader<R> {
    /// Reads how a trace begins.
    /// # Errors
    /// Where it does not begin as one, or is of a version that is not known.
    pub fn new(input: R) -> Result<OwnReader<R>, TraceError> {
        let mut reader = OwnReader {
            input: BufReader::with_capacity(1 << 16, input),
            byte: 0,
            digest: Sha256::new(),
            origin: Origin::default(),
            block: Vec::new(),
            at: 0,
            left: 0,
            before: Before::default(),
            facts: None,
            ended: false,
            devices: Vec::new(),
            records: 0,
        };
        let mut magic = [0; 8];
        reader.fill(&mut magic, true)?;
        let version = MAGIC.len() - 1;
        if magic[..version] != MAGIC[..version] {
            return Err(TraceError::new(Place::Byte(0), "not a trace of Wirespeed")
                .help("`wirespeed import FILE -o x.trace` makes one of another program's"));
        }
        if magic[version] != MAGIC[version] {
            let problem = format!("version {} of the form; version 1 is known", magic[version]);
            return Err(
                TraceError::new(Place::Byte(7), problem).help("a newer Wirespeed may read it")
            );
        }
        let mut len = [0; 4];
        reader.fill(&mut len, true)?;
        let len = u32::from_le_bytes(len) as usize;
        if len > BLOCK_BYTES {
            return Err(TraceError::new(Place::Byte(8), format!("a heading of {len} bytes")));
        }
        let mut text = vec![0; len];
        reader.fill(&mut text, true)?;
        reader.origin = Origin::parse(&String::from_utf8_lossy(&text));
        Ok(reader)
    }

    /// Where it came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// What it holds, once all of it has been read; `None` where it was cut off.
    pub fn facts(&self) -> Option<&TraceFacts> {
        self.facts.as_ref()
    }

    /// Fills a buffer; whether there was anything. `hashed` bytes belong to the digest.
    fn fill(&mut self, buffer: &mut [u8], hashed: bool) -> Result<bool, TraceError> {
        let place = Place::Byte(self.byte);
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(TraceError::new(place, format!("cannot be read: {e}"))),
            }
        }
        self.byte += filled as u64;
        if hashed {
            self.digest.update(&buffer[..filled]);
        }
        if filled == buffer.len() {
            return Ok(true);
        }
        if filled == 0 && self.byte > 8 && buffer.len() == HEAD {
            return Ok(false);
        }
        Err(TraceError::new(place, "the file is cut off within a block"))
    }

    /// Reads the next block; whether it has records.
    fn read_block(&mut self) -> Result<bool, TraceError> {
        let place = Place::Byte(self.byte);
        let before = self.digest.clone();
        let mut head = [0; HEAD];
        if !self.fill(&mut head, true)? {
            // Writing it was interrupted: what is there is whole.
            return Ok(false);
        }
        let four = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| head[at + n]));
        let (bytes, records) = (four(1) as usize, four(5));
        if bytes > BLOCK_BYTES || records > BLOCK_RECORDS {
            return Err(TraceError::new(place, "no block of a trace begins here"));
        }
        let mut block = std::mem::take(&mut self.block);
        block.resize(bytes, 0);
        let mark = head[0];
        self.fill(&mut block, mark == RECORDS)?;
        self.block = block;
        if crc32c::crc32c_append(crc32c::crc32c(&head[..17]), &self.block) != four(17) {
            return Err(TraceError::new(
                place,
                "the block's checksum is wrong: the file is damaged",
            ));
        }
        match mark {
            RECORDS => {
                let first = u64::from(four(9)) | u64::from(four(13)) << 32;
                (self.at, self.left) = (0, records);
                self.before = Before { at: first, ..Before::default() };
                Ok(true)
            }
            LAST => {
                let text = String::from_utf8_lossy(&self.block).into_owned();
                let facts = TraceFacts::parse(&text).map_err(|line| {
                    TraceError::new(place, format!("the end has a bad line `{line}`"))
                })?;
                if facts.digest != hex(&before.finalize()) {
                    let problem = "the digest of what was read is not the one at its end";
                    return Err(
                        TraceError::new(place, problem).help("the file was changed or damaged")
                    );
                }
                self.devices = facts.devices.iter().map(|device| device.name.clone()).collect();
                self.facts = Some(facts);
                Ok(false)
            }
            other => Err(TraceError::new(place, format!("a block of the unknown kind {other}"))),
        }
    }

    fn record(&mut self) -> Option<TraceIo> {
        let mut bytes = self.block.get(self.at..)?;
        let whole = bytes.len();
        let (flags, rest) = bytes.split_first()?;
        bytes = rest;
        let before = &mut self.before;
        let at = before.at.checked_add(form::take(&mut bytes)?)?;
        let device = match flags & form::DEVICE {
            0 => before.device,
            _ => u16::try_from(form::take(&mut bytes)?).ok()?,
        };
        let expected = *before.end(device);
        let offset = match flags & form::FOLLOWS {
            0 => form::unfold(expected, form::take(&mut bytes)?),
            _ => expected,
        };
        let len = u32::try_from(form::take(&mut bytes)?).ok()?;
        let latency = match flags & form::LATENCY {
            0 => None,
            _ => Some(Ns(form::take(&mut bytes)?)),
        };
        let issuer = match flags & form::ISSUER {
            0 => before.issuer,
            _ => u32::try_from(form::take(&mut bytes)?).ok()?,
        };
        let dir = *DIRS.get(usize::from(flags & 7))?;
        let fua = flags & form::FUA != 0;
        let io = TraceIo { at: Ns(at), dir, fua, device, offset, len, latency, issuer };
        (before.at, before.device, before.issuer) = (at, device, issuer);
        *before.end(device) = io.end();
        self.at += whole - bytes.len();
        self.left -= 1;
        Some(io)
    }
}

impl<R: Read> TraceReader for OwnReader<R> {
    fn next(&mut self) -> Result<Option<TraceIo>, TraceError> {
        while self.left == 0 {
            if self.ended {
                return Ok(None);
            }
            self.ended = !self.read_block()?;
        }
        self.records += 1;
        let place = Place::Byte(self.byte);
        let wrong =
            || TraceError::new(place, "a record in the block before is cut off or out of range");
        self.record().map(Some).ok_or_else(wrong)
    }

    fn devices(&self) -> &[String] {
        &self.devices
    }

    fn tally(&self) -> Tally {
        let mut tally = match &self.facts {
            Some(facts) => facts.tally.clone(),
            None => Tally::default(),
        };
        tally.records = self.records;
        if self.ended && self.facts.is_none() {
            tally.note("the trace has no end: writing it was interrupted");
        }
        tally
    }
}

/// What a trace of the compact form holds, from its end alone; `None` where it has none.
pub(crate) fn facts_of<R: Read + Seek>(input: &mut R) -> std::io::Result<Option<TraceFacts>> {
    let end = input.seek(SeekFrom::End(0))?;
    let Some(tail) = end.checked_sub(16) else { return Ok(None) };
    input.seek(SeekFrom::Start(tail))?;
    let mut bytes = [0; 16];
    input.read_exact(&mut bytes)?;
    let place = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|n| bytes[n]));
    let len = tail.checked_sub(place).filter(|len| *len <= (BLOCK_BYTES + HEAD) as u64);
    let (true, Some(len)) = (bytes[8..] == *END, len.filter(|len| *len >= HEAD as u64)) else {
        return Ok(None);
    };
    input.seek(SeekFrom::Start(place))?;
    let mut block = vec![0; len as usize];
    input.read_exact(&mut block)?;
    let (head, text) = block.split_at(HEAD);
    let sum = u32::from_le_bytes([17, 18, 19, 20].map(|n| head[n]));
    if head[0] != LAST || crc32c::crc32c_append(crc32c::crc32c(&head[..17]), text) != sum {
        return Ok(None);
    }
    Ok(TraceFacts::parse(&String::from_utf8_lossy(text)).ok())
}
