//! The register of sessions: their handles, initiators and threads (RFC 7143, 6.3.5).
//!
//! Only the acceptor's thread uses it; workers notify the acceptor when a connection or a session has ended.

use iscsi::pdu::{Isid, LoginStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What makes two logins the same session: the initiator's port and the target's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server) struct SessionName {
    pub initiator: String,
    pub isid: Isid,
    /// The portal group tag.
    pub group: u16,
}

/// What a login comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::server) enum LoginAdmission {
    /// A new session with this handle, on this worker.
    New { tsih: u16, worker: usize },
    /// Another connection of a session.
    Join { tsih: u16, worker: usize },
    /// A session has to end first: reinstatement.
    EndSession { tsih: u16, worker: usize },
    /// A connection has to end first: connection reinstatement.
    EndConnection { tsih: u16, cid: u16, worker: usize },
    /// Not now, not so.
    Refused(LoginStatus, &'static str),
}

/// The sessions.
pub(in crate::server) struct Registry {
    sessions: BTreeMap<u16, SessionEntry>,
    names: BTreeMap<SessionName, u16>,
    /// Sessions of each worker.
    load: Vec<usize>,
    most: Most,
    last: u16,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::server) struct Most {
    pub sessions: usize,
    pub sessions_per_address: usize,
    pub sessions_per_initiator: usize,
    pub connections: usize,
    pub connections_per_session: usize,
}

struct SessionEntry {
    /// `None`: a discovery session, which cannot be reinstated or joined.
    name: Option<SessionName>,
    /// Where its first connection came from.
    host: IpAddr,
    worker: usize,
    cids: BTreeSet<u16>,
}

impl Registry {
    /// Empty, for this number of workers.
    pub fn new(workers: usize, most: Most) -> Registry {
        Registry {
            sessions: BTreeMap::new(),
            names: BTreeMap::new(),
            load: vec![0; workers],
            most,
            last: 0,
        }
    }

    /// Decides about a login from `host` that asks for the session `tsih` (0: a new one) with the connection `cid`. What it decides is
    /// entered at once. Where something has to end first it is to be asked again when that has ended.
    pub fn admit(
        &mut self,
        name: Option<&SessionName>,
        host: IpAddr,
        tsih: u16,
        cid: u16,
    ) -> LoginAdmission {
        if tsih != 0 {
            return self.join(name, tsih, cid);
        }
        if let Some(old) = name.and_then(|name| self.names.get(name))
            && let Some(entry) = self.sessions.get(old)
        {
            return LoginAdmission::EndSession { tsih: *old, worker: entry.worker };
        }
        if let Some(why) = self.full(name, host) {
            return LoginAdmission::Refused(LoginStatus::OUT_OF_RESOURCES, why);
        }
        let Some(worker) = (0..self.load.len()).min_by_key(|worker| self.load[*worker]) else {
            return LoginAdmission::Refused(LoginStatus::SERVICE_UNAVAILABLE, "no thread serves");
        };
        let tsih = self.free_handle();
        self.load[worker] += 1;
        if let Some(name) = name {
            self.names.insert(name.clone(), tsih);
        }
        self.sessions.insert(
            tsih,
            SessionEntry { name: name.cloned(), host, worker, cids: BTreeSet::from([cid]) },
        );
        LoginAdmission::New { tsih, worker }
    }

    /// Why no session may begin, if none may.
    fn full(&self, name: Option<&SessionName>, host: IpAddr) -> Option<&'static str> {
        let of_host = self.sessions.values().filter(|entry| entry.host == host).count();
        let of_initiator = name.map_or(0, |name| {
            let names = self.names.keys().filter(|known| known.initiator == name.initiator);
            names.count()
        });
        if self.sessions.len() >= self.most.sessions.min(usize::from(u16::MAX)) {
            Some("too many sessions")
        } else if of_host >= self.most.sessions_per_address {
            Some("too many sessions of its host")
        } else if of_initiator >= self.most.sessions_per_initiator {
            Some("too many sessions of this initiator")
        } else {
            (self.connections() >= self.most.connections).then_some("too many connections")
        }
    }

    fn join(&mut self, name: Option<&SessionName>, tsih: u16, cid: u16) -> LoginAdmission {
        let connections = self.connections();
        let theirs = |entry: &&mut SessionEntry| name.is_some() && entry.name.as_ref() == name;
        let Some(entry) = self.sessions.get_mut(&tsih).filter(theirs) else {
            return LoginAdmission::Refused(LoginStatus::NO_SESSION, "there is no such session");
        };
        let worker = entry.worker;
        if entry.cids.contains(&cid) {
            return LoginAdmission::EndConnection { tsih, cid, worker };
        }
        if entry.cids.len() >= self.most.connections_per_session
            || connections >= self.most.connections
        {
            return LoginAdmission::Refused(
                LoginStatus::TOO_MANY_CONNECTIONS,
                "too many connections",
            );
        }
        entry.cids.insert(cid);
        LoginAdmission::Join { tsih, worker }
    }

    /// A connection is gone.
    pub fn connection_ended(&mut self, tsih: u16, cid: u16) {
        if let Some(entry) = self.sessions.get_mut(&tsih) {
            entry.cids.remove(&cid);
        }
    }

    /// A session is gone.
    pub fn session_ended(&mut self, tsih: u16) {
        let Some(entry) = self.sessions.remove(&tsih) else { return };
        self.load[entry.worker] -= 1;
        if let Some(name) = entry.name {
            self.names.remove(&name);
        }
    }

    fn connections(&self) -> usize {
        self.sessions.values().map(|entry| entry.cids.len()).sum()
    }

    /// A handle that is not in use; the least recently used come first. There is one: the number of sessions is bounded.
    fn free_handle(&mut self) -> u16 {
        loop {
            self.last = self.last.checked_add(1).unwrap_or(1);
            if !self.sessions.contains_key(&self.last) {
                return self.last;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const MOST: Most = Most {
        sessions: 3,
        sessions_per_address: 3,
        sessions_per_initiator: 3,
        connections: 4,
        connections_per_session: 2,
    };
    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn name(initiator: &str) -> SessionName {
        SessionName { initiator: initiator.to_owned(), isid: Isid([0; 6]), group: 1 }
    }

    fn new(registry: &mut Registry, initiator: &str) -> (u16, usize) {
        match registry.admit(Some(&name(initiator)), HERE, 0, 1) {
            LoginAdmission::New { tsih, worker } => (tsih, worker),
            other => panic!("{initiator}: {other:?}"),
        }
    }

    #[test]
    fn sessions_spread_over_workers_and_find_room_again() {
        let mut registry = Registry::new(2, MOST);
        let workers: Vec<usize> = ["a", "b", "c"].iter().map(|n| new(&mut registry, n).1).collect();
        assert_eq!(workers, [0, 1, 0]);
        assert!(matches!(
            registry.admit(Some(&name("d")), HERE, 0, 1),
            LoginAdmission::Refused(LoginStatus::OUT_OF_RESOURCES, _)
        ));
        registry.session_ended(2);
        assert_eq!(
            new(&mut registry, "d"),
            (4, 1),
            "on the worker that has the least, with a handle of its own"
        );
    }

    #[test]
    fn the_same_initiator_port_reinstates_its_session() {
        let mut registry = Registry::new(1, MOST);
        let (tsih, worker) = new(&mut registry, "a");
        assert_eq!(
            registry.admit(Some(&name("a")), HERE, 0, 1),
            LoginAdmission::EndSession { tsih, worker }
        );
        registry.session_ended(tsih);
        assert_eq!(new(&mut registry, "a").0, tsih + 1);
        let elsewhere = SessionName { group: 2, ..name("a") };
        assert!(matches!(registry.admit(Some(&elsewhere), HERE, 0, 1), LoginAdmission::New { .. }));
    }

    #[test]
    fn connections_join_their_own_session_only_and_have_a_bound() {
        let mut registry = Registry::new(1, MOST);
        let (tsih, worker) = new(&mut registry, "a");
        for (who, tsih) in [("b", tsih), ("a", tsih + 1)] {
            let admission = registry.admit(Some(&name(who)), HERE, tsih, 2);
            assert!(
                matches!(admission, LoginAdmission::Refused(LoginStatus::NO_SESSION, _)),
                "{who}: {admission:?}"
            );
        }
        let again = LoginAdmission::EndConnection { tsih, cid: 1, worker };
        assert_eq!(registry.admit(Some(&name("a")), HERE, tsih, 1), again);
        assert_eq!(
            registry.admit(Some(&name("a")), HERE, tsih, 2),
            LoginAdmission::Join { tsih, worker }
        );
        let full = registry.admit(Some(&name("a")), HERE, tsih, 3);
        assert!(
            matches!(full, LoginAdmission::Refused(LoginStatus::TOO_MANY_CONNECTIONS, _)),
            "{full:?}"
        );
        registry.connection_ended(tsih, 1);
        assert_eq!(
            registry.admit(Some(&name("a")), HERE, tsih, 3),
            LoginAdmission::Join { tsih, worker }
        );
    }

    #[test]
    fn discovery_sessions_cannot_be_reinstated() {
        let mut registry = Registry::new(1, MOST);
        let LoginAdmission::New { tsih, .. } = registry.admit(None, HERE, 0, 1) else {
            panic!("refused")
        };
        assert!(matches!(
            registry.admit(None, HERE, tsih, 2),
            LoginAdmission::Refused(LoginStatus::NO_SESSION, _)
        ));
        assert!(
            matches!(registry.admit(None, HERE, 0, 1), LoginAdmission::New { .. }),
            "another one besides"
        );
    }

    #[test]
    fn hosts_and_initiators_have_quotas() {
        let most = Most { sessions: 9, sessions_per_address: 3, sessions_per_initiator: 2, ..MOST };
        let mut registry = Registry::new(1, Most { connections: 9, ..most });
        let there = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let mut admit = |initiator: &str, port: u8, host| {
            let name = SessionName { isid: Isid([port; 6]), ..name(initiator) };
            match registry.admit(Some(&name), host, 0, 1) {
                LoginAdmission::New { .. } => "new",
                LoginAdmission::Refused(LoginStatus::OUT_OF_RESOURCES, why) => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([admit("a", 1, HERE), admit("a", 2, HERE)], ["new", "new"]);
        assert_eq!(admit("a", 3, there), "too many sessions of this initiator");
        assert_eq!(admit("b", 1, HERE), "new");
        assert_eq!(admit("c", 1, HERE), "too many sessions of its host");
        assert_eq!(admit("c", 1, there), "new");
    }
}
