//! Adapters, ports, cables and switches: the limits of a path apart from processors.
//!
//! Every port is a wire in each direction at its own speed, and so is a cable with a speed; a cable without one is
//! counted on the wire of its slower end and is no limit of its own. An adapter adds its bus, its limits per direction
//! and for both together, the rate of its chip, and its outstanding commands. Distance costs time, and on Fibre Channel
//! also throughput where there are too few buffer credits.

use super::frames::{PathProtocol, SECONDS_A_METRE, share_by_credits, share_by_gap};
use super::path_medium::{self, PacketCost, PortSpeed, SessionCost};
use super::{FrontBuilder, defaults, network, visit};
use crate::lab::draft::{Wire, WireDirection};
use crate::lab::sheet::Sheet;
use crate::model::{Station, StationId};
use crate::plant::HopElement;
use scenario::topology::{Hop as Stop, HopId, HopKind};
use std::collections::BTreeMap;

/// The payload share of PCI Express: a packet of 128 bytes of payload, the smallest limit that a chipset may set and
/// the usual one of servers, has 24 bytes of framing, header and check (PCI Express Base Specification).
const PCIE_PAYLOAD: f64 = 128.0 / (128.0 + 24.0);

/// Hops that carry frames.
const CARRIERS: [HopKind; 6] = [
    HopKind::Adapter,
    HopKind::InitiatorPort,
    HopKind::Link,
    HopKind::SwitchPort,
    HopKind::Trunk,
    HopKind::TargetPort,
];

/// How far along a path to look for the wire on which a carrier without one is counted.
const REACH: usize = 8;

impl<'a> FrontBuilder<'a> {
    /// Builds all of it.
    pub(super) fn fabric(&mut self) {
        let widest = path_medium::widest(self.atlas.topology, &self.lines);
        let medium = |hop: HopId| widest[hop.0 as usize].unwrap_or(PathProtocol::Plain);
        for (hop, of) in self.atlas.each(&CARRIERS) {
            match of.kind {
                HopKind::Adapter => self.adapter(hop, of, medium(hop)),
                HopKind::InitiatorPort => self.port(hop, of),
                HopKind::SwitchPort => self.switch_port(hop, of),
                HopKind::TargetPort => self.target_port(hop, of, widest[hop.0 as usize]),
                _ => {}
            }
            let passive = matches!(of.kind, HopKind::Link | HopKind::Trunk);
            match self.atlas.speed(hop) {
                Some(speed) => self.cable_end(hop, speed.payload(medium(hop)), medium(hop)),
                None if passive || self.atlas.has_ports(of) => {}
                None => defaults::unlimited("port_rate", &of.name, self.draft),
            }
        }
        self.host_buses();
        for (hop, of) in self.atlas.each(&[HopKind::Link, HopKind::Trunk]) {
            self.distance(hop, of, medium(hop));
        }
        self.borrow();
        self.packets();
        self.sessions();
        self.target_threads();
    }

    /// A wire in each direction.
    fn duplex(&mut self, hop: HopId, rate: f64) {
        let read = self.draft.wire(hop, WireDirection::Read, rate);
        let write = self.draft.wire(hop, WireDirection::Write, rate);
        self.stage(hop).read.push(read);
        self.stage(hop).write.push(write);
    }

    /// The wires of a port or a cable. On Fibre Channel the sender of a direction sets its gaps: what is at the far end
    /// of the cable those of reads, what is at the near end those of writes.
    fn cable_end(&mut self, hop: HopId, rate: f64, medium: PathProtocol) {
        let [of_reads, of_writes] = self.shares(hop, medium);
        let read = self.draft.wire(hop, WireDirection::Read, rate * of_reads);
        let write = self.draft.wire(hop, WireDirection::Write, rate * of_writes);
        self.stage(hop).read.push(read);
        self.stage(hop).write.push(write);
    }

    /// What the gaps of its senders leave of the rate of a port or a cable, over the smallest that a sender of its own
    /// leaves: of reads and of writes.
    fn shares(&self, hop: HopId, medium: PathProtocol) -> [f64; 2] {
        let [near, far] = match medium {
            PathProtocol::Fibre => self.atlas.ends(hop),
            PathProtocol::Ethernet { .. } | PathProtocol::Plain => [None, None],
        };
        [far, near].map(|end| {
            let words = end.and_then(|end| self.atlas.sheet(end).count("fill_words"));
            words.map_or(1.0, share_by_gap)
        })
    }

    /// What a port of an array takes until it is ready for the data of a write.
    fn target_port(&mut self, hop: HopId, of: &Stop, medium: Option<PathProtocol>) {
        if let Some(seconds) = self.atlas.sheet(of).time("transfer_ready_time") {
            if medium.is_some_and(|medium| medium != PathProtocol::Fibre) {
                self.draft.note(format!(
                    "{}: `transfer_ready_time` changes nothing, since no path to it is Fibre Channel: that is a `port_rate` such \
                     as `8gfc`",
                    of.device
                ));
                return;
            }
            let station = self.draft.station(hop, Station::Delay);
            self.stage(hop).ready = Some((station, seconds));
        }
    }

    /// An adapter apart from its ports.
    fn adapter(&mut self, hop: HopId, of: &Stop, medium: PathProtocol) {
        let sheet = self.atlas.sheet(of);
        if !self.atlas.has_ports(of) {
            self.port(hop, of);
        }
        if let Some(seconds) = sheet.time("latency") {
            let station = self.draft.station(hop, Station::Delay);
            let stage = self.stage(hop);
            stage.out.push(visit(station, seconds, 0.0));
            stage.delay = Some((station, seconds));
        }
        match bus(&sheet) {
            Some(rate) => self.duplex(hop, rate),
            None => {
                defaults::unlimited("bus", &of.name, self.draft);
                self.sum_of_ports(hop, of, medium);
            }
        }
        if let Some(rate) = sheet.rate("read_rate") {
            let wire = self.draft.wire(hop, WireDirection::Read, rate);
            self.stage(hop).read.push(wire);
        }
        if let Some(rate) = sheet.rate("write_rate") {
            let wire = self.draft.wire(hop, WireDirection::Write, rate);
            self.stage(hop).write.push(wire);
        }
    }

    /// An adapter of several ports without a known bus is a wire as fast as all of its ports. It limits nothing; the
    /// adapter's traffic is counted on it, since the wire of one port would count that port only.
    fn sum_of_ports(&mut self, hop: HopId, of: &Stop, medium: PathProtocol) {
        let ports = self.atlas.each(&[HopKind::InitiatorPort]).into_iter();
        let own =
            ports.filter(|(_, port)| port.name.rsplit_once(':').is_some_and(|p| p.0 == of.name));
        let rates = own.map(|(port, _)| {
            let rate = self.atlas.speed(port)?.payload(medium);
            Some(self.shares(port, medium).map(|share| rate * share))
        });
        let rates: Option<Vec<[f64; 2]>> = rates.collect();
        let sum = |way: usize| rates.iter().flatten().map(|rate| rate[way]).sum::<f64>();
        let (of_reads, of_writes) = (sum(0), sum(1));
        if of_reads > 0.0 {
            let read = self.draft.wire(hop, WireDirection::Read, of_reads);
            let write = self.draft.wire(hop, WireDirection::Write, of_writes);
            self.stage(hop).read.push(read);
            self.stage(hop).write.push(write);
        }
    }

    /// A port of an adapter, or an adapter with one port in use: its outstanding commands, its chip, and its limit for
    /// both directions together.
    fn port(&mut self, hop: HopId, of: &Stop) {
        let sheet = self.atlas.sheet(of);
        match sheet.count("throttle") {
            Some(throttle) => self.hold(hop, throttle),
            None => defaults::unlimited("throttle", &of.name, self.draft),
        }
        match sheet.iops("iops_max") {
            Some(rate) => {
                let station = self.draft.station(hop, Station::SINGLE);
                self.stage(hop).out.push(visit(station, 1.0 / rate, 0.0));
                let limits = self.draft.limits(hop);
                (limits.servers, limits.ops_rate) = (Some(1), Some(rate));
            }
            None => defaults::unlimited("iops_max", &of.name, self.draft),
        }
        match sheet.rate("duplex_rate") {
            Some(rate) => {
                let wire = self.draft.wire(hop, WireDirection::Both, rate);
                self.stage(hop).both.push(wire);
            }
            None => defaults::unlimited("duplex_rate", &of.name, self.draft),
        }
    }

    /// The buses that all adapters of a host share.
    fn host_buses(&mut self) {
        let mut wires: Vec<(&str, Wire, Wire)> = Vec::new();
        for (hop, of) in self.atlas.each(&[HopKind::HostCpu]) {
            if let Some(rate) = bus(&self.atlas.sheet(of)) {
                let read = self.draft.wire(hop, WireDirection::Read, rate);
                let write = self.draft.wire(hop, WireDirection::Write, rate);
                wires.push((&of.device, read, write));
            }
        }
        wires.sort_by_key(|(host, ..)| *host);
        for (adapter, of) in self.atlas.each(&[HopKind::Adapter]) {
            let found = wires.binary_search_by_key(&of.device.as_str(), |(host, ..)| *host);
            if let Ok((_, read, write)) = found.map(|at| wires[at]) {
                self.stage(adapter).read.push(read);
                self.stage(adapter).write.push(write);
            }
        }
    }

    /// The latency of a switch, at the port where an I/O enters it.
    fn switch_port(&mut self, hop: HopId, of: &Stop) {
        if self.atlas.is_entered(hop) {
            let given = self.atlas.sheet(of).time("latency");
            let seconds = defaults::SWITCH.unless(given, &of.device, self.draft);
            self.trip(hop, seconds);
        }
    }

    fn trip(&mut self, hop: HopId, seconds: f64) {
        if seconds > 0.0 {
            let station = self.draft.station(hop, Station::Delay);
            self.stage(hop).trip = Some((station, seconds));
        }
    }

    /// The delay of a cable by its length, and the rate that its buffer credits allow.
    fn distance(&mut self, hop: HopId, of: &Stop, medium: PathProtocol) {
        let Some(link) = self.atlas.cable(of) else { return };
        let Some(metres) = link.length_m else {
            let reason = "not given; ten metres would take 50 ns";
            return self.draft.assume("cables", "length_m", "0 m", reason);
        };
        self.trip(hop, metres * SECONDS_A_METRE);
        let Some(speed) = self.slowest(hop).filter(|_| medium == PathProtocol::Fibre) else {
            return;
        };
        let adapter = self.atlas.beside(hop, HopKind::Adapter);
        let adapter = adapter
            .filter(|adapter| [&link.from, &link.to].iter().any(|end| end.device == adapter.name));
        let of_adapter = adapter.and_then(|adapter| self.atlas.sheet(adapter).count("credits"));
        let given = link.credits.or(of_adapter);
        let credits = defaults::CREDITS.unless(given, &of.name, self.draft);
        let share = share_by_credits(speed.line(), credits, metres);
        if share < 1.0 {
            self.duplex(hop, speed.payload(medium) * share);
        }
    }

    /// The slowest speed of a cable and its two ends.
    fn slowest(&self, hop: HopId) -> Option<PortSpeed> {
        let hops = &self.atlas.path(hop)?.hops;
        let at = hops.iter().position(|of| *of == hop)?;
        let near = &hops[at.saturating_sub(1)..(at + 2).min(hops.len())];
        let speeds = near.iter().filter_map(|end| self.atlas.speed(*end));
        speeds.min_by(|a, b| a.line().total_cmp(&b.line()))
    }

    /// Carriers without a wire of their own are counted on the nearest one of a path, the slower one where two are
    /// equally near. A cable has that rate.
    fn borrow(&mut self) {
        for (hop, _) in self.atlas.each(&CARRIERS) {
            let Some(lender) = (!self.has_wires(hop)).then(|| self.lender(hop)).flatten() else {
                continue;
            };
            let stage = self.stage(lender);
            let last = [
                (WireDirection::Read, stage.read.last()),
                (WireDirection::Write, stage.write.last()),
            ];
            let last = last.map(|(side, wire)| (side, wire.copied()));
            for (side, wire) in last {
                wire.into_iter().for_each(|wire| self.draft.carried_by(hop, side, wire));
            }
            if self.atlas.topology.hop(hop).kind == HopKind::Link {
                let of = self.draft.hop(lender).limits;
                let limits = self.draft.limits(hop);
                (limits.read_rate, limits.write_rate) = (of.read_rate, of.write_rate);
            }
        }
    }

    /// The carrier on whose wires another is counted, on the first path through it.
    fn lender(&self, hop: HopId) -> Option<HopId> {
        let topology = self.atlas.topology;
        let hops = &self.atlas.path(hop)?.hops;
        let at = hops.iter().position(|of| *of == hop)?;
        let rate = |hop: &HopId| self.draft.hop(*hop).limits.read_rate.unwrap_or(f64::INFINITY);
        (1..=REACH).find_map(|reach| {
            let before = at.checked_sub(reach).and_then(|at| hops.get(at));
            let near = [before, hops.get(at + reach)].into_iter().flatten().copied();
            let carries = |hop: &HopId| CARRIERS.contains(&topology.hop(*hop).kind);
            let lends = near.filter(|hop| carries(hop) && self.has_wires(*hop));
            lends.min_by(|a, b| rate(a).total_cmp(&rate(b)))
        })
    }

    fn has_wires(&self, hop: HopId) -> bool {
        let own = |side: &dyn Fn(&HopElement) -> bool| self.draft.hop(hop).places.iter().any(side);
        own(&|place| matches!(place, HopElement::ReadLink(..)))
            && own(&|place| matches!(place, HopElement::WriteLink(..)))
            && !self.stages[hop.0 as usize].read.is_empty()
    }

    /// The host CPU cost of TCP/IP packets.
    fn packets(&mut self) {
        let offload = self.atlas.step.frames.offload != Some(false);
        let (figure, usual) = match offload {
            true => ("cpu_per_packet_offload", defaults::PACKET_OFFLOAD),
            false => ("cpu_per_packet", defaults::PACKET),
        };
        let topology = self.atlas.topology;
        // Network loads have their own packet costs.
        let ways = topology.ways.iter().enumerate().filter(|(_, way)| !network::is_net(way));
        for (number, way) in ways {
            for (at, path) in way.paths.iter().enumerate() {
                if !self.lines[number][at].is_ethernet() {
                    continue;
                }
                let adapter = self.atlas.on(path, HopKind::Adapter);
                let host = self.atlas.on(path, HopKind::HostCpu);
                let (Some(adapter), Some(host)) = (adapter, host) else { continue };
                let found = self.processors.get(host.device.as_str());
                let Some((_, processors)) = found.copied() else { continue };
                let sheet = self.atlas.sheet(adapter);
                let each = usual.unless(sheet.time(figure), &adapter.name, self.draft);
                let byte = sheet.per_byte("cpu_per_byte");
                let per_byte = defaults::TCP_BYTE.unless(byte, &adapter.name, self.draft);
                self.lines[number][at].packets = Some(PacketCost { processors, each, per_byte });
            }
        }
    }

    /// An iSCSI session, between a port of a host and one of an array (RFC 7143, an I_T nexus), is served by one thread,
    /// one I/O after the other.
    fn sessions(&mut self) {
        let topology = self.atlas.topology;
        let mut threads: BTreeMap<(&str, Option<HopId>, HopId), StationId> = BTreeMap::new();
        for (number, way) in topology.ways.iter().enumerate() {
            for (at, path) in way.paths.iter().enumerate() {
                let port = path.hops.iter().copied();
                let port = port.rev().find(|hop| topology.hop(*hop).kind == HopKind::TargetPort);
                let host = self.atlas.on(path, HopKind::HostCpu);
                let (Some(port), Some(host)) = (port, host) else { continue };
                if !self.lines[number][at].is_ethernet() {
                    continue;
                }
                let sheet = self.atlas.sheet(topology.hop(port));
                let each = sheet.time("session_time_per_io").unwrap_or(0.0);
                let per_packet = sheet.time("session_time_per_packet").unwrap_or(0.0);
                let per_byte = sheet.per_byte("session_time_per_byte").unwrap_or(0.0);
                if each + per_packet + per_byte <= 0.0 {
                    defaults::unlimited(
                        "session_time_per_io",
                        &topology.hop(port).device,
                        self.draft,
                    );
                    continue;
                }
                let ends = [HopKind::Adapter, HopKind::InitiatorPort];
                let own = path.hops.iter().copied();
                let own = own.rev().find(|hop| ends.contains(&topology.hop(*hop).kind));
                let thread = *threads
                    .entry((&host.device, own, port))
                    .or_insert_with(|| self.draft.station(port, Station::SINGLE));
                let session = SessionCost { thread, each, per_packet, per_byte };
                self.lines[number][at].session = Some(session);
            }
        }
    }

    /// Whether the first path through a hop is Ethernet.
    pub(super) fn over_ethernet(&self, hop: HopId) -> bool {
        self.atlas.first(hop).is_some_and(|(way, path)| self.lines[way][path].is_ethernet())
    }
}

/// Payload bytes a second of a bus in each direction.
fn bus(sheet: &Sheet) -> Option<f64> {
    let rate = sheet.rate("bus")?;
    let lanes = sheet.text("bus")?.to_ascii_lowercase().starts_with("pcie");
    Some(if lanes { rate * PCIE_PAYLOAD } else { rate })
}
