//! Ceremony: a receiver on a free port, and a short test against it.

use clock::Ns;
use net::{
    Carriage, Event, Heading, Listener, NetError, Network, Receiver, ReceiverConfig, Report,
    SendConfig, SideReport, Spec, Stop,
};
use std::net::SocketAddr;
use std::sync::mpsc;

/// A receiver on loopback, and what it told.
pub struct Bench {
    pub receiver: Receiver,
    pub events: mpsc::Receiver<Event>,
}

/// A listener that forwards what it hears.
pub fn listener() -> (Listener, mpsc::Receiver<Event>) {
    let (tell, events) = mpsc::channel();
    let hear = move |event| {
        // A test that has ended hears no more.
        let _ = tell.send(event);
    };
    (Listener::new(hear), events)
}

impl Bench {
    pub fn new() -> Bench {
        Bench::at("127.0.0.1:0")
    }

    pub fn at(address: &str) -> Bench {
        let (listener, events) = listener();
        let listen = vec![address.parse().expect("an address")];
        let config =
            ReceiverConfig { listen, token: None, cpus: Vec::new(), adjust: None, listener };
        Bench { receiver: Receiver::start(config).expect("loopback is there"), events }
    }

    pub fn address(&self) -> SocketAddr {
        self.receiver.addresses()[0]
    }

    pub fn config(&self) -> SendConfig {
        let address = self.address();
        SendConfig { host: address.ip().to_string(), port: address.port(), ..SendConfig::default() }
    }

    pub fn try_run(&self, spec: &Spec) -> Result<Report, NetError> {
        net::send(&self.config(), spec, &Stop::default(), &mut |_| {})
    }

    /// Runs a test that must go well. Where the machine had no time for a thread in the whole of it, once more and longer.
    #[track_caller]
    pub fn run(&self, spec: &Spec) -> Report {
        let mut spec = spec.clone();
        loop {
            let report = self.run_once(&spec);
            let moved = |side: &SideReport| side.streams.iter().all(|s| s.total.bytes > 0);
            if (moved(&report.sender) && moved(&report.receiver)) || spec.measure > Ns::secs(5) {
                return report;
            }
            spec.measure = Ns(spec.measure.0 * 2);
        }
    }

    #[track_caller]
    fn run_once(&self, spec: &Spec) -> Report {
        let report = self.try_run(spec).unwrap_or_else(|e| panic!("{e}"));
        for side in [&report.sender, &report.receiver] {
            let errors: Vec<_> = side.streams.iter().filter_map(|s| s.error.as_ref()).collect();
            assert!(errors.is_empty(), "{errors:?}");
        }
        report
    }

    /// Waits for the next event of which `wanted` makes something.
    #[track_caller]
    pub fn event<T>(&self, wanted: impl Fn(&Event) -> Option<T>) -> T {
        let limit = std::time::Duration::from_secs(20);
        loop {
            let event = self.events.recv_timeout(limit).expect("the receiver tells");
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }
}

/// A test that is over soon.
pub fn short(load: Carriage) -> Spec {
    Spec {
        warmup: Ns::millis(60),
        measure: Ns::millis(250),
        cooldown: Ns::millis(40),
        interval: Ns::millis(100),
        ..Spec::new(load)
    }
}

/// The same test with another load.
pub fn with(mut spec: Spec, change: impl FnOnce(&mut Network)) -> Spec {
    change(&mut spec.network);
    spec
}

/// So many streams to the receiver, and from it: equal numbers, or none one way.
pub fn ways(network: &mut Network, up: u16, down: u16) {
    assert!(up == down || up == 0 || down == 0, "{up} and {down}");
    network.streams = up.max(down);
    network.heading = match (up, down) {
        (0, 1..) => Heading::Receive,
        (_, 0) => Heading::Send,
        _ => Heading::Both,
    };
}
