//! A running target for tests, with its events.

use crate::prelude::*;
use san::server::{
    PortalConfig, ServerEvent, ServerListener, TargetLimits, TargetServer, TargetSettings,
    TrafficCounts,
};
use std::sync::mpsc::{Receiver, channel};

/// The target's name.
pub const NAME: &str = "iqn.2024-01.org.example:target";
/// No wait in these tests takes so long unless something hangs.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running target.
pub struct TestTarget {
    pub target: TargetServer,
    events: Receiver<ServerEvent>,
}

/// A configuration with one RAM volume, portals of groups 1 and 2, and two threads.
pub fn config() -> TargetSettings {
    let loopback: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let portal = |group| PortalConfig { group, ..PortalConfig::new(loopback) };
    let spec = "ram:16MiB".parse().expect("a volume");
    let volume = Volume::open(&spec, "test-0").expect("memory");
    let mut config = TargetSettings::new(NAME, vec![portal(1), portal(2)], vec![volume]);
    config.threads = 2;
    config.limits.stop_time = Duration::from_millis(200);
    config
}

/// The same with other limits.
pub fn limited(limit: impl FnOnce(&mut TargetLimits)) -> TargetSettings {
    let mut config = config();
    limit(&mut config.limits);
    config
}

/// The same for those who prove who they are.
pub fn guarded(auth: Auth) -> TargetSettings {
    TargetSettings { auth, ..config() }
}

impl TestTarget {
    pub fn new() -> TestTarget {
        TestTarget::with(config())
    }

    pub fn with(mut config: TargetSettings) -> TestTarget {
        let (tell, events) = channel();
        config.listener = ServerListener::new(move |event| drop(tell.send(event)));
        TestTarget { target: TargetServer::start(config).expect("a target"), events }
    }

    pub fn address(&self) -> SocketAddr {
        self.target.addresses()[0]
    }

    /// Waits for an event that is meant, and passes over others.
    #[track_caller]
    pub fn event(&self, what: &str, meant: impl Fn(&ServerEvent) -> bool) -> ServerEvent {
        let mut seen = Vec::new();
        while let Ok(event) = self.events.recv_timeout(PATIENCE) {
            if meant(&event) {
                return event;
            }
            seen.push(event.to_string());
        }
        panic!("{what} did not come; what came was {seen:?}")
    }

    /// Waits until the portal's figures are as they should be.
    #[track_caller]
    pub fn settled(&self, what: &str, settled: impl Fn(&TrafficCounts) -> bool) -> TrafficCounts {
        for _ in 0..PATIENCE.as_millis() / 5 {
            let counts = self.target.counts(0).expect("a portal");
            if settled(&counts) {
                return counts;
            }
            clock::sleep_until(clock::now().plus(clock::Ns::millis(5)));
        }
        panic!("{what}: {:?}", self.target.counts(0))
    }

    /// Stops it, which has to go well.
    pub fn stop(self) {
        self.target.stop().expect("a clean stop");
    }
}

/// A volume that many tests can write to without noticing each other is not needed: each has a target of its own.
pub fn volume(spec: &str, serial: &str) -> Arc<Volume> {
    Volume::open(&spec.parse().expect("a volume"), serial).expect("a volume")
}
