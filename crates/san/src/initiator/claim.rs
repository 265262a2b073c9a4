//! A LUN claimed for writing: a persistent reservation "write exclusive, registrants only" (SPC-4, 5.13), with which the control
//! plane's session and each writing session of a worker are registered under keys of their own. No other initiator can write
//! meanwhile, on any path; readers are not affected.
//!
//! A reservation outlives its process. The key names the process, so that a reservation left by a dead process of this machine
//! is distinguished from another initiator's and taken over.

use super::client::{Client, CommandData, CommandError};
use super::lun::{OpenLun, Retry};
use guard::WriteClaim;
use iscsi::initiator::Cdb;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

/// Service actions of PERSISTENT RESERVE OUT.
const REGISTER: u8 = 0x00;
const RESERVE: u8 = 0x01;
const PREEMPT: u8 = 0x04;
const PREEMPT_AND_ABORT: u8 = 0x05;
const REGISTER_AND_IGNORE: u8 = 0x06;

/// Service actions of PERSISTENT RESERVE IN.
const READ_KEYS: u8 = 0x00;
const READ_RESERVATION: u8 = 0x01;

/// Bytes of keys that are read: more than a thousand.
const KEYS: u16 = 8 << 10;

/// Write exclusive, registrants only, of the whole logical unit.
const KIND: u8 = 0x05;

/// Bytes of the parameter list.
const LIST: usize = 24;

/// The first two bytes of every key of Wirespeed.
const MARK: u64 = 0x5753;

/// Bits of a key: the mark, the machine, the process (Linux numbers them with 22 bits at most), and the path of a worker.
const PLACE_BITS: u32 = 14;
const PROCESS_BITS: u32 = 22;
const PATH_BITS: u32 = 12;

/// The key of this process's claim.
fn own_key() -> u64 {
    key_of(std::process::id(), 0)
}

/// A key for a worker's path. After some four thousand of them they begin again: a worker that is expelled in the place of
/// another one, because they share a key, finds its reservation gone, and says so.
pub(super) fn path_key() -> u64 {
    static COUNT: AtomicU16 = AtomicU16::new(0);
    let paths = (1_u16 << PATH_BITS) - 1;
    key_of(std::process::id(), 1 + COUNT.fetch_add(1, Ordering::Relaxed) % paths)
}

fn key_of(process: u32, path: u16) -> u64 {
    let process = u64::from(process) & ((1 << PROCESS_BITS) - 1);
    (MARK << PLACE_BITS | place()) << (PROCESS_BITS + PATH_BITS)
        | process << PATH_BITS
        | u64::from(path)
}

/// Distinguishes the processes that this one can see from all others: the machine's boot, and the PID namespace.
fn place() -> u64 {
    let mut hasher = DefaultHasher::new();
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().hash(&mut hasher);
    fs::read_link("/proc/self/ns/pid").unwrap_or_default().hash(&mut hasher);
    hasher.finish() & ((1 << PLACE_BITS) - 1)
}

/// Whether a key is this process's, or that of a process of this machine that is no more.
pub(super) fn is_ours(key: u64) -> bool {
    process_of(key).is_some_and(|process| process == own_process()) || is_left_behind(key)
}

fn is_left_behind(key: u64) -> bool {
    process_of(key).is_some_and(|process| {
        process != own_process() && !Path::new("/proc").join(process.to_string()).exists()
    })
}

fn own_process() -> u64 {
    u64::from(std::process::id())
}

/// The process of this machine that a key is of.
fn process_of(key: u64) -> Option<u64> {
    let machine = PROCESS_BITS + PATH_BITS;
    (key >> machine == own_key() >> machine).then_some(key >> PATH_BITS & ((1 << PROCESS_BITS) - 1))
}

fn list(key: u64, service_key: u64) -> [u8; LIST] {
    let mut list = [0; LIST];
    list[..8].copy_from_slice(&key.to_be_bytes());
    list[8..16].copy_from_slice(&service_key.to_be_bytes());
    list
}

/// A LUN that is this process's to write.
#[derive(Debug)]
pub(super) struct LunClaim(Arc<OpenLun>);

impl LunClaim {
    /// Reserves the LUN, if its target knows how.
    pub fn take(lun: Arc<OpenLun>) -> io::Result<LunClaim> {
        let claim = LunClaim(lun);
        match claim.out(REGISTER_AND_IGNORE, 0, own_key()) {
            Ok(()) => {}
            Err(e) if e.is_unknown() => return Ok(claim),
            Err(e) => return Err(e.into()),
        }
        // From here on dropping the claim takes the registration back.
        claim.0.set_reserved(true);
        match claim.holder()? {
            Some(key) if is_left_behind(key) => claim.out(PREEMPT, own_key(), key)?,
            _ => claim.out(RESERVE, own_key(), 0)?,
        }
        for key in claim.keys()?.into_iter().filter(|key| is_left_behind(*key)) {
            // A path of the process that is no more. One that is gone by now does no harm.
            let _ = claim.out(PREEMPT, own_key(), key);
        }
        Ok(claim)
    }

    /// The keys of all that are registered.
    fn keys(&self) -> Result<Vec<u64>, CommandError> {
        let cdb = Cdb::persistent_reserve_in(READ_KEYS, KEYS);
        let ask = |client: &mut Client| client.ask(self.0.address(), cdb, KEYS.into());
        let answer = self.0.with(Retry::Freely, ask)?;
        let len = answer.get(4..8).and_then(<[u8]>::first_chunk);
        let len = len.map_or(0, |len| u32::from_be_bytes(*len) as usize);
        let keys = answer.get(8..).unwrap_or(&[]);
        let keys = keys[..len.min(keys.len())].as_chunks().0.iter();
        Ok(keys.map(|key| u64::from_be_bytes(*key)).collect())
    }

    fn out(&self, action: u8, key: u64, service_key: u64) -> Result<(), CommandError> {
        let (cdb, list) = (Cdb::persistent_reserve_out(action, KIND), list(key, service_key));
        let out =
            |client: &mut Client| client.execute(self.0.address(), cdb, CommandData::Out(&list));
        self.0.with(Retry::Never, out).map(drop)
    }

    /// The key of the reservation that there is.
    fn holder(&self) -> Result<Option<u64>, CommandError> {
        let cdb = Cdb::persistent_reserve_in(READ_RESERVATION, 64);
        let answer = self.0.with(Retry::Freely, |client| client.ask(self.0.address(), cdb, 64))?;
        let held = answer.get(8..).and_then(<[u8]>::first_chunk);
        Ok(held.map(|key| u64::from_be_bytes(*key)))
    }
}

impl WriteClaim for LunClaim {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let lba = self.0.whole(offset, data.len())?;
        Ok(self.0.write_blocks(lba, data)?)
    }

    fn describe(&self) -> String {
        match self.0.is_reserved() {
            true => format!(
                "reserved for this process (write exclusive, registrants only; key {:#018x})",
                own_key()
            ),
            false => {
                "not exclusive: its target does not support persistent reservations".to_owned()
            }
        }
    }
}

impl Drop for LunClaim {
    fn drop(&mut self) {
        if self.0.is_reserved() {
            // The holder's registration takes the reservation with it. Where that fails the next run takes it over.
            let _ = self.out(REGISTER, own_key(), 0);
            self.0.set_reserved(false);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_identify_their_process() {
        assert!(is_ours(own_key()) && is_ours(path_key()));
        assert!(!is_left_behind(own_key()) && !is_left_behind(path_key()));
        assert_ne!(path_key(), path_key());
        // The first process of a namespace lives as long as the namespace.
        assert!(!is_ours(key_of(1, 0)));
        // Numbers above the kernel's maximum are never in use.
        assert!(is_left_behind(key_of(0x003f_fffe, 0)) && is_left_behind(key_of(0x003f_fffe, 77)));
        assert!(!is_ours(key_of(0x003f_fffe, 0) ^ 1 << 40), "another machine's");
        assert!(!is_ours(0xdead_beef));
    }
}
