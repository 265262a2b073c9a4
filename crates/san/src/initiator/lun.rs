//! A LUN as a target of the disk engine: found, examined by the write guard, read on the control plane, and taken for
//! writing by a persistent reservation.

use super::claim::{self, LunClaim};
use super::client::{Client, CommandError, Data};
use super::dial::Call;
use super::inquiry::LunFacts;
use super::link::Lost;
use super::url::Url;
use clock::Ns;
use disk::{Claim, Medium, Remote, Unreachable, Warrant};
use iscsi::initiator::Cdb;
use iscsi::pdu::{self, Isid};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of one command on the control plane.
const CHUNK: usize = 256 << 10;

/// A LUN that was found.
pub struct Lun {
    url: Url,
    target: String,
    number: u16,
    initiator: String,
    silence: Ns,
    facts: LunFacts,
    /// What names the control plane's session: the same after a reconnection, since a reservation belongs to it.
    isid: Isid,
    client: Mutex<Option<Client>>,
    /// A reservation of this process keeps others away.
    reserved: AtomicBool,
}

impl fmt::Debug for Lun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lun({}/{}/{})", self.url.portal(), self.target, self.number)
    }
}

impl Lun {
    /// Logs in and asks the LUN what it is.
    pub(super) fn find(url: &str, initiator: &str, silence: Ns) -> Result<Lun, Unreachable> {
        let url = Url::lun(url).map_err(|e| Unreachable::Url(e.to_string()))?;
        let (Some(target), Some(number)) = (url.target.clone(), url.lun) else {
            return Err(Unreachable::Url("the target's name or the LUN is missing".to_owned()));
        };
        let mut lun = Lun {
            url,
            target,
            number,
            initiator: initiator.to_owned(),
            silence,
            facts: LunFacts::default(),
            isid: fresh_isid(),
            client: Mutex::new(None),
            reserved: AtomicBool::new(false),
        };
        let facts = lun.with(|client| LunFacts::ask(client, lun.address()));
        lun.facts = facts.map_err(|e| Unreachable::Target(lun.trouble(&e)))?;
        Ok(lun)
    }

    fn trouble(&self, e: &CommandError) -> String {
        match e {
            CommandError::Dial(e) => format!("{}: {e}", self.target),
            e => format!(
                "LUN {} of {} at {}: {e}; `wirespeed target ls iscsi://{}` lists what there is",
                self.number,
                self.target,
                self.url.portal(),
                self.url.portal()
            ),
        }
    }

    /// What it is.
    pub fn facts(&self) -> &LunFacts {
        &self.facts
    }

    /// How long a worker's session may be silent with commands under way.
    pub(super) fn silence(&self) -> Ns {
        self.silence
    }

    pub(super) fn blocks(&self) -> u64 {
        self.facts.blocks
    }

    /// Its address within its target.
    pub(super) fn address(&self) -> pdu::Lun {
        pdu::Lun::new(self.number)
    }

    /// How a session for a worker is made: another one each time.
    pub(super) fn call(&self, slots: u32) -> Call<'_> {
        let options = self.url.options;
        Call { isid: fresh_isid(), slots, options, ..self.control() }
    }

    fn control(&self) -> Call<'_> {
        Call {
            portal: self.url.portal(),
            target: Some(&self.target),
            options: self.url.options.alone(),
            initiator: &self.initiator,
            isid: self.isid,
            slots: 1,
        }
    }

    /// Whether a session to one is a session to the other.
    pub(super) fn shares_session(&self, other: &Lun) -> bool {
        (&self.url.portals, &self.target, self.url.options, self.url.paths)
            == (&other.url.portals, &other.target, other.url.options, other.url.paths)
    }

    pub(super) fn is_reserved(&self) -> bool {
        self.reserved.load(Ordering::Relaxed)
    }

    pub(super) fn set_reserved(&self, reserved: bool) {
        self.reserved.store(reserved, Ordering::Relaxed);
    }

    /// Does something over the control plane's session, which is made where there is none. What is done may be done twice:
    /// it is, where the session was lost while it stood idle.
    pub(super) fn with<T>(
        &self,
        mut act: impl FnMut(&mut Client) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut held = self.lock();
        let mut kept = held.take();
        let stale = kept.is_some();
        let mut client = match kept.take() {
            Some(client) => client,
            None => Client::new(&self.control())?,
        };
        match act(&mut client) {
            Err(CommandError::Lost(_)) if stale => {}
            Err(e @ (CommandError::Lost(_) | CommandError::Slow)) => return Err(e),
            result => {
                *held = Some(client);
                return result;
            }
        }
        drop(client);
        let mut client = Client::new(&self.control())?;
        let result = act(&mut client);
        if !matches!(result, Err(CommandError::Lost(_) | CommandError::Slow)) {
            *held = Some(client);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, Option<Client>> {
        // A session that a panic left behind is dropped like one that was lost.
        self.client.lock().unwrap_or_else(|poisoned| {
            let mut held = poisoned.into_inner();
            *held = None;
            held
        })
    }

    /// Reads whole blocks.
    fn read_blocks(&self, lba: u64, out: &mut [u8]) -> Result<(), CommandError> {
        let block = self.facts.block as usize;
        let mut lba = lba;
        for part in out.chunks_mut(CHUNK) {
            let blocks = (part.len() / block) as u32;
            let wanted = part.len();
            let moved = self.with(|client| {
                client.execute(self.address(), Cdb::read(lba, blocks), Data::In(part))
            })?;
            if moved as usize != wanted {
                return Err(CommandError::Nonsense("READ"));
            }
            lba += u64::from(blocks);
        }
        Ok(())
    }

    /// Writes whole blocks. Only a claim comes here.
    pub(super) fn write_blocks(&self, lba: u64, data: &[u8]) -> Result<(), CommandError> {
        let block = self.facts.block as usize;
        let mut lba = lba;
        for part in data.chunks(CHUNK) {
            let blocks = (part.len() / block) as u32;
            let cdb = Cdb::write(lba, blocks);
            self.with(|client| client.execute(self.address(), cdb, Data::Out(part)))?;
            lba += u64::from(blocks);
        }
        Ok(())
    }

    /// The block number of an offset in bytes, where `len` bytes from there are whole blocks of the LUN.
    pub(super) fn whole(&self, offset: u64, len: usize) -> io::Result<u64> {
        let block = u64::from(self.facts.block);
        let end = offset.checked_add(len as u64);
        let fits = end.is_some_and(|end| end <= self.facts.size());
        if !fits || !offset.is_multiple_of(block) || !(len as u64).is_multiple_of(block) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(offset / block)
    }
}

/// The part of a session's name that this process has given to no other: of the random kind (RFC 7143, section 11.12.5).
pub(super) fn fresh_isid() -> Isid {
    static COUNT: AtomicU16 = AtomicU16::new(0);
    let process = clock::Rng::keyed(std::process::id().into(), &[clock::wall_ns()]).next_u64();
    let [high, low] = COUNT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let [a, b, c, ..] = process.to_be_bytes();
    Isid([0x80, a, b, c, high, low])
}

impl Medium for Lun {
    fn size(&self) -> u64 {
        self.facts.size()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(out.len() as u64).filter(|end| *end <= self.facts.size());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        if let Ok(lba) = self.whole(offset, out.len()) {
            return Ok(self.read_blocks(lba, out)?);
        }
        let block = u64::from(self.facts.block);
        let (from, to) = (offset / block * block, end.next_multiple_of(block));
        let mut around = vec![0; (to - from) as usize];
        self.read_blocks(from / block, &mut around)?;
        let skip = (offset - from) as usize;
        out.copy_from_slice(&around[skip..skip + out.len()]);
        Ok(())
    }
}

impl Remote for Lun {
    fn what(&self) -> String {
        let LunFacts { vendor, product, .. } = &self.facts;
        let size = self.facts.size();
        format!("LUN {} of {} ({vendor} {product}) of {size} bytes", self.number, self.target)
    }

    fn block(&self) -> u32 {
        self.facts.block
    }

    fn identity(&self) -> Vec<(&'static str, String)> {
        let LunFacts { vendor, product, serial, designator, .. } = &self.facts;
        let mut all = vec![("vendor", vendor.clone()), ("product", product.clone())];
        match (designator, serial) {
            (Some(designator), _) => all.push(("designator", designator.clone())),
            (None, Some(serial)) => all.push(("serial", serial.clone())),
            // What has no name of its own is known by its place.
            (None, None) => all.push(("place", format!("{}/{}", self.target, self.number))),
        }
        all
    }

    fn serial(&self) -> Option<&str> {
        self.facts.serial.as_deref()
    }

    fn forbids(&self) -> Vec<String> {
        let protected = self.facts.read_only.then(|| "it is write protected".to_owned());
        protected.into_iter().collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let LunFacts { vendor, product, revision, serial, designator, block, thin, .. } =
            &self.facts;
        let mut all = vec![
            ("portal", self.url.portal().to_string()),
            ("model", format!("{vendor} {product}")),
            ("firmware", revision.clone()),
            ("logical-block", format!("{block} B")),
            ("provisioning", if *thin { "thin" } else { "full" }.to_owned()),
        ];
        all.extend(serial.clone().map(|serial| ("serial", serial)));
        all.extend(designator.clone().map(|designator| ("designator", designator)));
        all
    }

    fn persistent_reserve_in(&self, command: &[u8; 10]) -> io::Result<Option<Vec<u8>>> {
        let len = usize::from(u16::from_be_bytes([command[7], command[8]]));
        match self.with(|client| client.ask(self.address(), Cdb::of(*command), len)) {
            Ok(answer) => Ok(Some(answer)),
            Err(e) if e.is_unknown() => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn is_ours(&self, key: u64) -> bool {
        claim::is_ours(key)
    }

    fn flush(&self) -> io::Result<()> {
        match self.with(|client| client.execute(self.address(), Cdb::SYNCHRONIZE, Data::None)) {
            Ok(_) => Ok(()),
            // What has no cache has nothing to write back.
            Err(e) if e.is_unknown() => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn claim(self: Arc<Self>, _warrant: Warrant) -> io::Result<Arc<dyn Claim>> {
        Ok(Arc::new(LunClaim::take(self)?))
    }
}

/// Registers a worker's session at a LUN with the key of this process's reservation, or takes the registration back.
/// `false` where the target does not do it.
pub(super) fn register(
    link: &mut super::link::Link,
    arena: &disk::Arena,
    lun: pdu::Lun,
    on: bool,
) -> Result<bool, Lost> {
    claim::register(link, arena, lun, on)
}
