//! Builds a queue from targets: on the worker's own thread, before its start, each path gets its session.

use super::busy_poll::BusyPoll;
use super::keys;
use super::link::Link;
use super::lun::{OpenLun, fresh_isid};
use super::multipath::{
    EventSender, LunUse, PathNames, PathRefusal, PathSpec, PathTable, RescueInbox,
};
use super::path_session::PathSession;
use super::queue::{LunQueue, QueueParts};
use super::unit::{Bundle, TargetUnit};
use disk::{Arena, OpenError, Opener, Queue, RemoteAccess, Unreachable};
use guard::Remote;
use std::any::Any;
use std::sync::Arc;

/// Opens queues to LUNs.
pub(super) struct LunOpener {
    luns: Vec<(RemoteAccess, Arc<OpenLun>)>,
    /// Processors of the process. The worker's thread may be pinned to one of them when it opens its queue.
    processors: usize,
}

impl LunOpener {
    /// A queue over these targets.
    pub fn new(targets: Vec<RemoteAccess>) -> Result<LunOpener, Unreachable> {
        let lun = |access: RemoteAccess| {
            let remote: Arc<dyn Remote> = access.remote().clone();
            let any: Arc<dyn Any + Send + Sync> = remote;
            match any.downcast::<OpenLun>() {
                Ok(lun) => Ok((access, lun)),
                Err(_) => Err(Unreachable::Url("it is no LUN".to_owned())),
            }
        };
        Ok(LunOpener {
            luns: targets.into_iter().map(lun).collect::<Result<_, _>>()?,
            processors: processors(),
        })
    }
}

/// Processors that the calling thread may use.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Bundles the targets at one place.
fn bundles(all: &[(RemoteAccess, Arc<OpenLun>)]) -> (Vec<Bundle>, Vec<TargetUnit>) {
    let mut bundles: Vec<Bundle> = Vec::new();
    let mut targets = Vec::with_capacity(all.len());
    for (n, (access, lun)) in all.iter().enumerate() {
        let (portals, options) = (lun.url().portals.len(), &lun.url().paths);
        let known = bundles.iter().position(|bundle| bundle.luns[0].lun.shares_session(lun));
        let at = known.unwrap_or_else(|| {
            bundles.push(Bundle {
                first: bundles.iter().map(|bundle| bundle.paths).sum(),
                paths: portals,
                luns: Vec::new(),
                targets: Vec::new(),
                table: Arc::new(PathTable::new(portals)),
                wait: options.wait(portals),
                errno: libc::ENOLINK,
            });
            bundles.len() - 1
        });
        let used = LunUse { lun: lun.clone(), writes: matches!(access, RemoteAccess::Write(_)) };
        targets.push(TargetUnit::new(at, bundles[at].first, &used, options));
        bundles[at].luns.push(used);
        bundles[at].targets.push(n);
    }
    (bundles, targets)
}

impl Opener for LunOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        let (bundles, mut targets) = bundles(&self.luns);
        let mut sessions = Vec::with_capacity(bundles.iter().map(|bundle| bundle.paths).sum());
        for bundle in &bundles {
            open_sessions(bundle, arena, &mut sessions, &mut targets)?;
        }
        let inbox = RescueInbox::new().map_err(|e| OpenError {
            target: "iSCSI".to_owned(),
            problem: format!("cannot create an event descriptor ({e})"),
        })?;
        let (events, reports) = EventSender::new(names(&bundles, &self.luns));
        let how = how(&mut sessions, &bundles);
        let accesses = self.luns.into_iter().map(|(access, _)| access).collect();
        let busy_poll = BusyPoll::new(self.processors, processors());
        let parts = QueueParts {
            sessions,
            bundles,
            targets,
            accesses,
            inbox,
            events,
            reports,
            busy_poll,
            how,
        };
        Ok(Box::new(LunQueue::new(arena, parts)))
    }
}

/// Logs in by each path of a bundle. One that cannot be reached is left for later, if another one can.
fn open_sessions(
    bundle: &Bundle,
    arena: &Arena,
    sessions: &mut Vec<PathSession>,
    targets: &mut [TargetUnit],
) -> Result<(), OpenError> {
    let mut trouble = None;
    let mut open = 0;
    for portal in 0..bundle.paths {
        // One more than the worker has, for inquiries about the unit itself.
        let slots = arena.slots() + 1;
        let spec = PathSpec { portal, isid: fresh_isid(), key: keys::path_key(), slots };
        let lun = &bundle.luns[0].lun;
        let mut session = PathSession::new(spec, lun.silence(), bundle.paths > 1);
        match spec.attach(&bundle.luns) {
            Ok(mut attached) => {
                open += 1;
                for (target, look) in bundle.targets.iter().zip(attached.path_states.drain(..)) {
                    targets[*target].path_states[portal] = look;
                }
                bundle.table.open(portal, attached.group);
                session.install(attached, clock::now());
            }
            Err(e @ (PathRefusal::Other { .. } | PathRefusal::Unclaimed(_))) => {
                return Err(problem(lun, portal, &e));
            }
            Err(e) => trouble = trouble.or(Some(problem(lun, portal, &e))),
        }
        sessions.push(session);
    }
    trouble.filter(|_| open == 0).map_or(Ok(()), Err)
}

fn problem(lun: &OpenLun, portal: usize, e: &PathRefusal) -> OpenError {
    let portal = &lun.url().portals[portal];
    OpenError { target: format!("{} by {portal}", lun.what()), problem: e.to_string() }
}

fn names(bundles: &[Bundle], all: &[(RemoteAccess, Arc<OpenLun>)]) -> PathNames {
    let path = |bundle: &Bundle| {
        let url = bundle.luns[0].lun.url().clone();
        let target = url.target.unwrap_or_default();
        url.portals.into_iter().map(move |portal| format!("path {portal} to {target}"))
    };
    PathNames {
        paths: bundles.iter().flat_map(path).collect(),
        targets: all.iter().map(|(_, lun)| lun.name()).collect(),
    }
}

/// "iSCSI, 2 sessions, 4 connections each, 2 paths (fixed), header digests, …", for the record.
fn how(sessions: &mut [PathSession], bundles: &[Bundle]) -> String {
    let count = sessions.len();
    let s = if count == 1 { "" } else { "s" };
    let Some(first) = sessions.iter_mut().find(|session| session.is_open()) else {
        return "iSCSI".to_owned();
    };
    let connections = first.link().and_then(Link::connections);
    let Some(settings) = first.settings() else { return "iSCSI".to_owned() };
    let each = if count == 1 { "" } else { " each" };
    let yes = |name: &str, on: bool| if on { format!(", {name}") } else { String::new() };
    let several = bundles.iter().find(|bundle| bundle.paths > 1);
    let paths = several.map_or(String::new(), |bundle| {
        format!(", {} paths ({})", bundle.paths, bundle.luns[0].lun.url().paths.policy)
    });
    format!(
        "iSCSI, {count} session{s}{}{paths}{}{}{}{}",
        connections.map(|some| format!(", {some}{each}")).unwrap_or_default(),
        yes("header digests", settings.header_digest),
        yes("data digests", settings.data_digest),
        yes("immediate data", settings.immediate_data),
        yes("unsolicited data", !settings.initial_r2t),
    )
}
