//! What stands within a host: processors of guests and of the hypervisor, virtual adapters and disks with their queues,
//! datastores with their lock, and the queue that an adapter's driver keeps for each LUN.
//!
//! A guest's processors and the host's are stations of their own: virtual processors are taken to have cores to run on
//! beside those on which the hypervisor works. Queue limits are held until the I/O is back, as drivers hold them.

use super::{Bench, defaults, paths, work};
use crate::Ps;
use crate::lab::sheet::Sheet;
use crate::model::{Hop, Law, Station};
use scenario::Host;
use scenario::topology::{HopId, HopKind};

impl Bench<'_> {
    /// Builds all of it.
    pub(super) fn guests(&mut self) {
        for (hop, of) in self.each(&[HopKind::VmCpu]) {
            let vm = self.scenario.lab.vms.iter().find(|vm| vm.name == of.device);
            let given = vm.and_then(|vm| vm.vcpus);
            let count = defaults::VCPUS.unless(given, &of.name, self.draft).max(1);
            let station = self.draft.station(hop, Station::many(count));
            self.draft.limits(hop).servers = Some(count);
            self.processors.insert(of.device.clone(), station);
        }
        for (hop, of) in self.each(&[HopKind::HostCpu]) {
            self.host(hop, &of.name, &of.device);
        }
        for (hop, of) in self.each(&[HopKind::VirtualDisk]) {
            self.virtual_disk(hop, &of.name, &of.device);
        }
        for (hop, of) in self.each(&[HopKind::VirtualAdapter]) {
            self.virtual_adapter(hop, &of.name, of.part.as_deref());
        }
        for (hop, of) in self.each(&[HopKind::Datastore]) {
            self.datastore(hop, &of.name);
        }
        for (hop, of) in self.each(&[HopKind::LunQueue]) {
            self.lun_queue(hop, &of.name);
        }
    }

    /// The host of this name, and the figures of its hypervisor.
    fn named(&self, host: &str) -> (Option<&Host>, Sheet<'_>) {
        let host = self.scenario.lab.hosts.iter().find(|known| known.name == host);
        let hypervisor = host.and_then(|host| host.hypervisor.as_deref());
        (host, Sheet::of(self.scenario, hypervisor))
    }

    /// Processors that carry I/O, and what an I/O costs them.
    fn host(&mut self, hop: HopId, name: &str, device: &str) {
        let (host, hypervisor) = self.named(device);
        let machine = Sheet::of(self.scenario, host.and_then(|host| host.part.as_deref()));
        let virtual_ = host.is_some_and(|host| host.hypervisor.is_some())
            || self.scenario.lab.vms.iter().any(|vm| vm.host.as_deref() == Some(device));
        let sockets = || machine.count("processors");
        let cores =
            hypervisor.count("io_cores").or_else(|| machine.count("cores")).or_else(sockets);
        let (time, byte) = (hypervisor.time("cpu_per_io"), hypervisor.per_byte("cpu_per_byte"));
        let cores = defaults::CORES.unless(cores, name, self.draft);
        let usual = if virtual_ { defaults::HYPERVISOR_IO } else { defaults::HOST_IO };
        let time = usual.unless(time, name, self.draft);
        let byte = defaults::HOST_BYTE.unless(byte, name, self.draft);
        let station = self.draft.station(hop, Station::many(cores));
        self.stage(hop).out.push(work(station, time, byte));
        let limits = self.draft.limits(hop);
        limits.servers = Some(cores);
        limits.ops_rate = rate(cores, time);
        limits.both_rate = rate(cores, byte);
        self.processors.insert(device.to_owned(), station);
    }

    /// A virtual adapter: its queue, and interrupts that come together.
    fn virtual_adapter(&mut self, hop: HopId, name: &str, part: Option<&str>) {
        let sheet = Sheet::of(self.scenario, part);
        let queue = defaults::ADAPTER_QUEUE.unless(sheet.count("adapter_queue"), name, self.draft);
        self.hold(hop, queue);
        let (count, within) = (sheet.count("coalesce_ios"), sheet.time("coalesce_time"));
        if let Some(count) = count.filter(|count| *count > 1) {
            let within = defaults::COALESCE.unless(within, name, self.draft);
            let within = Ps::from_secs_f64(within);
            let station = self.draft.station(hop, Station::Batch { count, within });
            self.stage(hop).home.push(Hop::visit(station, Law::ZERO));
        }
    }

    /// A virtual disk: the guest's work for an I/O, which depends on the adapter's model, and the disk's queue.
    fn virtual_disk(&mut self, hop: HopId, name: &str, vm: &str) {
        let adapter = self.beside(hop, HopKind::VirtualAdapter);
        let sheet = Sheet::of(self.scenario, adapter.and_then(|adapter| adapter.part.as_deref()));
        if let Some(station) = self.processors.get(vm).copied() {
            let whose = adapter.map_or(name, |adapter| adapter.name.as_str());
            let time = defaults::GUEST_IO.unless(sheet.time("cpu_per_io"), whose, self.draft);
            self.stage(hop).out.push(work(station, time, 0.0));
            self.guest_limit(vm, time);
        }
        let disk = paths::disk(self.scenario, self.topology, hop);
        let given = disk.and_then(|disk| disk.queue).or(sheet.count("disk_queue"));
        let queue = defaults::DISK_QUEUE.unless(given, name, self.draft);
        self.hold(hop, queue);
    }

    /// What a guest's processors carry at most, over the cheapest of its adapters.
    fn guest_limit(&mut self, vm: &str, time: f64) {
        let of_vm = self.each(&[HopKind::VmCpu]).into_iter().find(|(_, of)| of.device == vm);
        if let Some((processors, _)) = of_vm {
            let limits = self.draft.limits(processors);
            let most = rate(limits.servers.unwrap_or(1), time);
            limits.ops_rate = limits.ops_rate.into_iter().chain(most).reduce(f64::max);
        }
    }

    /// A file system that holds disks as files: a write holds its lock for a time.
    fn datastore(&mut self, hop: HopId, name: &str) {
        let host = self.beside(hop, HopKind::HostCpu).map_or("", |host| host.device.as_str());
        let given = self.named(host).1.time("lock_time");
        let time = defaults::LOCK.unless(given, name, self.draft);
        if time > 0.0 {
            let station = self.draft.station(hop, Station::SINGLE);
            self.stage(hop).out_of_writes.push(work(station, time, 0.0));
            let limits = self.draft.limits(hop);
            (limits.servers, limits.ops_rate) = (Some(1), rate(1, time));
        }
    }

    /// What a driver has outstanding at once for a LUN: an HBA's, or that of an initiator in software.
    fn lun_queue(&mut self, hop: HopId, name: &str) {
        let adapter = self.beside(hop, HopKind::Adapter);
        let host = self.beside(hop, HopKind::HostCpu).map_or("", |host| host.device.as_str());
        let sheet = Sheet::of(self.scenario, adapter.and_then(|adapter| adapter.part.as_deref()));
        let given = self.bare_queue(hop).or(sheet.count("lun_queue"));
        let queue = match self.over_ethernet(hop) {
            true => {
                let given = given.or(self.named(host).1.count("software_iscsi_queue"));
                defaults::SOFTWARE_QUEUE.unless(given, name, self.draft)
            }
            false => defaults::LUN_QUEUE.unless(given, name, self.draft),
        };
        self.hold(hop, queue);
    }
}

impl Bench<'_> {
    /// The queue that a host's own disk, with no virtual disk before it, is given.
    fn bare_queue(&self, hop: HopId) -> Option<u32> {
        match self.beside(hop, HopKind::VirtualDisk) {
            None => paths::disk(self.scenario, self.topology, hop)?.queue,
            Some(_) => None,
        }
    }
}

/// So many servers that need `time` seconds each; `None` where it is nothing.
fn rate(servers: u32, time: f64) -> Option<f64> {
    (time > 0.0).then(|| f64::from(servers) / time)
}
