//! Setup of a path: login, identification of the units, registration of its writer. It blocks, for a bounded time: on a
//! worker's thread before its start, and on a rescue thread after it.

use super::super::claim;
use super::super::client::{Client, CommandData, CommandError};
use super::super::dial::DialError;
use super::super::inquiry::LunFacts;
use super::super::link::Link;
use super::super::lun::OpenLun;
use super::access::{AccessState, GROUPS_LEN, PortFacts, tells_states};
use iscsi::initiator::Cdb;
use iscsi::pdu::Isid;
use std::sync::Arc;
use thiserror::Error;

/// Page of the designators, and how much of it is read.
const DESIGNATORS: u8 = 0x83;
const PAGE: u16 = 1024;

/// One path of a worker: the same for as long as the worker lives, however often it is lost.
#[derive(Clone, Copy, Debug)]
pub(in crate::initiator) struct PathSpec {
    /// Which of the URL's portals.
    pub portal: usize,
    /// What names its session: a login with it ends the session of this name that there was (RFC 7143, 6.3.5).
    pub isid: Isid,
    /// The key with which this path's writer registers: no other path has it, so that one can be expelled alone.
    pub key: u64,
    /// Commands that can be under way.
    pub slots: u32,
}

/// A unit that is reached by a path.
#[derive(Clone, Debug)]
pub(in crate::initiator) struct LunUse {
    pub lun: Arc<OpenLun>,
    /// It is written to.
    pub writes: bool,
}

/// What one unit said by a path.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::initiator) struct UnitPathState {
    /// The port; `None` if the unit does not report access states.
    pub port: Option<PortFacts>,
    pub state: AccessState,
    /// This path's writer is registered.
    pub registered: bool,
}

/// A session that stands ready.
pub(in crate::initiator) struct Attached {
    pub link: Link,
    /// The target portal group of the session, if the target reported it.
    pub group: Option<u16>,
    /// What the units said, in the order in which they were given.
    pub path_states: Vec<UnitPathState>,
}

/// Why a path is not used.
#[derive(Debug, Error)]
pub(in crate::initiator) enum PathRefusal {
    /// The portal does not answer, or refuses the login.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// A unit's answers fail.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The claim is not there, so that the unit may be another one.
    #[error("{0}")]
    Unclaimed(String),
    /// Another unit is there.
    #[error(
        "another unit answers: {found}; the other paths lead to {wanted}; every portal of a URL leads to the \
         same LUN"
    )]
    Other {
        /// What the unit by this path calls itself.
        found: String,
        /// What it should.
        wanted: String,
    },
}

impl PathSpec {
    /// Logs in, and looks at the units. At least one is given.
    pub fn attach(&self, luns: &[LunUse]) -> Result<Attached, PathRefusal> {
        let first = &luns[0].lun;
        let (link, group) = first.call(self.portal, self.isid, self.slots).enter()?;
        let mut client = Client::of(link);
        let look = |used: &LunUse| self.look(&mut client, used);
        let path_states = luns.iter().map(look).collect::<Result<_, _>>()?;
        let link = client.into_link().map_err(DialError::from)?;
        Ok(Attached { link, group, path_states })
    }

    fn look(&self, client: &mut Client, used: &LunUse) -> Result<UnitPathState, PathRefusal> {
        let (lun, address) = (&used.lun, used.lun.address());
        let (serial, designator) = LunFacts::names(client, address)?;
        if (&serial, &designator) != (&lun.facts().serial, &lun.facts().designator) {
            let name = |serial: &Option<String>, designator: &Option<String>| {
                let name = designator.as_ref().or(serial.as_ref());
                name.map_or("one without a name", |name| name).to_owned()
            };
            let wanted = name(&lun.facts().serial, &lun.facts().designator);
            return Err(PathRefusal::Other { found: name(&serial, &designator), wanted });
        }
        let mut look = UnitPathState::default();
        if tells_states(&client.ask(address, Cdb::inquiry(96), 96)?) {
            let page = client.ask(address, Cdb::vital(DESIGNATORS, PAGE), PAGE.into())?;
            let port = PortFacts::parse(&page);
            let cdb = Cdb::report_target_port_groups(GROUPS_LEN);
            let report = client.ask(address, cdb, GROUPS_LEN as usize)?;
            look.port = Some(port);
            look.state = port.state(&report).unwrap_or_default();
        }
        if look.state.carries() {
            let (block, blocks, _) = LunFacts::capacity(client, address)?;
            let LunFacts { block: known, blocks: all, .. } = *lun.facts();
            if (block, blocks) != (known, all) {
                let size =
                    |block: u32, blocks: u64| format!("one of {blocks} blocks of {block} bytes");
                return Err(PathRefusal::Other {
                    found: size(block, blocks),
                    wanted: size(known, all),
                });
            }
        }
        if used.writes && look.state.carries() {
            lun.claimed_by(client).map_err(PathRefusal::Unclaimed)?;
        }
        if used.writes && lun.is_reserved() {
            look.registered = self.register(client, used)?;
        }
        Ok(look)
    }

    /// Registers this path's writer; `false` where the target refuses.
    fn register(&self, client: &mut Client, used: &LunUse) -> Result<bool, PathRefusal> {
        let (cdb, list) = claim::registration(0, self.key);
        match client.execute(used.lun.address(), cdb, CommandData::Out(&list)) {
            Ok(_) => Ok(true),
            Err(e @ (CommandError::Lost(_) | CommandError::Slow)) => Err(e.into()),
            Err(_) => Ok(false),
        }
    }

    /// Takes the registration back, as far as the target still listens.
    pub fn unregister(&self, client: &mut Client, lun: &OpenLun) {
        let (cdb, list) = claim::registration(self.key, 0);
        // A leftover registration has no effect: the reservation ends with the claim.
        let _ = client.execute(lun.address(), cdb, CommandData::Out(&list));
    }

    /// Sees to it that nothing which `victim` was given is carried out any more, by way of this path: the victim's
    /// registration is taken from it and its commands are aborted (PREEMPT AND ABORT; SPC-4, 5.13.11.2.7). Sound only
    /// where the units are reserved for registrants, and the victim is registered with a key of its own.
    pub fn expel(&self, victim: &PathSpec, luns: &[LunUse]) -> Result<(), PathRefusal> {
        let (link, _) = luns[0].lun.control(self.portal, self.isid).enter()?;
        let mut client = Client::of(link);
        for used in luns.iter().filter(|used| used.writes) {
            let (cdb, list) = claim::registration(0, self.key);
            client.execute(used.lun.address(), cdb, CommandData::Out(&list))?;
            let (cdb, list) = claim::expulsion(self.key, victim.key);
            let expelled = client.execute(used.lun.address(), cdb, CommandData::Out(&list));
            self.unregister(&mut client, &used.lun);
            expelled?;
        }
        Ok(())
    }
}
