//! Persistent reservations (SCSI Primary Commands, SPC-4): whether a device is reserved by hosts of a cluster.
//!
//! Two answers of PERSISTENT RESERVE IN are read: READ RESERVATION and READ KEYS. Nothing is ever registered, reserved or
//! cleared here, so any reservation is another host's, unless the medium knows its key. A registered key alone reserves
//! nothing, but an initiator that has registered one may reserve, and may write under a reservation for registrants.
//! Parsing is pure; `scsi.rs` asks a device of the kernel, and other initiators may ask in their own way.

mod scsi;

use std::fmt;
use std::io;

pub(crate) use scsi::Scsi;

/// What PERSISTENT RESERVE IN is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReserveInAction {
    ReadKeys,
    ReadReservation,
}

/// No reservation has this type.
const NO_KIND: u8 = u8::MAX;

/// Bytes that an answer may have: more keys than that are counted, not read.
const ALLOCATION: u16 = 4096;

/// A device that can be asked.
pub(crate) trait ReservationQuerier {
    /// Whether a reservation with this key is not another's.
    fn is_ours(&self, _key: u64) -> bool {
        false
    }

    /// The answer's bytes; `None` from a device that knows no persistent reservations.
    fn persistent_reserve_in(&self, action: ReserveInAction) -> io::Result<Option<Vec<u8>>>;
}

/// A reservation that is in force, or a registration that may become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    /// `None`: a key is registered, and nothing reserved.
    kind: Option<u8>,
    /// Zero where all registrants hold it.
    key: u64,
    /// Registered keys, one a path of a host.
    registered: usize,
}

/// The reservation of another on a device, or else another's registration; `None` without one or without support. A
/// senseless answer is an error.
pub(crate) fn foreign(device: &dyn ReservationQuerier) -> io::Result<Option<Reservation>> {
    let Some(answer) = device.persistent_reserve_in(ReserveInAction::ReadReservation)? else {
        return Ok(None);
    };
    let held = reservation(&answer)?.filter(|(_, key)| !device.is_ours(*key));
    let keys = device.persistent_reserve_in(ReserveInAction::ReadKeys)?;
    let (registered, foreign) = match keys {
        Some(answer) => (keys_in(&answer)?, foreign_key(&answer, device)),
        None => (0, None),
    };
    let holder = held.map(|(kind, key)| (Some(kind), key));
    let found = holder.or_else(|| foreign.map(|key| (None, key)));
    Ok(found.map(|(kind, key)| Reservation { kind, key, registered }))
}

/// The first key of others in an answer to READ KEYS.
fn foreign_key(answer: &[u8], device: &dyn ReservationQuerier) -> Option<u64> {
    let keys = answer.get(8..)?.as_chunks().0.iter().map(|key| u64::from_be_bytes(*key));
    let told = keys_in(answer).unwrap_or_default();
    keys.take(told).find(|key| !device.is_ours(*key))
}

impl ReserveInAction {
    /// The command that asks.
    pub fn command(self) -> [u8; 10] {
        let action = match self {
            ReserveInAction::ReadKeys => 0,
            ReserveInAction::ReadReservation => 1,
        };
        let [high, low] = ALLOCATION.to_be_bytes();
        [0x5e, action, 0, 0, 0, 0, 0, high, low, 0]
    }
}

/// Type and key in an answer to READ RESERVATION.
fn reservation(answer: &[u8]) -> io::Result<Option<(u8, u64)>> {
    if additional(answer)? == 0 {
        return Ok(None);
    }
    let key = word(answer, 8)?;
    let kind = answer.get(21).ok_or_else(|| cut(answer))? & 0xf;
    Ok(Some((kind, key)))
}

/// How many keys an answer to READ KEYS tells of, even where it has no room for them.
fn keys_in(answer: &[u8]) -> io::Result<usize> {
    Ok(additional(answer)? as usize / 8)
}

/// Bytes that follow the eight that every answer begins with.
fn additional(answer: &[u8]) -> io::Result<u32> {
    // The generation of the registrations comes first; it is of no use here.
    Ok(word(answer, 0)? as u32)
}

fn word(answer: &[u8], at: usize) -> io::Result<u64> {
    let bytes = answer.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map(|bytes| u64::from_be_bytes(*bytes)).ok_or_else(|| cut(answer))
}

fn cut(answer: &[u8]) -> io::Error {
    let told = format!("an answer to PERSISTENT RESERVE IN ends after {} bytes", answer.len());
    io::Error::new(io::ErrorKind::InvalidData, told)
}

impl fmt::Display for Reservation {
    /// "write exclusive, registrants only; key 0x00000000deadbeef; 2 keys registered".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind.unwrap_or(NO_KIND) {
            NO_KIND => f.write_str("registered, nothing reserved yet")?,
            0 => f.write_str("read shared")?,
            1 => f.write_str("write exclusive")?,
            2 => f.write_str("read exclusive")?,
            3 => f.write_str("exclusive access")?,
            4 => f.write_str("shared access")?,
            5 => f.write_str("write exclusive, registrants only")?,
            6 => f.write_str("exclusive access, registrants only")?,
            7 => f.write_str("write exclusive, all registrants")?,
            8 => f.write_str("exclusive access, all registrants")?,
            kind => write!(f, "of the unknown type {kind:#x}")?,
        }
        let s = if self.registered == 1 { "" } else { "s" };
        write!(f, "; key {:#018x}; {} key{s} registered", self.key, self.registered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Answers in place of a device.
    struct Scripted {
        keys: io::Result<Option<Vec<u8>>>,
        reservation: io::Result<Option<Vec<u8>>>,
    }

    impl ReservationQuerier for Scripted {
        fn persistent_reserve_in(&self, action: ReserveInAction) -> io::Result<Option<Vec<u8>>> {
            let says = match action {
                ReserveInAction::ReadKeys => &self.keys,
                ReserveInAction::ReadReservation => &self.reservation,
            };
            match says {
                Ok(answer) => Ok(answer.clone()),
                Err(e) => Err(e.kind().into()),
            }
        }
    }

    /// Generation 7, and these keys.
    fn keys(keys: &[u64]) -> Vec<u8> {
        let mut answer = vec![0, 0, 0, 7];
        answer.extend((8 * keys.len() as u32).to_be_bytes());
        answer.extend(keys.iter().flat_map(|key| key.to_be_bytes()));
        answer
    }

    /// Generation 7, and a reservation of this type.
    fn held(kind: u8, key: u64) -> Vec<u8> {
        let mut answer = vec![0, 0, 0, 7, 0, 0, 0, 16];
        answer.extend(key.to_be_bytes());
        answer.extend([0, 0, 0, 0, 0, kind, 0, 0]);
        answer
    }

    #[track_caller]
    fn check(registered: &[u64], reservation: Option<Vec<u8>>, wanted: Option<&str>) {
        let says = Scripted { keys: Ok(Some(keys(registered))), reservation: Ok(reservation) };
        let found = foreign(&says).expect("the answers make sense").map(|found| found.to_string());
        assert_eq!(found.as_deref(), wanted);
    }

    #[test]
    fn a_reservation_is_described_by_type_and_key() {
        for (kind, name) in [
            (0, "read shared"),
            (1, "write exclusive"),
            (2, "read exclusive"),
            (3, "exclusive access"),
            (4, "shared access"),
            (5, "write exclusive, registrants only"),
            (6, "exclusive access, registrants only"),
            (7, "write exclusive, all registrants"),
            (8, "exclusive access, all registrants"),
            (11, "of the unknown type 0xb"),
        ] {
            let wanted = format!("{name}; key 0x00000000deadbeef; 2 keys registered");
            check(&[1, 2], Some(held(kind, 0xdead_beef)), Some(&wanted));
            // The scope, in the upper half of the byte, is of no matter.
            check(&[1, 2], Some(held(kind | 0x20, 0xdead_beef)), Some(&wanted));
        }
        let all = "write exclusive, all registrants; key 0x0000000000000000; 1 key registered";
        check(&[9], Some(held(7, 0)), Some(all));
    }

    #[test]
    fn without_a_reservation_there_is_none() {
        check(&[], None, None);
        check(&[], Some(keys(&[])), None);
        let registered =
            "registered, nothing reserved yet; key 0x0000000000000001; 3 keys registered";
        check(&[1, 2, 3], Some(keys(&[])), Some(registered));
    }

    #[test]
    fn keys_beyond_the_answer_are_counted() {
        let mut cut = keys(&[5; 2000]);
        cut.truncate(ALLOCATION.into());
        let says = Scripted { keys: Ok(Some(cut)), reservation: Ok(Some(held(1, 5))) };
        let found = foreign(&says).expect("the answers make sense").expect("it is reserved");
        assert_eq!(found, Reservation { kind: Some(1), key: 5, registered: 2000 });
    }

    #[test]
    fn an_answer_that_is_cut_is_an_error() {
        for len in (0..8).chain(8..22) {
            let reservation = Ok(Some(held(1, 5)[..len].to_vec()));
            let told = foreign(&Scripted { keys: Ok(None), reservation })
                .expect_err("it is cut")
                .to_string();
            assert_eq!(told, format!("an answer to PERSISTENT RESERVE IN ends after {len} bytes"));
        }
        let says = Scripted { keys: Ok(Some(vec![0; 7])), reservation: Ok(Some(held(1, 5))) };
        assert_eq!(foreign(&says).expect_err("it is cut").kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_failed_query_is_an_error() {
        let fails = || Err(io::ErrorKind::PermissionDenied.into());
        for says in [
            Scripted { keys: Ok(None), reservation: fails() },
            Scripted { keys: fails(), reservation: Ok(Some(held(3, 1))) },
        ] {
            let told = foreign(&says).expect_err("it cannot be asked");
            assert_eq!(told.kind(), io::ErrorKind::PermissionDenied);
        }
    }

    #[test]
    fn the_commands_are_those_of_the_standard() {
        assert_eq!(ReserveInAction::ReadKeys.command(), [0x5e, 0, 0, 0, 0, 0, 0, 0x10, 0, 0]);
        assert_eq!(
            ReserveInAction::ReadReservation.command(),
            [0x5e, 1, 0, 0, 0, 0, 0, 0x10, 0, 0]
        );
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(
            keys in prop::collection::vec(any::<u8>(), 0..64),
            reservation in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let says = Scripted { keys: Ok(Some(keys)), reservation: Ok(Some(reservation)) };
            let _ = foreign(&says).map(|found| found.map(|found| found.to_string()));
        }
    }
}
