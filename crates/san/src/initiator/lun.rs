//! A LUN as a target of the disk engine: found, examined by the write guard, read on the control plane, and claimed for
//! writing by a persistent reservation.

use super::claim::{self, ClaimState, LunClaim};
use super::client::{Client, CommandData, CommandError};
use super::dial::Call;
use super::inquiry::LunFacts;
use super::keys;
use super::link::Lost;
use super::portals::{self, PortalState, PortalsError};
use super::url::Url;
use crate::MADE_FOR_A_RUN;
use clock::Ns;
use disk::Unreachable;
use engine::RunSecret;
use guard::{ReadableMedium, Remote, RemoteOperations, Warrant, WriteClaim};
use iscsi::initiator::Cdb;
use iscsi::pdu::{self, Isid};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes of one command on the control plane.
const CHUNK: usize = 256 << 10;

/// How long a command of a worker may take before it is aborted, unless the URL says otherwise.
const COMMAND: Ns = Ns::secs(30);

/// A LUN that was found.
pub struct OpenLun {
    url: Url,
    target: String,
    number: u16,
    initiator: String,
    silence: Ns,
    facts: LunFacts,
    /// What was found by each of the portals.
    portal_states: Vec<PortalState>,
    /// What names the control plane's session: the same after a reconnection, since a reservation belongs to it.
    isid: Isid,
    control: Mutex<ControlSession>,
    /// What keeps others away.
    pub(super) claim: ClaimState,
    /// How many sessions of the control plane there were.
    generation: AtomicU64,
}

/// The control plane's session.
#[derive(Default)]
struct ControlSession {
    client: Option<Client>,
    /// The portal of the last session.
    portal: usize,
    /// Its portal group, if the target reported it.
    group: Option<u16>,
}

/// What to do where a session was lost with a command under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// The command is sent again over another session: it may be carried out twice.
    Freely,
    /// It is sent again only over a session that has ended the old one, so that the old command never runs after it.
    Reinstated,
    /// It is never sent again. A session that stood idle is tried with a harmless command before.
    Never,
}

impl fmt::Debug for OpenLun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lun({}/{}/{})", self.url.portals(), self.target, self.number)
    }
}

impl OpenLun {
    /// Logs in by every portal, asks the LUN what it is, and sees to it that it is one and the same.
    pub(super) fn find(
        url: &str,
        secret: Option<&RunSecret>,
        initiator: &str,
        silence: Ns,
    ) -> Result<OpenLun, Unreachable> {
        let mut url = Url::lun(url).map_err(|e| Unreachable::Url(e.to_string()))?;
        url.portals.iter_mut().for_each(|portal| portal.secret = secret.cloned());
        let (Some(target), Some(number)) = (url.target.clone(), url.lun) else {
            return Err(Unreachable::Url("the target's name or the LUN is missing".to_owned()));
        };
        let silence = url.paths.path_timeout.unwrap_or(silence);
        let mut lun = OpenLun {
            url,
            target,
            number,
            initiator: initiator.to_owned(),
            silence,
            facts: LunFacts::default(),
            portal_states: Vec::new(),
            isid: fresh_isid(),
            control: Mutex::default(),
            claim: ClaimState::default(),
            generation: AtomicU64::new(0),
        };
        let seen = portals::inspect(&lun).map_err(|e| Unreachable::Target(lun.trouble(&e)))?;
        (lun.facts, lun.portal_states) = seen;
        Ok(lun)
    }

    fn trouble(&self, e: &PortalsError) -> String {
        let portal = match e {
            PortalsError::Portal { portal, .. } => &self.url.portals[*portal],
            _ => self.url.portal(),
        };
        match e {
            PortalsError::Portal { error: CommandError::Dial(e), .. } => {
                format!("{}: {e}", self.target)
            }
            e => format!(
                "LUN {} of {} at {portal}: {e}; `wirespeed target ls iscsi://{portal}` lists what there is",
                self.number, self.target
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

    /// How long a command of a worker may take.
    pub(super) fn limit(&self) -> Ns {
        self.url.paths.command_timeout.unwrap_or(COMMAND)
    }

    /// Its address within its target.
    pub(super) fn address(&self) -> pdu::Lun {
        pdu::Lun::new(self.number)
    }

    /// Where it is.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Its URL, without the user and the options.
    pub(super) fn location(&self) -> String {
        format!("iscsi://{}/{}/{}", self.url.portals(), self.target, self.number)
    }

    /// "LUN 0 of iqn.…".
    pub(super) fn name(&self) -> String {
        format!("LUN {} of {}", self.number, self.target)
    }

    /// How a session of a worker by one of its portals is made.
    pub(super) fn call(&self, portal: usize, isid: Isid, slots: u32) -> Call<'_> {
        Call { slots, options: self.url.options, ..self.control(portal, isid) }
    }

    /// How a session for a few commands, one at a time, is made.
    pub(super) fn control(&self, portal: usize, isid: Isid) -> Call<'_> {
        Call {
            portal: &self.url.portals[portal],
            target: Some(&self.target),
            options: self.url.options.alone(),
            initiator: &self.initiator,
            isid,
            slots: 1,
        }
    }

    /// Whether a session to one is a session to the other.
    pub(super) fn shares_session(&self, other: &OpenLun) -> bool {
        (&self.url.portals, &self.target, self.url.options, self.url.paths)
            == (&other.url.portals, &other.target, other.url.options, other.url.paths)
    }

    pub(super) fn is_reserved(&self) -> bool {
        self.claim.is_reserved()
    }

    /// The number of the control plane's session: another one after a reconnection.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// What was found by each of the portals.
    pub(super) fn portal_states(&self) -> &[PortalState] {
        &self.portal_states
    }

    /// Makes the control plane's session: by the portal that worked last, or by the next one that does.
    fn reach(&self, control: &mut ControlSession) -> Result<Client, CommandError> {
        let portals = self.url.portals.len();
        let mut first = None;
        for n in 0..portals {
            let portal = (control.portal + n) % portals;
            match self.enter(portal) {
                Ok((client, group)) => {
                    (control.portal, control.group) = (portal, group);
                    return Ok(client);
                }
                Err(e) => first = first.or(Some(e)),
            }
        }
        Err(first.unwrap_or(CommandError::Lost(Lost::Closed)))
    }

    /// The same for a command; one that writes is sent only where the claim still stands.
    fn reach_to(&self, again: Retry, control: &mut ControlSession) -> Result<Client, CommandError> {
        let mut client = self.reach(control)?;
        if again == Retry::Reinstated && !self.claim.stands(&mut client, self.address())? {
            let why = "the target has forgotten the reservation of this run: nothing is written";
            return Err(CommandError::Failed(why.to_owned()));
        }
        Ok(client)
    }

    /// Logs in by a portal, and makes sure that the same unit is still there.
    fn enter(&self, portal: usize) -> Result<(Client, Option<u16>), CommandError> {
        let (link, group) = self.control(portal, self.isid).enter()?;
        let mut client = Client::of(link);
        let names = LunFacts::names(&mut client, self.address())?;
        if names != (self.facts.serial.clone(), self.facts.designator.clone()) {
            return Err(CommandError::Failed("another unit answers than before".to_owned()));
        }
        self.generation.fetch_add(1, Ordering::Relaxed);
        Ok((client, group))
    }

    /// Does something over the control plane's session, which is made where there is none. Where the session was lost while
    /// it stood idle it is done again, as far as `again` allows; where its port moves no blocks it is done by another one.
    pub(super) fn with<T>(
        &self,
        again: Retry,
        mut act: impl FnMut(&mut Client) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        for _ in 1..self.url.portals.len() {
            match self.attempt(again, &mut act) {
                // It was refused, and not carried out.
                Err(CommandError::Sense(sense)) if portals::is_passive(&sense) => {
                    let mut held = self.lock();
                    held.client = None;
                    held.portal = (held.portal + 1) % self.url.portals.len();
                }
                result => return result,
            }
        }
        self.attempt(again, &mut act)
    }

    fn attempt<T>(
        &self,
        again: Retry,
        act: &mut impl FnMut(&mut Client) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut held = self.lock();
        let mut kept = held.client.take();
        let stale = kept.is_some();
        if again == Retry::Never
            && let Some(client) = &mut kept
        {
            match client.execute(self.address(), Cdb::TEST_UNIT_READY, CommandData::None) {
                Err(CommandError::Lost(_) | CommandError::Slow) => kept = None,
                _answered => {}
            }
        }
        let mut client = match kept {
            Some(client) => client,
            None => self.reach_to(again, &mut held)?,
        };
        match act(&mut client) {
            Err(CommandError::Lost(_)) if stale && again != Retry::Never => {}
            Err(e @ (CommandError::Lost(_) | CommandError::Slow)) => return Err(e),
            result => {
                held.client = Some(client);
                return result;
            }
        }
        drop(client);
        let (portal, group) = (held.portal, held.group);
        let mut client = self.reach_to(again, &mut held)?;
        let same = held.portal == portal || (group.is_some() && held.group == group);
        if again == Retry::Reinstated && !same {
            held.client = Some(client);
            return Err(CommandError::Lost(Lost::Closed));
        }
        let result = act(&mut client);
        if !matches!(result, Err(CommandError::Lost(_) | CommandError::Slow)) {
            held.client = Some(client);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, ControlSession> {
        // A session that a panic left behind is dropped like one that was lost.
        self.control.lock().unwrap_or_else(|poisoned| {
            let mut held = poisoned.into_inner();
            held.client = None;
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
            let moved = self.with(Retry::Freely, |client| {
                client.execute(self.address(), Cdb::read(lba, blocks), CommandData::In(part))
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
            let write =
                |client: &mut Client| client.execute(self.address(), cdb, CommandData::Out(part));
            self.with(Retry::Reinstated, write)?;
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

impl ReadableMedium for OpenLun {
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

impl Remote for OpenLun {
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

    fn is_made_for_a_run(&self) -> bool {
        self.facts.product == MADE_FOR_A_RUN
    }

    fn forbids(&self) -> Vec<String> {
        let protected = self.facts.read_only.then(|| "it is write protected".to_owned());
        protected.into_iter().chain(claim::different_content(self)).collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let LunFacts { vendor, product, revision, serial, designator, block, thin, .. } =
            &self.facts;
        let mut all = vec![
            ("portal", self.url.portals()),
            ("model", format!("{vendor} {product}")),
            ("firmware", revision.clone()),
            ("logical-block", format!("{block} B")),
            ("provisioning", if *thin { "thin" } else { "full" }.to_owned()),
        ];
        if self.portal_states.len() > 1 {
            let portal_states = self.portal_states.iter().zip(&self.url.portals);
            let paths: Vec<_> = portal_states
                .map(|(portal_state, portal)| format!("{portal} {portal_state}"))
                .collect();
            all.push(("paths", paths.join("; ")));
            all.push(("path-policy", self.url.paths.policy.to_string()));
        }
        all.extend(serial.clone().map(|serial| ("serial", serial)));
        all.extend(designator.clone().map(|designator| ("designator", designator)));
        all
    }

    fn persistent_reserve_in(&self, command: &[u8; 10]) -> io::Result<Option<Vec<u8>>> {
        let len = usize::from(u16::from_be_bytes([command[7], command[8]]));
        let ask = |client: &mut Client| client.ask(self.address(), Cdb::of(*command), len);
        match self.with(Retry::Freely, ask) {
            Ok(answer) => Ok(Some(answer)),
            Err(e) if e.is_unknown() => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    fn is_ours(&self, key: u64) -> bool {
        keys::is_ours(key)
    }

    fn operations(&self) -> RemoteOperations {
        self.facts.operations.in_bytes(self.facts.block)
    }

    fn flush(&self) -> io::Result<()> {
        let flush = |client: &mut Client| {
            client.execute(self.address(), Cdb::SYNCHRONIZE, CommandData::None)
        };
        match self.with(Retry::Freely, flush) {
            Ok(_) => Ok(()),
            // What has no cache has nothing to write back.
            Err(e) if e.is_unknown() => Ok(()),
            Err(e) => Err(e.into()),
        }
    }

    fn claim(self: Arc<Self>, _warrant: Warrant) -> io::Result<Arc<dyn WriteClaim>> {
        Ok(Arc::new(LunClaim::take(self)?))
    }
}
