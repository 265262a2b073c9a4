//! Cartridges in a drive: loading, unloading, what they allow, and what the drive notes in their memory.

use super::{Drive, NO_MEDIUM, PREVENTED};
use crate::answer::{Outcome, illegal};
use crate::media::{Attributes, Cartridge, MediaError, Place};
use crate::shelf::{Case, OpenCase};
use iscsi::scsi::{Sense, SenseKey};

/// Bytes that filemarks may take behind the end of the medium, so that the last file can be closed.
const SPARE: u64 = 64 << 10;

/// A cartridge in the drive.
pub(super) struct Tray {
    pub case: Case,
    pub state: TrayState,
}

/// Where a cartridge in the drive stands.
pub(super) enum TrayState {
    Loaded(Box<Medium>),
    /// Unloaded, but not taken out.
    Unloaded,
    /// It cannot be loaded.
    Bad(Sense),
}

/// A loaded cartridge.
pub(super) struct Medium {
    pub cartridge: Cartridge,
    pub place: Place,
    pub attributes: Attributes,
    case: Case,
    /// Why nothing may be written.
    pub protected: Option<Sense>,
    /// Something was written since the last flush.
    pub dirty: bool,
    pub density: u8,
    pub generation: u8,
}

impl Medium {
    /// Bytes of records that blocks may take.
    pub fn capacity(&self) -> u64 {
        self.cartridge.identity().capacity
    }

    /// The same for filemarks.
    pub fn spare_capacity(&self) -> u64 {
        self.capacity() + SPARE
    }

    /// Bytes of records before early warning.
    pub fn early_warning(&self) -> u64 {
        let capacity = self.capacity();
        capacity - (capacity / 50).clamp(capacity.min(64 << 10), 1 << 30)
    }

    /// Whether the place is behind early warning.
    pub fn near_the_end(&self) -> bool {
        self.place.used() > self.early_warning()
    }

    /// Writes the memory of the cartridge. What fails here is not lost data.
    pub fn remember(&self) -> bool {
        self.protected.is_some() || self.case.keep_attributes(&self.attributes).is_ok()
    }
}

impl Tray {
    /// Why the medium cannot be used.
    pub fn state_sense(&self) -> Option<Sense> {
        match &self.state {
            TrayState::Loaded(_) => None,
            TrayState::Unloaded => Some(NO_MEDIUM),
            TrayState::Bad(sense) => Some(*sense),
        }
    }
}

/// The sense data of a failure of the medium while it was read or written.
pub(super) fn sense_of(error: &MediaError, writing: bool) -> Sense {
    let code = match (error, writing) {
        (MediaError::Full, _) => {
            return Sense::new(SenseKey::VolumeOverflow, 0x0002).with_stream(0x40);
        }
        (MediaError::Foreign, _) => 0x3001,
        // END-OF-DATA NOT FOUND: what is there ends before what was acknowledged.
        (MediaError::Missing { .. }, _) => 0x1403,
        (_, true) => 0x0c00,
        (_, false) => 0x1100,
    };
    Sense::new(SenseKey::MediumError, code)
}

impl Drive {
    /// Puts a cartridge in, and loads it. A cartridge that cannot be loaded is in the drive all the same.
    pub(crate) fn insert(&mut self, case: Case) {
        let state = self.load(&case);
        self.tray = Some(Tray { case, state });
    }

    /// Whether there is a cartridge in it, loaded or not.
    pub fn is_full(&self) -> bool {
        self.tray.is_some()
    }

    /// Whether a robot can take a cartridge out, or put one in: no initiator prevents it.
    pub fn may_be_emptied(&self) -> bool {
        self.prevents.is_empty()
    }

    /// Unloads the cartridge, and takes it out.
    /// # Errors
    /// Its removal is prevented, there is none, or what is buffered cannot be written.
    pub fn remove(&mut self) -> Result<(), Sense> {
        if !self.prevents.is_empty() {
            return Err(PREVENTED);
        }
        // What cannot be flushed stays lost in the drive, too: the cartridge comes out, the failure is on record.
        let failed = self.unload().err();
        self.tray.take().ok_or(NO_MEDIUM)?;
        if let Some(sense) = failed {
            self.note_failure(&sense);
        }
        Ok(())
    }

    /// Has everything that was written on its storage.
    /// # Errors
    /// It is perhaps not.
    pub fn flush(&mut self) -> Result<(), Sense> {
        let Ok(medium) = self.medium() else { return Ok(()) };
        if !medium.dirty {
            return Ok(());
        }
        medium.cartridge.flush().map_err(|error| sense_of(&error, true))?;
        medium.dirty = false;
        Ok(())
    }

    /// The loaded medium.
    pub(super) fn medium(&mut self) -> Result<&mut Medium, Sense> {
        match &mut self.tray {
            None => Err(NO_MEDIUM),
            Some(Tray { state: TrayState::Loaded(medium), .. }) => Ok(medium),
            Some(tray) => Err(tray.state_sense().unwrap_or(NO_MEDIUM)),
        }
    }

    /// The loaded medium, if it may be written.
    pub(super) fn writable(&mut self) -> Result<&mut Medium, Sense> {
        let software = self.modes.write_protected();
        let medium = self.medium()?;
        match medium.protected {
            Some(sense) => Err(sense),
            None if software => Err(Sense::new(SenseKey::DataProtect, 0x2702)),
            None => Ok(medium),
        }
    }

    fn load(&mut self, case: &Case) -> TrayState {
        match self.opened(case) {
            Ok(medium) => {
                self.counters.loads += 1;
                if medium.cartridge.missing().is_some() {
                    self.alert(4);
                }
                TrayState::Loaded(Box::new(medium))
            }
            Err(error) => {
                let sense = sense_of(&error, false);
                self.note_failure(&sense);
                TrayState::Bad(sense)
            }
        }
    }

    fn opened(&self, case: &Case) -> Result<Medium, MediaError> {
        let OpenCase { data, index, tab } = case.open()?;
        let cartridge = Cartridge::open(data, index)?;
        let number = cartridge.identity().generation;
        let own = self.settings.generation;
        let generation = crate::Generation::numbered(number).filter(|_| own.reads(number));
        let generation = generation.ok_or(MediaError::Foreign)?;
        let protected = match (tab, own.writes(number)) {
            (true, _) => Some(Sense::new(SenseKey::DataProtect, 0x2700)),
            (false, false) => Some(Sense::new(SenseKey::DataProtect, 0x3005)),
            (false, true) => None,
        };
        let mut attributes = case.attributes();
        attributes.loads += 1;
        attributes.drives.insert(0, self.settings.serial.clone());
        attributes.drives.truncate(4);
        let place = cartridge.first();
        let medium = Medium {
            cartridge,
            place,
            attributes,
            case: case.clone(),
            protected,
            dirty: false,
            density: generation.density,
            generation: number,
        };
        medium.remember();
        Ok(medium)
    }

    fn unload(&mut self) -> Result<(), Sense> {
        let flushed = self.flush();
        self.settle();
        if let Some(tray) = &mut self.tray {
            if let TrayState::Loaded(medium) = &tray.state {
                medium.remember();
            }
            tray.state = TrayState::Unloaded;
        }
        flushed
    }

    pub(super) fn load_unload(&mut self, cdb: &[u8; 16]) -> Outcome {
        let (end, load) = (cdb[4] & 0x04 != 0, cdb[4] & 0x01 != 0);
        if end && load {
            return Err(illegal(0x2400).at_cdb(4, Some(2)).into());
        }
        if !load {
            if !self.prevents.is_empty() {
                return Err(PREVENTED.into());
            }
            if self.tray.is_none() {
                return Err(NO_MEDIUM.into());
            }
            return self.unload().map(|()| 0).map_err(Into::into);
        }
        let Some(tray) = &self.tray else { return Err(NO_MEDIUM.into()) };
        if matches!(tray.state, TrayState::Loaded(_)) {
            // Loaded already: it is rewound.
            return self.rewind();
        }
        let case = tray.case.clone();
        self.insert(case);
        self.medium().map(|_| 0).map_err(Into::into)
    }
}
