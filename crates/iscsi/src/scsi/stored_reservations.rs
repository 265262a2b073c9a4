//! The stored form of registrations and the reservation, to survive a restart (APTPL; SPC-4, 5.13.5).
//!
//! ```text
//! "WSPR" version:u8=1 registrations:u16 { port:u16 flags:u8 key:u64 name_length:u16 name }… held:u8 [ index:u16 kind:u8 ]
//! ```
//! Numbers are big-endian. The PR generation restarts, as after any power on.

use std::str;

use super::Nexus;
use super::reservation::{
    HeldReservation, MOST_REGISTRATIONS, Registration, ReservationType, Reservations,
};

const MAGIC: &[u8; 5] = b"WSPR\x01";

/// Why stored reservations are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredReservationsError {
    /// The file of another program, or of another version.
    #[error(
        "not a reservation file of this version of Wirespeed; remove it to start without reservations"
    )]
    Foreign,
    /// The bytes end early, have a remainder, or hold invalid values.
    #[error(
        "the stored reservations are damaged at byte {0}; remove the file to start without them"
    )]
    Damaged(usize),
}

impl Reservations {
    /// The bytes to store: empty unless the last registration requested APTPL.
    pub fn to_bytes(&self) -> Vec<u8> {
        if !self.kept || self.registrations.is_empty() {
            return Vec::new();
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend((self.registrations.len() as u16).to_be_bytes());
        for one in &self.registrations {
            bytes.extend(one.nexus.port.to_be_bytes());
            bytes.push(u8::from(one.all_ports));
            bytes.extend(one.key.to_be_bytes());
            let name = one.nexus.initiator.as_bytes();
            let name = &name[..name.len().min(usize::from(u16::MAX))];
            bytes.extend((name.len() as u16).to_be_bytes());
            bytes.extend(name);
        }
        let holder = |held: &HeldReservation| {
            self.registrations.iter().position(|one| one.nexus == held.by || held.kind.shared())
        };
        match self.held.as_ref().and_then(|held| Some((holder(held)?, held.kind))) {
            Some((index, kind)) => {
                bytes.push(1);
                bytes.extend((index as u16).to_be_bytes());
                bytes.push(kind as u8);
            }
            None => bytes.push(0),
        }
        bytes
    }

    /// Decodes stored bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Reservations, StoredReservationsError> {
        if bytes.is_empty() {
            return Ok(Reservations::default());
        }
        let mut reader = ReservationReader { bytes, at: 0 };
        if reader.take(MAGIC.len()) != Ok(MAGIC) {
            return Err(StoredReservationsError::Foreign);
        }
        let count = usize::from(reader.figure::<2>()? as u16);
        if count == 0 || count > MOST_REGISTRATIONS {
            return Err(reader.damaged());
        }
        let mut kept = Reservations { kept: true, ..Reservations::default() };
        for _ in 0..count {
            let one = reader.registration()?;
            if one.key == 0 || kept.key_of(&one.nexus).is_some() {
                return Err(reader.damaged());
            }
            kept.registrations.push(one);
        }
        kept.held = reader.held(&kept.registrations)?;
        if reader.at == bytes.len() { Ok(kept) } else { Err(reader.damaged()) }
    }
}

struct ReservationReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ReservationReader<'a> {
    fn damaged(&self) -> StoredReservationsError {
        StoredReservationsError::Damaged(self.at)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], StoredReservationsError> {
        let bytes = self.bytes.get(self.at..self.at.saturating_add(len)).ok_or(self.damaged())?;
        self.at += len;
        Ok(bytes)
    }

    fn figure<const N: usize>(&mut self) -> Result<u64, StoredReservationsError> {
        Ok(self.take(N)?.iter().fold(0, |figure, byte| figure << 8 | u64::from(*byte)))
    }

    fn registration(&mut self) -> Result<Registration, StoredReservationsError> {
        let port = self.figure::<2>()? as u16;
        let all_ports = self.figure::<1>()? != 0;
        let key = self.figure::<8>()?;
        let len = self.figure::<2>()? as usize;
        let name = str::from_utf8(self.take(len)?).map_err(|_| self.damaged())?;
        Ok(Registration { nexus: Nexus { initiator: name.into(), port }, key, all_ports })
    }

    fn held(
        &mut self,
        registrations: &[Registration],
    ) -> Result<Option<HeldReservation>, StoredReservationsError> {
        match self.figure::<1>()? {
            0 => Ok(None),
            1 => {
                let index = self.figure::<2>()? as usize;
                let by = registrations.get(index).ok_or(self.damaged())?.nexus.clone();
                let kind =
                    ReservationType::parse(self.figure::<1>()? as u8).ok_or(self.damaged())?;
                Ok(Some(HeldReservation { by, kind }))
            }
            _ => Err(self.damaged()),
        }
    }
}
