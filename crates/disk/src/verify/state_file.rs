//! The file in which a state outlives its process. `docs/verify.md` describes it byte by byte and says what can be
//! concluded from it after which accident.
//!
//! It holds the words twice. The *live* ones are mapped into memory, so that a worker changes them without a system
//! call; they are exact as long as the kernel lives, whatever happens to the process. The *table* is a copy of which
//! every sector carries a checksum. A checkpoint takes a copy of the words, makes the target flush its caches, and only
//! then writes what has changed into the table: whatever the table says was settled is on stable storage. It is written
//! in place, because an older copy of a word is as true as a newer one.

use super::ledger::{Ledger, WORD};
use super::word::BlockWord;
use crate::surface::OpenTarget;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    CWD, FallocateFlags, FileType, FlockOperation, Mode, OFlags, fallocate, fdatasync, flock,
    fstat, fsync, openat,
};
use rustix::io::{Errno, pread, pwrite};
use std::path::{Path, PathBuf};

const MAGIC: [u8; 8] = *b"WSVERIFY";
const VERSION: u32 = 1;

/// Bytes of a sector of the table and of the header: what a disk writes as a whole.
const SECTOR: usize = 512;

/// Words of one sector of the table.
const WORDS: u64 = 120;

/// Where the live words begin: a multiple of every page size.
const WORDS_AT: u64 = 1 << 16;

/// Sectors that a checkpoint holds at once between the copy and the flush.
const BATCH: usize = 1 << 16;

/// Sectors of the table that are compared at once.
const STRIDE: u64 = 128;

/// Where the kernel says which of its lives this is.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Where it does not say: then no life is the same as another.
const UNKNOWN_LIFE: [u8; 36] = [0; 36];

/// What the first sector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateHead {
    pub id: u64,
    /// The target's size and logical block in bytes.
    pub size: u64,
    pub block: u32,
    /// The table is complete: nothing was written to the target after it.
    clean: bool,
    /// The life of the kernel in which the live words were last changed.
    boot: [u8; 36],
}

/// The open file of a state.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    file: OwnedFd,
    head: StateHead,
    blocks: u64,
    /// The target, to have its caches flushed.
    target: OpenTarget,
}

/// A state as it was found.
pub(crate) struct Loaded {
    pub kept: StateFile,
    pub ledger: Ledger,
    pub id: u64,
    /// Only what was flushed is known for certain.
    pub at_least: bool,
    /// Sectors of the table that were damaged: of their blocks nothing is known.
    pub damaged: u64,
    /// The file was there before.
    pub old: bool,
}

/// What is to be opened, and for what.
pub(crate) struct StateRequest<'a> {
    pub path: &'a Path,
    pub size: u64,
    pub block: u32,
    pub blocks: u64,
    /// Only what was flushed counts, whatever else is known.
    pub flushed: bool,
    /// The identity of a state that is yet to be made.
    pub id: u64,
    /// A descriptor of the target of which the state may keep one.
    pub target: OpenTarget,
}

/// Opens the state's file, or makes it. The text says what is wrong and what to do.
pub(crate) fn open(request: StateRequest) -> Result<Loaded, String> {
    let path = request.path;
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    match openat(CWD, path, flags, Mode::empty()) {
        Ok(file) => load(request, file),
        Err(Errno::NOENT) => {
            let mode = Mode::RUSR | Mode::WUSR;
            let file = openat(CWD, path, flags | OFlags::CREATE | OFlags::EXCL, mode)
                .map_err(|e| format!("cannot be made ({e})"))?;
            let made = make(&request, &file);
            if made.is_err() {
                // A half-written file would be refused forever.
                let _ = rustix::fs::unlink(path);
            }
            made?;
            begin(request, file)
        }
        Err(e) => Err(format!("cannot be opened ({e})")),
    }
}

fn begin(request: StateRequest, file: OwnedFd) -> Result<Loaded, String> {
    let StateRequest { path, size, block, blocks, id, target, flushed: _ } = request;
    let ledger = map(&file, blocks)?;
    let head = StateHead { id, size, block, clean: true, boot: boot_id() };
    let kept = StateFile { path: path.to_owned(), file, head, blocks, target };
    Ok(Loaded { kept, ledger, id, at_least: false, damaged: 0, old: false })
}

/// Reserves the file, so that a mapped page can always be written, and writes an empty state.
fn make(request: &StateRequest, file: &OwnedFd) -> Result<(), String> {
    let failed = |e: Errno| format!("cannot be made ({e})");
    lock(file)?;
    let sectors = sectors(request.blocks);
    let total = table_at(request.blocks) + sectors * SECTOR as u64;
    match fallocate(file, FallocateFlags::empty(), 0, total) {
        Ok(()) => {}
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let zeros = vec![0; 1 << 20];
            let mut at = 0;
            while at < total {
                let piece = (total - at).min(zeros.len() as u64) as usize;
                write_at(file, &zeros[..piece], at).map_err(failed)?;
                at += piece as u64;
            }
        }
        Err(e) => return Err(failed(e)),
    }
    let mut batch = Vec::with_capacity(SECTOR * STRIDE as usize);
    for first in (0..sectors).step_by(STRIDE as usize) {
        batch.clear();
        for sector in first..(first + STRIDE).min(sectors) {
            batch.extend(encode(request.id, sector, &[0; WORDS as usize]));
        }
        write_at(file, &batch, table_at(request.blocks) + first * SECTOR as u64).map_err(failed)?;
    }
    let StateRequest { size, block, id, .. } = *request;
    let head = StateHead { id, size, block, clean: true, boot: boot_id() };
    write_at(file, &head.encode(), 0).and_then(|()| fsync(file)).map_err(failed)?;
    // The name, too, is to outlive a power cut.
    let folder = request.path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if let Ok(folder) = openat(CWD, folder, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = fsync(folder);
    }
    Ok(())
}

fn load(request: StateRequest, file: OwnedFd) -> Result<Loaded, String> {
    let StateRequest { path, size, block, blocks, target, flushed, .. } = request;
    let stat = fstat(&file).map_err(|e| format!("cannot be examined ({e})"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("is not a regular file; name another".to_owned());
    }
    lock(&file)?;
    let mut sector = [0; SECTOR];
    let read = read_at(&file, &mut sector, 0).is_ok();
    let head = Some(sector).filter(|_| read).and_then(|s| StateHead::decode(&s)).transpose()?;
    let head = head.ok_or("exists and is no verification state; name another, or a new one")?;
    if (head.size, head.block) != (size, block) {
        return Err(format!(
            "is of a target of {} bytes in blocks of {}, but this one has {size} bytes in blocks of {block}; name the \
             state of this target, or a new one",
            head.size, head.block
        ));
    }
    let whole = table_at(blocks) + sectors(blocks) * SECTOR as u64;
    if u64::try_from(stat.st_size).is_ok_and(|length| length < whole) {
        return Err("has been cut short; name a new one".to_owned());
    }
    let kept = StateFile { path: path.to_owned(), file, head, blocks, target };
    let same_life = head.boot != UNKNOWN_LIFE && head.boot == boot_id();
    let (ledger, at_least, damaged) = match (head.clean, same_life && !flushed) {
        // Killed: the live words are what they were at the last moment.
        (false, true) => (map(&kept.file, blocks)?, false, 0),
        (true, _) => {
            let ledger = map(&kept.file, blocks)?;
            let damaged = kept.load_table(&ledger)?;
            // Of some blocks it is not known any more which generations were issued.
            (ledger, damaged > 0, damaged)
        }
        // The power was cut, here or at the target: only the table counts, and it is left as it is.
        (false, false) => {
            let ledger = Ledger::in_memory(blocks).map_err(|e| format!("needs memory ({e})"))?;
            let damaged = kept.load_table(&ledger)?;
            (ledger, true, damaged)
        }
    };
    for block in 0..ledger.len() {
        let word = ledger.get(block);
        if word.is_seen() || word.is_accused() {
            ledger.set(block, word.unread());
        }
    }
    Ok(Loaded { kept, ledger, id: head.id, at_least, damaged, old: true })
}

impl StateFile {
    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The live words are about to change: until [`StateFile::close`] the table alone is not the whole truth. Durable before
    /// the first write, so that no power cut can make it look otherwise.
    pub fn begin(&self) -> Result<(), Errno> {
        self.put_head(StateHead { clean: false, boot: boot_id(), ..self.head })
    }

    /// A last checkpoint, and the table is the whole truth: no write is in flight any more.
    pub fn close(&self, ledger: &Ledger) -> Result<(), Errno> {
        self.checkpoint(ledger)?;
        self.put_head(StateHead { clean: true, boot: boot_id(), ..self.head })
    }

    /// Makes the table say what the words say now, once the target has flushed what they say.
    pub fn checkpoint(&self, ledger: &Ledger) -> Result<(), Errno> {
        let mut batch: Vec<(u64, [u32; WORDS as usize])> = Vec::new();
        let mut table = vec![0; SECTOR * STRIDE as usize];
        for first in (0..sectors(self.blocks)).step_by(STRIDE as usize) {
            let last = (first + STRIDE).min(sectors(self.blocks));
            let piece = &mut table[..SECTOR * (last - first) as usize];
            read_at(&self.file, piece, self.sector_at(first))?;
            for (sector, known) in (first..last).zip(piece.chunks_exact(SECTOR)) {
                let words = copy(ledger, sector);
                if decode(self.head.id, sector, known) != Some(words) {
                    batch.push((sector, words));
                }
            }
            if batch.len() >= BATCH {
                self.put(&mut batch)?;
            }
        }
        self.put(&mut batch)?;
        fdatasync(&self.file)
    }

    fn put(&self, batch: &mut Vec<(u64, [u32; WORDS as usize])>) -> Result<(), Errno> {
        if batch.is_empty() {
            return Ok(());
        }
        self.target.flush()?;
        for (sector, words) in batch.drain(..) {
            write_at(&self.file, &encode(self.head.id, sector, &words), self.sector_at(sector))?;
        }
        Ok(())
    }

    /// Takes the words from the table; how many of its sectors were damaged.
    fn load_table(&self, ledger: &Ledger) -> Result<u64, String> {
        let mut damaged = 0;
        let mut table = vec![0; SECTOR * STRIDE as usize];
        for first in (0..sectors(self.blocks)).step_by(STRIDE as usize) {
            let last = (first + STRIDE).min(sectors(self.blocks));
            let piece = &mut table[..SECTOR * (last - first) as usize];
            read_at(&self.file, piece, self.sector_at(first))
                .map_err(|e| format!("cannot be read ({e})"))?;
            for (sector, bytes) in (first..last).zip(piece.chunks_exact(SECTOR)) {
                let words = decode(self.head.id, sector, bytes);
                damaged += u64::from(words.is_none());
                for (block, word) in (sector * WORDS..).zip(words.unwrap_or([0; WORDS as usize])) {
                    ledger.set(block, BlockWord(word));
                }
            }
        }
        Ok(damaged)
    }

    fn put_head(&self, head: StateHead) -> Result<(), Errno> {
        write_at(&self.file, &head.encode(), 0)?;
        fdatasync(&self.file)
    }

    fn sector_at(&self, sector: u64) -> u64 {
        table_at(self.blocks) + sector * SECTOR as u64
    }
}

impl StateHead {
    fn encode(&self) -> [u8; SECTOR] {
        let mut out = [0; SECTOR];
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&self.block.to_le_bytes());
        out[16..24].copy_from_slice(&self.size.to_le_bytes());
        out[24..32].copy_from_slice(&self.id.to_le_bytes());
        out[32] = u8::from(self.clean);
        out[40..76].copy_from_slice(&self.boot);
        seal(&mut out);
        out
    }

    /// `None` where this is no header at all; an error where it is one of another version.
    fn decode(sector: &[u8; SECTOR]) -> Option<Result<StateHead, String>> {
        let u32_at = |at: usize| Some(u32::from_le_bytes(*sector.get(at..)?.first_chunk()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(*sector.get(at..)?.first_chunk()?));
        if sector[..8] != MAGIC || !is_sealed(sector) {
            return None;
        }
        let version = u32_at(8)?;
        if version != VERSION {
            return Some(Err(format!(
                "is a verification state of version {version}, and this program knows version {VERSION}; use the version \
                 of Wirespeed that made it"
            )));
        }
        Some(Ok(StateHead {
            block: u32_at(12)?,
            size: u64_at(16)?,
            id: u64_at(24)?,
            clean: sector[32] == 1,
            boot: *sector.get(40..)?.first_chunk()?,
        }))
    }
}

/// The words of one sector as they stand, without what has been read.
fn copy(ledger: &Ledger, sector: u64) -> [u32; WORDS as usize] {
    std::array::from_fn(|i| ledger.get(sector * WORDS + i as u64).unread().0)
}

fn encode(id: u64, sector: u64, words: &[u32; WORDS as usize]) -> [u8; SECTOR] {
    let mut out = [0; SECTOR];
    for (bytes, word) in out.chunks_exact_mut(WORD as usize).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    out[480..488].copy_from_slice(&sector.to_le_bytes());
    out[488..496].copy_from_slice(&id.to_le_bytes());
    seal(&mut out);
    out
}

fn decode(id: u64, sector: u64, bytes: &[u8]) -> Option<[u32; WORDS as usize]> {
    let bytes: &[u8; SECTOR] = bytes.first_chunk()?;
    let right = bytes[480..488] == sector.to_le_bytes() && bytes[488..496] == id.to_le_bytes();
    let word = |i: usize| bytes[i * 4..].first_chunk().copied().map_or(0, u32::from_le_bytes);
    (right && is_sealed(bytes)).then(|| std::array::from_fn(word))
}

fn seal(sector: &mut [u8; SECTOR]) {
    let sum = crc32c::crc32c(&sector[..508]);
    sector[508..].copy_from_slice(&sum.to_le_bytes());
}

fn is_sealed(sector: &[u8; SECTOR]) -> bool {
    sector[508..] == crc32c::crc32c(&sector[..508]).to_le_bytes()
}

fn sectors(blocks: u64) -> u64 {
    blocks.div_ceil(WORDS)
}

fn table_at(blocks: u64) -> u64 {
    WORDS_AT + (blocks * WORD).next_multiple_of(WORDS_AT)
}

fn map(file: &OwnedFd, blocks: u64) -> Result<Ledger, String> {
    let ledger = Ledger::in_file(file.as_fd(), WORDS_AT, blocks);
    ledger.map_err(|e| format!("cannot be mapped into memory ({e})"))
}

fn lock(file: &OwnedFd) -> Result<(), String> {
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|e| match e {
        Errno::AGAIN => "is in use by another run; wait for its end, or name another".to_owned(),
        e => format!("cannot be locked ({e})"),
    })
}

/// Which of the kernel's lives this is.
fn boot_id() -> [u8; 36] {
    let text = std::fs::read(BOOT_ID).unwrap_or_default();
    text.first_chunk().copied().unwrap_or(UNKNOWN_LIFE)
}

fn write_at(file: &OwnedFd, mut data: &[u8], mut at: u64) -> Result<(), Errno> {
    while !data.is_empty() {
        match pwrite(file, data, at) {
            Ok(0) => return Err(Errno::IO),
            Ok(n) => {
                data = &data[n..];
                at += n as u64;
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn read_at(file: &OwnedFd, mut out: &mut [u8], mut at: u64) -> Result<(), Errno> {
    while !out.is_empty() {
        match pread(file, &mut *out, at) {
            Ok(0) => return Err(Errno::IO),
            Ok(n) => {
                out = &mut out[n..];
                at += n as u64;
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: StateHead = StateHead {
        id: 77,
        size: 1 << 20,
        block: 512,
        clean: true,
        boot: *b"01234567-89ab-cdef-0123-456789abcdef",
    };

    #[test]
    fn what_is_written_is_read_and_what_was_changed_is_not() {
        let words = std::array::from_fn(|i| i as u32 * 7);
        let mut sector = encode(77, 3, &words);
        assert_eq!(decode(77, 3, &sector), Some(words));
        assert_eq!((decode(78, 3, &sector), decode(77, 4, &sector)), (None, None));
        let mut head = HEAD.encode();
        assert_eq!(StateHead::decode(&head), Some(Ok(HEAD)));
        for byte in 0..SECTOR {
            sector[byte] ^= 16;
            head[byte] ^= 16;
            assert_eq!((decode(77, 3, &sector), StateHead::decode(&head)), (None, None), "{byte}");
            sector[byte] ^= 16;
            head[byte] ^= 16;
        }
        assert_eq!(decode(77, 3, &sector[..511]), None);
    }

    #[test]
    fn another_version_is_distinguished_from_damage() {
        let mut head = HEAD.encode();
        head[8] = 2;
        seal(&mut head);
        assert!(
            StateHead::decode(&head).is_some_and(|h| h.is_err_and(|e| e.contains("version 2")))
        );
    }

    fn open_over(bytes: &[u8]) -> Result<Loaded, String> {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("state");
        std::fs::write(&path, bytes).expect("room");
        let target = OpenTarget::Fd(tempfile::tempfile().expect("a file").into());
        let (size, block, blocks) = (1 << 20, 512, 2048);
        open(StateRequest { path: &path, size, block, blocks, flushed: false, id: 1, target })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// A sealed header with anything in it, over a file of any length.
        #[test]
        fn no_file_makes_it_panic(
            patches in prop::collection::vec((8usize..508, any::<u8>()), 0..8),
            length in 0usize..200_000,
        ) {
            let mut head = HEAD.encode();
            patches.into_iter().for_each(|(at, byte)| head[at] = byte);
            seal(&mut head);
            let mut file = vec![0x5a; length];
            let kept = length.min(SECTOR);
            file[..kept].copy_from_slice(&head[..kept]);
            if let Ok(loaded) = open_over(&file) {
                prop_assert!(loaded.at_least == (loaded.damaged > 0));
            }
        }
    }
}
