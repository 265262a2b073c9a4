//! Figures of a running target: its counters, looked at each second, and what happened between two looks.

use super::{
    Connection, Figures, Latency, Lun, Port, PortState, Registration, Reservation, Session, Status,
};
use super::{VERSION, WINDOW_MAX};
use clock::Ns;
use san::server::{
    Latencies, LatencyCounts, SessionStatus, TargetControl, TargetSnapshot, TrafficCounts,
};
use san::volume::Counters;
use std::collections::VecDeque;

/// How often the counters are looked at.
pub const PERIOD: Ns = Ns::secs(1);

/// The latest looks at the counters of one target.
pub struct Sampler {
    began: Ns,
    looks: VecDeque<Look>,
}

/// The counters at a moment.
struct Look {
    at: Ns,
    ports: Vec<(TrafficCounts, Latencies)>,
    luns: Vec<(Counters, Latencies)>,
}

impl Look {
    fn now(target: &TargetControl) -> Look {
        let luns = (0..).zip(target.volumes());
        Look {
            at: clock::now(),
            ports: target.portals().map(|port| (port.counts(), port.latencies())).collect(),
            luns: luns.map(|(lun, volume)| (volume.counters(), target.latencies(lun))).collect(),
        }
    }
}

impl Sampler {
    /// Begins with a first look.
    pub fn new(target: &TargetControl) -> Sampler {
        let first = Look::now(target);
        Sampler { began: first.at, looks: VecDeque::from([first]) }
    }

    /// Looks again; the oldest look is forgotten.
    pub fn look(&mut self, target: &TargetControl) {
        self.looks.push_back(Look::now(target));
        if self.looks.len() as u64 > WINDOW_MAX + 1 {
            self.looks.pop_front();
        }
    }

    /// Everything, with figures of the last `window` seconds, as far as there are so many.
    pub fn status(
        &self,
        target: &TargetControl,
        names: &[String],
        snapshot: &TargetSnapshot,
        window: u64,
    ) -> Status {
        let window = window.clamp(1, WINDOW_MAX) as usize;
        let last = self.looks.len() - 1;
        let (from, to) = (&self.looks[last.saturating_sub(window)], &self.looks[last]);
        let seconds = to.at.since(from.at).as_secs_f64();
        let ports = target.portals().zip(from.ports.iter().zip(&to.ports));
        let luns = target.volumes().iter().zip(names).zip(from.luns.iter().zip(&to.luns));
        let addresses: Vec<String> =
            target.portals().map(|port| port.address().to_string()).collect();
        Status {
            version: VERSION,
            iqn: target.name().to_owned(),
            pid: std::process::id(),
            array: None,
            uptime_s: clock::now().since(self.began).as_secs_f64(),
            window_s: seconds,
            ports: ports
                .map(|(port, (then, now))| Port {
                    address: port.address().to_string(),
                    name: None,
                    group: port.group(),
                    state: if port.is_down() { PortState::Stopped } else { PortState::Up },
                    bytes_per_s: port.rate().map(san::server::PortRate::bytes_per_s),
                    connections: port.counts().connections,
                    in_flight: port.counts().queue,
                    figures: figures(
                        [now.0.bytes_out - then.0.bytes_out, now.0.bytes_in - then.0.bytes_in],
                        &now.1.since(&then.1),
                        seconds,
                    ),
                })
                .collect(),
            luns: luns
                .enumerate()
                .map(|(lun, ((volume, name), (then, now)))| {
                    let bytes = [
                        now.0.bytes_read - then.0.bytes_read,
                        now.0.bytes_written - then.0.bytes_written,
                    ];
                    let figures = figures(bytes, &now.1.since(&then.1), seconds);
                    unit(lun, volume, name, figures, snapshot)
                })
                .collect(),
            sessions: snapshot.sessions.iter().map(|one| session(one, &addresses)).collect(),
            silent_threads: snapshot.silent,
        }
    }
}

/// Figures of what happened in so many seconds.
fn figures([read, written]: [u64; 2], latencies: &Latencies, seconds: f64) -> Figures {
    let per_s = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let latency = |counts: &LatencyCounts| {
        Some(Latency {
            commands: counts.count(),
            p50_ns: counts.percentile(0.5)?.0,
            p99_ns: counts.percentile(0.99)?.0,
        })
    };
    Figures {
        reads_per_s: per_s(latencies.reads.count()),
        writes_per_s: per_s(latencies.writes.count()),
        read_bytes_per_s: per_s(read),
        written_bytes_per_s: per_s(written),
        read_latency: latency(&latencies.reads),
        write_latency: latency(&latencies.writes),
    }
}

fn unit(
    lun: usize,
    volume: &san::volume::Volume,
    name: &str,
    figures: Figures,
    snapshot: &TargetSnapshot,
) -> Lun {
    let is = volume.attributes();
    let known = snapshot.reservations.get(lun);
    let classic = known.and_then(|known| known.classic.as_ref()).map(|by| (by, "RESERVE"));
    let held = known.and_then(|known| known.held.as_ref()).map(|(by, kind)| (by, *kind));
    let registrations = known.map(|known| &known.registrations[..]).unwrap_or_default();
    Lun {
        lun,
        volume: name.to_owned(),
        bytes: is.blocks * u64::from(is.block),
        block: is.block,
        thin: is.thin,
        read_only: is.read_only,
        serial: is.serial.clone(),
        taken: volume.taken(),
        failed: volume.counters().failed,
        sync_failure: volume.sync_failure().map(|e| e.to_string()),
        figures,
        reservation: held
            .or(classic)
            .map(|(by, kind)| Reservation { kind: kind.to_owned(), by: by.initiator.to_string() }),
        registrations: registrations
            .iter()
            .map(|(nexus, key)| Registration {
                initiator: nexus.initiator.to_string(),
                group: nexus.port,
                key: format!("0x{key:016x}"),
            })
            .collect(),
    }
}

fn session(one: &SessionStatus, addresses: &[String]) -> Session {
    let age = one.age.as_secs_f64();
    let connections = one.connections.iter().map(|connection| Connection {
        cid: connection.cid,
        portal: addresses.get(connection.portal).cloned().unwrap_or_default(),
        from: connection.from.to_string(),
        header_digest: connection.header_digest,
        data_digest: connection.data_digest,
        received_bytes: connection.received,
        sent_bytes: connection.sent,
    });
    Session {
        initiator: one.initiator.clone(),
        isid: one.isid.clone(),
        tsih: one.tsih,
        discovery: one.discovery,
        age_s: age,
        since_unix_s: clock::wall_ns() as f64 / 1e9 - age,
        in_flight: one.commands,
        connections: connections.collect(),
    }
}
