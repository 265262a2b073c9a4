//! A LUN taken for writing: a persistent reservation "write exclusive, registrants only" (SPC-4, 5.13), at which the control
//! plane's session and each writing session of a worker are registered with one key. Nobody else can write while it stands,
//! not even through another path; readers are let be.
//!
//! A reservation outlives the process that made it. Its key says which process that was, so that one that was left behind
//! by a process of this machine that is no more can be told from another's, and is taken over.

use super::client::{CHECK_CONDITION, CommandError, Data, GOOD};
use super::link::{Link, Lost};
use super::lun::Lun;
use clock::Ns;
use disk::{Arena, Claim};
use iscsi::initiator::{Cdb, Command, Ending, Event, SenseData, Transfer};
use iscsi::pdu::{self, TaskAttribute};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Service actions of PERSISTENT RESERVE OUT.
const REGISTER: u8 = 0x00;
const RESERVE: u8 = 0x01;
const PREEMPT: u8 = 0x04;
const REGISTER_AND_IGNORE: u8 = 0x06;

/// Service action of PERSISTENT RESERVE IN.
const READ_RESERVATION: u8 = 0x01;

/// Write exclusive, registrants only, of the whole logical unit.
const KIND: u8 = 0x05;

/// Bytes of the parameter list.
const LIST: usize = 24;

/// The first two bytes of every key of Wirespeed.
const MARK: u64 = 0x5753;

/// How long a registration of a worker's session may take.
const LIMIT: Ns = Ns::secs(10);

/// How often it is sent again because of a unit attention.
const ATTENTIONS: u32 = 16;

/// The key of this process: mark, machine, process.
fn own_key() -> u64 {
    key_of(std::process::id())
}

fn key_of(process: u32) -> u64 {
    MARK << 48 | place() << 24 | u64::from(process & 0x00ff_ffff)
}

/// What tells the processes that this one can see from all others: the machine since it was started, and the namespace in
/// which its processes are numbered.
fn place() -> u64 {
    let mut hasher = DefaultHasher::new();
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().hash(&mut hasher);
    fs::read_link("/proc/self/ns/pid").unwrap_or_default().hash(&mut hasher);
    hasher.finish() & 0x00ff_ffff
}

/// Whether a key is this process's, or that of a process of this machine that is no more.
pub(super) fn is_ours(key: u64) -> bool {
    key == own_key() || is_left_behind(key)
}

fn is_left_behind(key: u64) -> bool {
    let process = key & 0x00ff_ffff;
    key >> 24 == own_key() >> 24
        && key != own_key()
        && !Path::new("/proc").join(process.to_string()).exists()
}

fn list(key: u64, service_key: u64) -> [u8; LIST] {
    let mut list = [0; LIST];
    list[..8].copy_from_slice(&key.to_be_bytes());
    list[8..16].copy_from_slice(&service_key.to_be_bytes());
    list
}

/// A LUN that is this process's to write.
#[derive(Debug)]
pub(super) struct LunClaim(Arc<Lun>);

impl LunClaim {
    /// Reserves the LUN, if its target knows how.
    pub fn take(lun: Arc<Lun>) -> io::Result<LunClaim> {
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
        Ok(claim)
    }

    fn out(&self, action: u8, key: u64, service_key: u64) -> Result<(), CommandError> {
        let (cdb, list) = (Cdb::persistent_reserve_out(action, KIND), list(key, service_key));
        self.0.with(|client| client.execute(self.0.address(), cdb, Data::Out(&list))).map(drop)
    }

    /// The key of the reservation that there is.
    fn holder(&self) -> Result<Option<u64>, CommandError> {
        let cdb = Cdb::persistent_reserve_in(READ_RESERVATION, 64);
        let answer = self.0.with(|client| client.ask(self.0.address(), cdb, 64))?;
        let held = answer.get(8..).and_then(<[u8]>::first_chunk);
        Ok(held.map(|key| u64::from_be_bytes(*key)))
    }
}

impl Claim for LunClaim {
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
            false => "not exclusive: its target knows no persistent reservations".to_owned(),
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

/// Registers the nexus of a worker's session, or takes the registration back. `false` where the target refuses.
pub(super) fn register(
    link: &mut Link,
    arena: &Arena,
    lun: pdu::Lun,
    on: bool,
) -> Result<bool, Lost> {
    let (action, bytes) = match on {
        true => (REGISTER_AND_IGNORE, list(0, own_key())),
        false => (REGISTER, list(own_key(), 0)),
    };
    let Some(base) = arena.slot(0).filter(|_| arena.slot_bytes() >= LIST) else { return Ok(false) };
    let command = Command {
        lun,
        cdb: Cdb::persistent_reserve_out(action, KIND),
        transfer: Transfer::Out(LIST as u32),
        attribute: TaskAttribute::Simple,
    };
    let deadline = clock::now().plus(LIMIT);
    for _ in 0..ATTENTIONS {
        // SAFETY: the slot is mapped and long enough; no I/O is under way, neither before the start nor after the end.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), base, LIST) };
        if link.session().command(0, &command).is_err() {
            return Ok(false);
        }
        match wait(link, arena, deadline)? {
            Ending::Status { status: GOOD, .. } => return Ok(true),
            Ending::Status { status: CHECK_CONDITION, sense: Some(sense), .. }
                if sense.key == SenseData::UNIT_ATTENTION => {}
            _ => return Ok(false),
        }
    }
    Ok(false)
}

/// Waits for the command of slot 0.
fn wait(link: &mut Link, arena: &Arena, deadline: Ns) -> Result<Ending, Lost> {
    let mut ended = None;
    while clock::now() < deadline {
        let mut hear = |event: Event| match event {
            Event::Done { slot: 0, ending } => {
                ended = Some(ending);
                None
            }
            other => super::ended(&other),
        };
        super::client::pump(link, arena, deadline, &mut hear)?;
        if let Some(ending) = ended {
            return Ok(ending);
        }
    }
    Err(Lost::Silent(LIMIT.0 / 1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_whose_it_is() {
        assert!(is_ours(own_key()));
        assert!(!is_left_behind(own_key()));
        // The first process of a namespace lives as long as the namespace.
        assert!(!is_ours(key_of(1)));
        // Numbers above the kernel's highest belong to nobody.
        assert!(is_ours(key_of(0x00ff_fffe)));
        assert!(!is_ours(key_of(0x00ff_fffe) ^ 1 << 40), "another machine's");
        assert!(!is_ours(0xdead_beef));
    }
}
