//! The parts of a host: processors of guests and of the hypervisor, virtual adapters and disks with their queues,
//! datastores with their lock, and the queue of an adapter's driver for each LUN.
//!
//! Guest processors and host processors are separate stations: virtual processors are assumed to have cores beside
//! those of the hypervisor, unless it says that they share them (`guests_share_cores`). Queue limits are held until the
//! I/O is back, as drivers hold them.

use super::threads::{Threads, halting};
use super::{FrontBuilder, defaults, work};
use crate::Ps;
use crate::lab::sheet::Sheet;
use crate::model::{Hop, Law, Station};
use scenario::topology::{Hop as Stop, HopId, HopKind};

impl<'a> FrontBuilder<'a> {
    /// Builds all of it.
    pub(super) fn guests(&mut self) {
        for (hop, of) in self.atlas.each(&[HopKind::HostCpu]) {
            self.host(hop, of);
        }
        for (hop, of) in self.atlas.each(&[HopKind::VmCpu]) {
            self.vm(hop, of);
        }
        for (hop, of) in self.atlas.each(&[HopKind::VirtualDisk]) {
            self.virtual_disk(hop, of);
        }
        for (hop, of) in self.atlas.each(&[HopKind::VirtualAdapter]) {
            self.virtual_adapter(hop, of);
        }
        for (hop, of) in self.atlas.each(&[HopKind::Datastore]) {
            self.datastore(hop, of);
        }
        for (hop, of) in self.atlas.each(&[HopKind::LunQueue]) {
            self.lun_queue(hop, of);
        }
    }

    /// The processors of a VM: a station of their own, or its host's cores, which its own number then does not limit.
    fn vm(&mut self, hop: HopId, of: &'a Stop) {
        let vm = self.atlas.vm(&of.device);
        let count = vm.and_then(|vm| vm.vcpus);
        let count = defaults::VCPUS.unless(count, &of.name, self.draft).max(1);
        let host = vm.and_then(|vm| vm.host.as_deref()).unwrap_or_default();
        let shares = self.atlas.hypervisor(host).flag("guests_share_cores") == Some(true);
        let cores = self.processors.get(host).filter(|_| shares);
        let station = match cores.copied() {
            Some((_, cores)) => cores,
            None => self.draft.station(hop, Station::many(count)),
        };
        self.draft.limits(hop).servers = Some(count);
        self.processors.insert(&of.device, (hop, station));
    }

    /// Processors that handle I/O, and their cost per I/O.
    fn host(&mut self, hop: HopId, of: &'a Stop) {
        let host = self.atlas.host(&of.device);
        let hypervisor = self.atlas.hypervisor(&of.device);
        let machine = Sheet::of(self.atlas.scenario, host.and_then(|host| host.part.as_deref()));
        let cores = hypervisor.count("io_cores").or_else(|| machine.count("cores"));
        let cores = cores.or_else(|| machine.count("processors"));
        let cores = defaults::CORES.unless(cores, &of.name, self.draft);
        let usual = match host.is_some_and(|host| host.hypervisor.is_some()) {
            true => defaults::HYPERVISOR_IO,
            false => defaults::HOST_IO,
        };
        let time = usual.unless(hypervisor.time("cpu_per_io"), &of.name, self.draft);
        let byte = hypervisor.per_byte("cpu_per_byte");
        let byte = defaults::HOST_BYTE.unless(byte, &of.name, self.draft);
        let passes = hypervisor.has("pass_time");
        let station = self.draft.station(
            hop,
            match passes {
                true => Station::Processors { count: cores, halt: halting(&hypervisor) },
                false => Station::many(cores),
            },
        );
        let load = (self.issuing_on(&of.device), self.in_flight(&of.device));
        match Threads::of(&hypervisor, station, cores, load) {
            Some(threads) => {
                self.threads.insert(&of.device, threads);
                self.extrapolation(of, &hypervisor);
            }
            None => self.stage(hop).out.push(work(station, time, byte)),
        }
        let limits = self.draft.limits(hop);
        limits.servers = Some(cores);
        limits.ops_rate = rate(cores, time);
        limits.both_rate = rate(cores, byte);
        self.processors.insert(&of.device, (hop, station));
    }

    /// A virtual adapter: its queue, the rate of its rings and its interrupt, and interrupt coalescing.
    fn virtual_adapter(&mut self, hop: HopId, of: &Stop) {
        let (sheet, name) = (self.atlas.sheet(of), of.name.as_str());
        let queue = defaults::ADAPTER_QUEUE.unless(sheet.count("adapter_queue"), name, self.draft);
        self.hold(hop, queue);
        match sheet.iops("iops_max") {
            Some(most) => {
                let station = self.draft.station(hop, Station::SINGLE);
                self.stage(hop).out.push(work(station, 1.0 / most, 0.0));
                let limits = self.draft.limits(hop);
                (limits.servers, limits.ops_rate) = (Some(1), Some(most));
            }
            None => defaults::unlimited("iops_max", name, self.draft),
        }
        let (count, within) = (sheet.count("coalesce_ios"), sheet.time("coalesce_time"));
        if let Some(count) = count.filter(|count| *count > 1) {
            let within = defaults::COALESCE.unless(within, name, self.draft);
            let within = Ps::from_secs_f64(within);
            let station = self.draft.station(hop, Station::Batch { count, within });
            self.stage(hop).home.push(Hop::visit(station, Law::ZERO));
        }
    }

    /// A virtual disk: the guest's work per I/O, which depends on the adapter's model, and the disk's queue. Without a
    /// virtual adapter it is a worker on the machine of a run, whose queue is as deep as its load. Where a machine carries both
    /// ends the VM is such a worker too, and the initiator's thread does the guest's work.
    fn virtual_disk(&mut self, hop: HopId, of: &Stop) {
        let adapter = self.atlas.beside(hop, HopKind::VirtualAdapter);
        let sheet = adapter.map_or(Sheet::default(), |adapter| self.atlas.sheet(adapter));
        let host = self.atlas.beside(hop, HopKind::HostCpu).map(|host| host.device.as_str());
        let mut pass = host.and_then(|host| self.initiator(host, &of.device));
        if let Some((processors, station)) = self.processors.get(of.device.as_str()).copied() {
            let whose = adapter.map_or(of.name.as_str(), |adapter| adapter.name.as_str());
            let time = defaults::GUEST_IO.unless(sheet.time("cpu_per_io"), whose, self.draft);
            match &mut pass {
                Some(pass) => pass.each += time,
                None => self.stage(hop).out.push(work(station, time, 0.0)),
            }
            // Over the cheapest of its adapters, where they differ.
            let limits = self.draft.limits(processors);
            let most = rate(limits.servers.unwrap_or(1), time);
            limits.ops_rate = limits.ops_rate.into_iter().chain(most).reduce(f64::max);
        }
        self.stage(hop).pass = pass;
        let processors = host.and_then(|host| self.processors.get(host).copied());
        if let (None, Some((_, station)), Some(time)) =
            (pass, processors, sheet.time("host_cpu_per_io"))
        {
            self.stage(hop).out.push(work(station, time, 0.0));
        }
        let given = self.atlas.disk(hop).and_then(|disk| disk.queue);
        let given = given.or(sheet.count("disk_queue"));
        if given.is_some() || adapter.is_some() {
            let queue = defaults::DISK_QUEUE.unless(given, &of.name, self.draft);
            self.hold(hop, queue);
        }
    }

    /// A file system that holds disks as files: a write holds its lock for some time.
    fn datastore(&mut self, hop: HopId, of: &Stop) {
        let host = self.atlas.beside(hop, HopKind::HostCpu).map_or("", |host| &host.device);
        let given = self.atlas.hypervisor(host).time("lock_time");
        let time = defaults::LOCK.unless(given, &of.name, self.draft);
        if time > 0.0 {
            let station = self.draft.station(hop, Station::SINGLE);
            self.stage(hop).out_of_writes.push(work(station, time, 0.0));
            let limits = self.draft.limits(hop);
            (limits.servers, limits.ops_rate) = (Some(1), rate(1, time));
        }
    }

    /// The queue of a driver for a LUN: an HBA's or a software initiator's. A host's own disk states its own.
    fn lun_queue(&mut self, hop: HopId, of: &Stop) {
        let sheet = self.atlas.sheet(of);
        let bare = self.atlas.beside(hop, HopKind::VirtualDisk).is_none();
        let own = self.atlas.disk(hop).filter(|_| bare).and_then(|disk| disk.queue);
        let given = own.or(sheet.count("lun_queue"));
        let queue = match self.over_ethernet(hop) {
            true => {
                let host = self.atlas.beside(hop, HopKind::HostCpu).map_or("", |host| &host.device);
                let given = given.or(self.atlas.hypervisor(host).count("software_iscsi_queue"));
                defaults::SOFTWARE_QUEUE.unless(given, &of.name, self.draft)
            }
            false => defaults::LUN_QUEUE.unless(given, &of.name, self.draft),
        };
        self.hold(hop, queue);
    }
}

/// The rate of `servers` servers that need `time` seconds per I/O; `None` where it is zero.
fn rate(servers: u32, time: f64) -> Option<f64> {
    (time > 0.0).then(|| f64::from(servers) / time)
}
