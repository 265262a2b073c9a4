//! A LUN claimed for writing: a persistent reservation "write exclusive, registrants only" (SPC-4, 5.13), with which the control
//! plane's session and each writing session of a worker are registered under keys of their own. No other initiator can write
//! meanwhile, on any path; readers are not affected.
//!
//! A registered initiator can write, so that no key of others may be there. The claim also proves that all portals lead to
//! one unit: the key that was registered by one of them is read by each other one. What a dead process left is taken over
//! (`keys.rs`). A target that has restarted has forgotten the claim: the unit is examined again, and taken again if it
//! carries nothing, since it may be another one.

use super::claim_rules::{self, ClaimPort, KeyOwner};
use super::client::{Client, CommandData, CommandError};
use super::keys::{self, LifeSign, own_key};
use super::lun::{OpenLun, Retry, fresh_isid};
use super::portals::PortalState;
use guard::{ReadableMedium as _, WriteClaim, examine_remote};
use iscsi::initiator::Cdb;
use iscsi::pdu::Lun;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Service actions of PERSISTENT RESERVE OUT.
pub(super) const REGISTER: u8 = 0x00;
pub(super) const RESERVE: u8 = 0x01;
pub(super) const PREEMPT: u8 = 0x04;
const PREEMPT_AND_ABORT: u8 = 0x05;
pub(super) const REGISTER_AND_IGNORE: u8 = 0x06;

/// Service actions of PERSISTENT RESERVE IN.
const READ_KEYS: u8 = 0x00;
const READ_RESERVATION: u8 = 0x01;

/// Bytes of keys that are read: more than a thousand.
const KEYS: u16 = 8 << 10;

/// Write exclusive, registrants only, of the whole logical unit.
const KIND: u8 = 0x05;

/// Bytes of the parameter list.
const LIST: usize = 24;

/// Blocks of 4 KiB by which the content of two paths is compared, where there are no reservations.
const COMPARED: u64 = 256;
const COMPARED_BYTES: u64 = 4096;

fn list(key: u64, service_key: u64) -> [u8; LIST] {
    let mut list = [0; LIST];
    list[..8].copy_from_slice(&key.to_be_bytes());
    list[8..16].copy_from_slice(&service_key.to_be_bytes());
    list
}

/// What a LUN knows of its claim.
#[derive(Debug, Default)]
pub(super) struct ClaimState {
    /// A reservation of this process keeps others away.
    pub(super) reserved: AtomicBool,
    /// It is written without one, since its target has none.
    pub(super) unreserved: AtomicBool,
    /// The control plane's session over which it was taken, by its number.
    pub(super) taken_over: AtomicU64,
    /// Held while it is taken again.
    pub(super) retaking: Mutex<()>,
}

impl ClaimState {
    pub fn is_reserved(&self) -> bool {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Whether what was reserved is registered still, as a session sees it.
    pub fn stands(&self, client: &mut Client, lun: Lun) -> Result<bool, CommandError> {
        Ok(!self.is_reserved() || has_key(client, lun)?)
    }
}

/// A LUN that is this process's to write.
#[derive(Debug)]
pub(super) struct LunClaim {
    lun: Arc<OpenLun>,
    life: LifeSign,
}

impl LunClaim {
    /// Reserves the LUN, if its target knows how, and proves that all paths lead to it.
    pub fn take(lun: Arc<OpenLun>) -> io::Result<LunClaim> {
        let mut claim = LunClaim { lun, life: LifeSign::show() };
        let taken = claim_rules::take(&*claim.lun);
        if claim.lun.claim.unreserved.load(Ordering::Relaxed) {
            claim.life.released();
        }
        taken.map(|()| claim)
    }
}

impl ClaimPort for OpenLun {
    fn state(&self) -> &ClaimState {
        &self.claim
    }

    fn own_key(&self) -> u64 {
        own_key()
    }

    fn owner(&self, key: u64) -> KeyOwner {
        match () {
            () if keys::is_own(key) => KeyOwner::Own,
            () if keys::is_left_behind(key) => KeyOwner::Dead,
            () => KeyOwner::Other,
        }
    }

    fn forget(&self, key: u64) {
        keys::forget(key);
    }

    fn keys(&self) -> Result<Vec<u64>, CommandError> {
        self.with(Retry::Freely, |client| keys(client, self.address()))
    }

    fn out(&self, action: u8, key: u64, service_key: u64) -> Result<(), CommandError> {
        let (cdb, list) = (Cdb::persistent_reserve_out(action, KIND), list(key, service_key));
        let out =
            |client: &mut Client| client.execute(self.address(), cdb, CommandData::Out(&list));
        self.with(Retry::Never, out).map(drop)
    }

    fn holder(&self) -> Result<Option<u64>, CommandError> {
        let cdb = Cdb::persistent_reserve_in(READ_RESERVATION, 64);
        let answer = self.with(Retry::Freely, |client| client.ask(self.address(), cdb, 64))?;
        let held = answer.get(8..).and_then(<[u8]>::first_chunk);
        Ok(held.map(|key| u64::from_be_bytes(*key)))
    }

    fn generation(&self) -> u64 {
        OpenLun::generation(self)
    }

    fn examined_again(&self) -> Result<(), String> {
        let found = examine_remote(self)?;
        let all = [found.uses, found.carries].concat();
        match all.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "its target has forgotten the reservation, and the unit there may be another one: it carries {}",
                all.join("; ")
            )),
        }
    }

    fn one_unit(&self) -> io::Result<()> {
        one_unit(self)
    }

    fn equal_content(&self) -> io::Result<()> {
        equal_content(self)
    }
}

impl OpenLun {
    /// Whether a path's unit is the one that is claimed, or can be claimed again. The text says why it must not be written
    /// by.
    pub(super) fn claimed_by(&self, client: &mut Client) -> Result<(), String> {
        claim_rules::claimed_by(self, || has_key(client, self.address()))
    }
}

/// The keys that are registered at a unit.
pub(super) fn keys(client: &mut Client, lun: Lun) -> Result<Vec<u64>, CommandError> {
    let answer = client.ask(lun, Cdb::persistent_reserve_in(READ_KEYS, KEYS), KEYS.into())?;
    let len = answer.get(4..8).and_then(<[u8]>::first_chunk);
    let len = len.map_or(0, |len| u32::from_be_bytes(*len) as usize);
    let keys = answer.get(8..).unwrap_or(&[]);
    let keys = keys[..len.min(keys.len())].as_chunks().0.iter();
    Ok(keys.map(|key| u64::from_be_bytes(*key)).collect())
}

fn has_key(client: &mut Client, lun: Lun) -> Result<bool, CommandError> {
    Ok(keys(client, lun)?.contains(&own_key()))
}

/// A session by each portal that was reached, other than the first of them.
fn others<T>(
    lun: &OpenLun,
    mut ask: impl FnMut(&mut Client) -> Result<T, CommandError>,
    mut told: impl FnMut(&str, T) -> io::Result<()>,
) -> io::Result<()> {
    let open = lun.portal_states().iter().enumerate();
    let open = open.filter(|(_, state)| matches!(state, PortalState::Open { .. }));
    if lun.url().portals.len() < 2 {
        return Ok(());
    }
    for (portal, _) in open {
        let name = lun.url().portals[portal].to_string();
        let (link, _) = lun
            .control(portal, fresh_isid())
            .enter()
            .map_err(|e| io::Error::other(format!("{name}: {e}")))?;
        let answer =
            ask(&mut Client::of(link)).map_err(|e| io::Error::other(format!("{name}: {e}")))?;
        told(&name, answer)?;
    }
    Ok(())
}

/// Proves that every portal leads to the claimed unit: the registration is seen by each.
fn one_unit(lun: &OpenLun) -> io::Result<()> {
    others(
        lun,
        |client| has_key(client, lun.address()),
        |portal, there| match there {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "the portal {portal} leads to another unit of the same identifiers: it does not know the registration that \
             was made by another portal; name portals that lead to the same LUN"
            ))),
        },
    )
}

/// Blocks from all over the unit, as one portal reads them.
fn sampled(lun: &OpenLun, client: &mut Client) -> Result<Vec<u8>, CommandError> {
    let block = u64::from(lun.facts().block).max(COMPARED_BYTES);
    let blocks = lun.facts().size() / block;
    let parts = COMPARED.min(blocks).max(1);
    let mut all = Vec::new();
    for part in 0..parts {
        let at = (u128::from(blocks.saturating_sub(1)) * u128::from(part)
            / u128::from((parts - 1).max(1))) as u64
            * block;
        let mut data = vec![0; block.min(lun.size()) as usize];
        let logical = u64::from(lun.facts().block);
        let cdb = Cdb::read(at / logical, (data.len() as u64 / logical) as u32);
        client.execute(lun.address(), cdb, CommandData::In(&mut data))?;
        all.extend(data);
    }
    Ok(all)
}

/// Proves the same by reading, where there are no reservations. Blank units prove nothing.
fn equal_content(lun: &OpenLun) -> io::Result<()> {
    let mut first: Option<Vec<u8>> = None;
    others(
        lun,
        |client| sampled(lun, client),
        |portal, data| {
            let blank = data.iter().all(|byte| *byte == data[0]);
            let equal = first.get_or_insert_with(|| data.clone()) == &data;
            match equal && !blank {
                true => Ok(()),
                false => Err(io::Error::other(format!(
                    "its target has no persistent reservations, and the content read by {portal} does not prove that all \
                 portals lead to one unit; name one portal"
                ))),
            }
        },
    )
}

/// Whether portals lead to units of different content, which needs no claim to be seen; the text says which. Nothing where they
/// do not, where it cannot be read, and while this process itself may be writing.
pub(super) fn different_content(lun: &OpenLun) -> Option<String> {
    let ours = [&lun.claim.reserved, &lun.claim.unreserved];
    if ours.iter().any(|flag| flag.load(Ordering::Relaxed)) {
        return None;
    }
    let (mut first, mut different): (Option<(String, Vec<u8>)>, Option<String>) = (None, None);
    let looked = others(
        lun,
        |client| sampled(lun, client),
        |portal, data| {
            let (name, known) = first.get_or_insert_with(|| (portal.to_owned(), data.clone()));
            if different.is_none() && *known != data {
                different = Some(format!(
                    "its portals lead to different units: {portal} reads other content than {name}; name portals that lead to the \
                 same LUN"
                ));
            }
            Ok(())
        },
    );
    different.filter(|_| looked.is_ok())
}

impl WriteClaim for LunClaim {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let lba = self.lun.whole(offset, data.len())?;
        Ok(self.lun.write_blocks(lba, data)?)
    }

    fn describe(&self) -> String {
        match self.lun.claim.is_reserved() {
            true => format!(
                "reserved for this process (write exclusive, registrants only; key {:#018x})",
                own_key()
            ),
            false => {
                "not exclusive: its target does not support persistent reservations".to_owned()
            }
        }
    }

    fn still_held(&self) -> Result<(), String> {
        claim_rules::still_held(&*self.lun)
    }
}

impl Drop for LunClaim {
    fn drop(&mut self) {
        if !self.lun.claim.is_reserved() {
            return;
        }
        match claim_rules::give_back(&*self.lun) {
            Ok(()) => self.life.released(),
            // The next run on this machine takes it over.
            Err(e) => eprintln!(
                "wirespeed: warning: the reservation of {} could not be released ({e}); `wirespeed target release {}` does",
                self.lun.name(),
                self.lun.location()
            ),
        }
    }
}

/// What was released at a LUN, and what was left alone.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Released {
    /// Keys of runs of Wirespeed that are no more, or are not known here.
    pub released: Vec<u64>,
    /// Keys of runs of Wirespeed on this machine that are alive.
    pub alive: Vec<u64>,
    /// Keys of others.
    pub foreign: Vec<u64>,
}

/// Releases what a killed run of Wirespeed left at a LUN: its registrations, and the reservation with them. A run that is
/// alive on this machine and other programs' keys are left alone.
pub(super) fn release(lun: &OpenLun) -> io::Result<Released> {
    let (mut all, mut found) = (lun.keys()?, Released::default());
    all.sort_unstable();
    all.dedup();
    for key in all {
        match (keys::is_of_wirespeed(key), keys::is_alive(key)) {
            (false, _) => found.foreign.push(key),
            (true, true) => found.alive.push(key),
            (true, false) => found.released.push(key),
        }
    }
    if found.released.is_empty() {
        return Ok(found);
    }
    lun.out(REGISTER_AND_IGNORE, 0, own_key())?;
    let freed = found.released.iter().try_for_each(|key| {
        lun.out(PREEMPT, own_key(), *key)?;
        keys::forget(*key);
        Ok(())
    });
    let left = lun.out(REGISTER, own_key(), 0);
    freed.and(left).map_err(|e: CommandError| io::Error::from(e))?;
    Ok(found)
}

/// The command that registers a path's writer with a key, or takes the registration back (`key` is the present one, and 0
/// the new one), with its parameter list.
pub(super) fn registration(key: u64, new: u64) -> (Cdb, [u8; LIST]) {
    let action = if key == 0 { REGISTER_AND_IGNORE } else { REGISTER };
    (Cdb::persistent_reserve_out(action, KIND), list(key, new))
}

/// PREEMPT AND ABORT: the writer with `key` expels the one with `victim`.
pub(super) fn expulsion(key: u64, victim: u64) -> (Cdb, [u8; LIST]) {
    (Cdb::persistent_reserve_out(PREEMPT_AND_ABORT, KIND), list(key, victim))
}
