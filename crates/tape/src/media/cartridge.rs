//! A cartridge: a chain of records in one file, appended and cut, read anywhere. What a flush acknowledged is on the backing
//! store; after any interruption the file opens to the longest prefix of records whose chain is whole.

use super::format::{
    BLOCK, FILEMARK, HEADER, Header, IDENTITY, Identity, LARGEST_BLOCK, LZ4, PLAIN, START, STATE,
    STATES, State,
};
use super::index::{Entry, Index};
use super::storage::Storage;
use std::io;

/// Where both states are damaged: every record of the chain counts.
const UNKNOWN: State =
    State { sequence: 0, objects: 0, filemarks: 0, end: START, epoch: u32::MAX - 1 };

/// Why the medium did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    /// The storage failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A record is damaged.
    #[error("the record of object {0} is damaged")]
    Damaged(u64),
    /// Objects that a flush had acknowledged are not there any more: the file was cut.
    #[error("objects {have} to {had} were recorded and are missing: the file was cut or damaged")]
    Missing {
        /// Objects that are there.
        have: u64,
        /// Objects that were there.
        had: u64,
    },
    /// An earlier failure: what was written since the last flush may be lost, so nothing more is written.
    #[error("an earlier write failed: {0}")]
    Broken(String),
    /// There is no room for it before the end of the medium.
    #[error("the end of the medium")]
    Full,
    /// This is no cartridge.
    #[error("it is no cartridge of this version, or its first sector is damaged")]
    Foreign,
}

/// A position between objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Objects before it: the logical object identifier.
    pub object: u64,
    /// Filemarks before it.
    pub filemarks: u64,
    /// Where the next record stands in the file.
    offset: u64,
    /// The CRC of the header before.
    previous: u32,
}

impl Place {
    /// Bytes of records before it.
    pub fn used(&self) -> u64 {
        self.offset - START
    }
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// A block of this size, of which as much as there is room was read.
    Block(u32),
    /// A filemark.
    Filemark,
    /// The end of the recorded data.
    End,
}

/// A cartridge that is open.
pub struct Cartridge {
    data: Box<dyn Storage>,
    identity: Identity,
    index: Index,
    state: State,
    first: Place,
    end: Place,
    /// Objects that were acknowledged, where fewer are there.
    had: Option<u64>,
    broken: Option<String>,
    /// Bytes behind the last record.
    tail: bool,
    unsynced: bool,
    scratch: Vec<u8>,
    /// Bytes of the file that recovery read, for those who measure it.
    searched: u64,
}

/// A record that was found.
struct Found {
    header: Header,
    crc: u32,
}

impl Cartridge {
    /// Makes an empty one.
    /// # Errors
    /// The storage failed.
    pub fn make(data: &mut dyn Storage, identity: &Identity) -> io::Result<()> {
        let (bytes, _) = identity.encode();
        let state = State { sequence: 1, end: START, ..State::default() };
        data.set_len(START)?;
        data.write_at(0, &[&bytes])?;
        data.write_at(STATES[1], &[&state.encode()])?;
        data.sync()
    }

    /// What a file says that it is.
    /// # Errors
    /// It cannot be read, or is no cartridge.
    pub fn identify(data: &dyn Storage) -> Result<Identity, MediaError> {
        let mut bytes = [0; IDENTITY];
        data.read_at(0, &mut bytes)?;
        Ok(Identity::decode(&bytes).ok_or(MediaError::Foreign)?.0)
    }

    /// Opens one, and finds the end of its records.
    /// # Errors
    /// It cannot be read, or is no cartridge.
    pub fn open(
        data: Box<dyn Storage>,
        index: Option<Box<dyn Storage>>,
    ) -> Result<Cartridge, MediaError> {
        let mut bytes = [0; IDENTITY];
        data.read_at(0, &mut bytes)?;
        let (identity, crc) = Identity::decode(&bytes).ok_or(MediaError::Foreign)?;
        let first = Place { object: 0, filemarks: 0, offset: START, previous: crc };
        let mut states = Vec::new();
        for at in STATES {
            let mut bytes = [0; STATE];
            data.read_at(at, &mut bytes)?;
            states.extend(State::decode(&bytes));
        }
        let state = states.into_iter().max_by_key(|state| state.sequence);
        let index = Index::load(identity.uuid, index);
        let mut cartridge = Cartridge {
            data,
            identity,
            index,
            state: state.unwrap_or(UNKNOWN),
            first,
            end: first,
            had: None,
            broken: None,
            tail: false,
            unsynced: false,
            scratch: Vec::new(),
            searched: 0,
        };
        let epoch = cartridge.recover()?;
        if state.is_none() {
            cartridge.state.epoch = epoch;
        }
        Ok(cartridge)
    }

    /// What it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The beginning of the medium.
    pub fn first(&self) -> Place {
        self.first
    }

    /// The end of the recorded data.
    pub fn end(&self) -> Place {
        self.end
    }

    /// What is lost of what was acknowledged.
    pub fn missing(&self) -> Option<MediaError> {
        self.had.map(|had| MediaError::Missing { have: self.end.object, had })
    }

    /// Bytes of records and headers that the last open read.
    pub fn searched(&self) -> u64 {
        self.searched
    }

    /// Walks from the last entry of the index that holds to the end of the chain; the epoch of its last record.
    fn recover(&mut self) -> Result<u32, MediaError> {
        let mut at = self.first;
        let mut epoch = 0;
        while let Some(entry) = self.index.entries.last().copied() {
            if let Some(place) = self.entered(entry)? {
                at = place;
                break;
            }
            let fewer = self.index.entries.len() - 1;
            self.index.cut(fewer);
        }
        let mut payload = std::mem::take(&mut self.scratch);
        while let Some(found) = self.record(at)? {
            let stored = found.header.stored as usize;
            let behind = at.offset + (HEADER + stored) as u64;
            self.searched += HEADER as u64;
            // What a flush acknowledged was whole then; what came later may be torn.
            if behind > self.state.end {
                payload.resize(stored, 0);
                self.searched += stored as u64;
                let got = self.data.read_at(at.offset + HEADER as u64, &mut payload)?;
                if got < stored || crc32c::crc32c(&payload) != found.header.payload {
                    break;
                }
            } else if behind > self.data.len()? {
                break;
            }
            self.index.note(entry(&at, found.crc));
            epoch = found.header.epoch;
            at = after(at, &found);
        }
        self.scratch = payload;
        self.end = at;
        self.tail = self.data.len()? != at.offset;
        self.had = (self.state.objects > at.object).then_some(self.state.objects);
        Ok(epoch)
    }

    /// The place of an entry, if the record is there that it names.
    fn entered(&self, entry: Entry) -> Result<Option<Place>, MediaError> {
        let mut bytes = [0; HEADER];
        if self.data.read_at(entry.offset, &mut bytes)? < HEADER {
            return Ok(None);
        }
        Ok(Header::decode(&bytes)
            .filter(|(header, crc)| {
                *crc == entry.header
                    && header.object == entry.object
                    && header.filemarks == entry.filemarks
            })
            .map(|(header, _)| Place {
                object: entry.object,
                filemarks: entry.filemarks,
                offset: entry.offset,
                previous: header.previous,
            }))
    }

    /// The record at a place, if the chain goes on there.
    fn record(&self, at: Place) -> Result<Option<Found>, MediaError> {
        let mut bytes = [0; HEADER];
        if self.data.read_at(at.offset, &mut bytes)? < HEADER {
            return Ok(None);
        }
        let found = Header::decode(&bytes).filter(|(header, _)| {
            header.object == at.object
                && header.filemarks == at.filemarks
                && header.previous == at.previous
                && self.is_of_its_time(header)
        });
        Ok(found.map(|(header, crc)| Found { header, crc }))
    }

    /// What lies behind the last flush was written in the last epoch; older records there are what an overwrite left.
    fn is_of_its_time(&self, header: &Header) -> bool {
        let state = &self.state;
        let fresh = header.object >= state.objects && state.sequence > 0;
        if fresh { header.epoch == state.epoch } else { header.epoch <= state.epoch }
    }

    /// The record before the end of data at a place; anything else is damage.
    fn there(&self, at: Place) -> Result<Found, MediaError> {
        self.record(at)?.ok_or(MediaError::Damaged(at.object))
    }

    /// The position before an object; the end of data for one behind it.
    /// # Errors
    /// The medium cannot be read there.
    pub fn locate(&mut self, object: u64) -> Result<Place, MediaError> {
        if object >= self.end.object {
            return Ok(self.end);
        }
        let below = self.index.entries.partition_point(|entry| entry.object <= object);
        self.walk(below, |place, _| place.object == object)
    }

    /// The position before the filemark with so many filemarks before it; `None` if there are not so many.
    /// # Errors
    /// The medium cannot be read there.
    pub fn filemark(&mut self, number: u64) -> Result<Option<Place>, MediaError> {
        if number >= self.end.filemarks {
            return Ok(None);
        }
        let below = self.index.entries.partition_point(|entry| entry.filemarks <= number);
        let found =
            self.walk(below, |place, header| place.filemarks == number && header.kind == FILEMARK);
        found.map(Some)
    }

    /// From the entry before `below` on to the record that is wanted.
    fn walk(
        &mut self,
        below: usize,
        wanted: impl Fn(&Place, &Header) -> bool,
    ) -> Result<Place, MediaError> {
        let mut place = match below.checked_sub(1).and_then(|at| self.index.entries.get(at)) {
            None => self.first,
            Some(entry) => self.entered(*entry)?.ok_or(MediaError::Damaged(entry.object))?,
        };
        loop {
            let found = self.there(place)?;
            if wanted(&place, &found.header) {
                return Ok(place);
            }
            place = after(place, &found);
        }
    }

    /// Reads the object at a place into `out`, and moves behind it.
    /// # Errors
    /// The medium cannot be read there; the place stays.
    pub fn read(&mut self, at: &mut Place, out: &mut [u8]) -> Result<Read, MediaError> {
        if at.object >= self.end.object {
            return self.missing().map_or(Ok(Read::End), Err);
        }
        let found = self.there(*at)?;
        let header = found.header;
        if header.kind == FILEMARK {
            *at = after(*at, &found);
            return Ok(Read::Filemark);
        }
        let (size, stored) = (header.size as usize, header.stored as usize);
        let from = at.offset + HEADER as u64;
        let damaged = MediaError::Damaged(at.object);
        let whole = |crc: u32| crc == header.payload;
        if header.codec == PLAIN && out.len() >= size {
            if self.data.read_at(from, &mut out[..size])? < size
                || !whole(crc32c::crc32c(&out[..size]))
            {
                return Err(damaged);
            }
        } else {
            let mut payload = std::mem::take(&mut self.scratch);
            payload.resize(stored, 0);
            let got = self.data.read_at(from, &mut payload);
            let fine = got.as_ref().is_ok_and(|got| *got == stored)
                && whole(crc32c::crc32c(&payload))
                && unpack(&header, &payload, out);
            self.scratch = payload;
            got?;
            if !fine {
                return Err(damaged);
            }
        }
        *at = after(*at, &found);
        Ok(Read::Block(header.size))
    }

    /// Writes a block at a place, and moves behind it; returns the bytes that it takes. What was recorded from there on is
    /// gone. `limit`: the bytes of records that the medium takes.
    /// # Errors
    /// It could not be written; the place stays, and what was recorded before it.
    pub fn write(
        &mut self,
        at: &mut Place,
        block: &[u8],
        pack: bool,
        limit: u64,
    ) -> Result<u32, MediaError> {
        let mut packed = std::mem::take(&mut self.scratch);
        let (codec, stored) = match pack.then(|| pack_into(block, &mut packed)).flatten() {
            Some(len) => (LZ4, &packed[..len]),
            None => (PLAIN, block),
        };
        let header = Header {
            kind: BLOCK,
            codec,
            object: at.object,
            filemarks: at.filemarks,
            size: block.len() as u32,
            stored: stored.len() as u32,
            payload: crc32c::crc32c(stored),
            previous: at.previous,
            epoch: 0,
        };
        let written = self.append(at, header, stored, limit);
        self.scratch = packed;
        written.map(|()| header.stored)
    }

    /// Writes a filemark at a place, and moves behind it.
    /// # Errors
    /// As [`Cartridge::write`].
    pub fn write_filemark(&mut self, at: &mut Place, limit: u64) -> Result<(), MediaError> {
        let header = Header {
            kind: FILEMARK,
            codec: PLAIN,
            object: at.object,
            filemarks: at.filemarks,
            size: 0,
            stored: 0,
            payload: 0,
            previous: at.previous,
            epoch: 0,
        };
        self.append(at, header, &[], limit)
    }

    fn append(
        &mut self,
        at: &mut Place,
        header: Header,
        stored: &[u8],
        limit: u64,
    ) -> Result<(), MediaError> {
        if at.used() + (HEADER + stored.len()) as u64 > limit {
            return Err(MediaError::Full);
        }
        if at.object != self.end.object || self.tail {
            self.cut(*at)?;
        } else if let Some(why) = &self.broken {
            return Err(MediaError::Broken(why.clone()));
        }
        let header = Header { epoch: self.state.epoch, ..header };
        let (bytes, crc) = header.encode();
        if let Err(error) = self.data.write_at(at.offset, &[&bytes, stored]) {
            // What was written of it is taken back; a part that stays is no record.
            self.tail = self.data.set_len(at.offset).is_err();
            return Err(error.into());
        }
        self.unsynced = true;
        self.index.note(entry(at, crc));
        *at = after(*at, &Found { header, crc });
        self.end = *at;
        Ok(())
    }

    /// Forgets what is recorded from a place on (ERASE, and every write before the end of data).
    /// # Errors
    /// The storage failed.
    pub fn cut(&mut self, at: Place) -> Result<(), MediaError> {
        if let Some(why) = &self.broken {
            return Err(MediaError::Broken(why.clone()));
        }
        // First it is durable that from here on another epoch's records follow, then the old ones go: whatever is
        // interrupted, neither are old records taken for new ones nor are these missed.
        let state = State {
            sequence: self.state.sequence + 1,
            objects: at.object,
            filemarks: at.filemarks,
            end: at.offset,
            epoch: self.state.epoch + 1,
        };
        self.put_state(state)?;
        self.sync()?;
        self.index.cut_objects(at.object);
        (self.end, self.had, self.tail) = (at, None, true);
        self.data.set_len(at.offset)?;
        self.tail = false;
        Ok(())
    }

    /// Everything written is on the backing store when it returns.
    /// # Errors
    /// It is perhaps not, and never will be; nothing more can be written until the cartridge is loaded again.
    pub fn flush(&mut self) -> Result<(), MediaError> {
        if let Some(why) = &self.broken {
            return Err(MediaError::Broken(why.clone()));
        }
        if !self.unsynced {
            return Ok(());
        }
        self.sync()?;
        self.unsynced = false;
        let end = self.end;
        self.put_state(State {
            sequence: self.state.sequence + 1,
            objects: end.object,
            filemarks: end.filemarks,
            end: end.offset,
            epoch: self.state.epoch,
        })
    }

    fn sync(&mut self) -> Result<(), MediaError> {
        let synced = self.data.sync();
        if let Err(error) = &synced {
            self.broken = Some(error.to_string());
        }
        Ok(synced?)
    }

    fn put_state(&mut self, state: State) -> Result<(), MediaError> {
        let at = STATES[(state.sequence % 2) as usize];
        self.data.write_at(at, &[&state.encode()])?;
        self.state = state;
        Ok(())
    }
}

/// Behind a record.
fn after(at: Place, found: &Found) -> Place {
    Place {
        object: at.object + 1,
        filemarks: at.filemarks + u64::from(found.header.kind == FILEMARK),
        offset: at.offset + (HEADER as u64) + u64::from(found.header.stored),
        previous: found.crc,
    }
}

fn entry(at: &Place, header: u32) -> Entry {
    Entry { object: at.object, offset: at.offset, filemarks: at.filemarks, header }
}

/// Packs a block; `None` where that does not make it smaller.
fn pack_into(block: &[u8], packed: &mut Vec<u8>) -> Option<usize> {
    let room = lz4_flex::block::get_maximum_output_size(block.len());
    if packed.len() < room {
        packed.resize(room, 0);
    }
    let len = lz4_flex::block::compress_into(block, packed).ok()?;
    (len < block.len()).then_some(len)
}

/// Unpacks as much of a block as there is room; whether it is what its header says.
fn unpack(header: &Header, payload: &[u8], out: &mut [u8]) -> bool {
    let size = header.size as usize;
    if size > LARGEST_BLOCK as usize {
        return false;
    }
    if header.codec == PLAIN {
        let len = out.len().min(size);
        out[..len].copy_from_slice(&payload[..len]);
        return true;
    }
    if let Some(out) = out.get_mut(..size) {
        return lz4_flex::block::decompress_into(payload, out).is_ok_and(|len| len == size);
    }
    let mut whole = vec![0; size];
    let fine = lz4_flex::block::decompress_into(payload, &mut whole).is_ok_and(|len| len == size);
    out.copy_from_slice(&whole[..out.len()]);
    fine
}
