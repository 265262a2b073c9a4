//! The running target, as a library sees it.

use super::acceptor::policy::Rules;
use super::acceptor::{Acceptor, listening};
use super::config::TargetSettings;
use super::counters::TrafficCounts;
use super::error::StartError;
use super::hold::{Holds, VolumeLimit};
use super::latency::LatencyCells;
use super::mailbox::Mailbox;
use super::messages::{ToAcceptor, ToWorker};
use super::persistence::{self, ReservationStore, ReservationWriter};
use super::port::{Port, PortalConfig};
use super::portal::ServedPortal;
use super::shared::ServerShared;
use super::status::TargetControl;
use super::worker::Worker;
use crate::MADE_FOR_A_RUN;
use crate::volume::{Data, FinishedCommand, Handle, IoConfig, Volume, VolumeExecutor, VolumeJob};
use clock::Ns;
use iscsi::login::Auth;
use iscsi::params::DesiredParams;
use iscsi::scsi::{
    BlockRange, Device, Geometry, MOST_UNITS, Medium, PortState, ScsiStatus, UnitDescription,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::{Builder, JoinHandle, available_parallelism};

/// A target that runs. It stops, as cleanly as by [`TargetServer::stop`], when it is dropped.
pub struct TargetServer {
    shared: Arc<ServerShared>,
    acceptor: Option<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
    reservations: Option<JoinHandle<()>>,
}

/// What went wrong when a target stopped.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// What was written to a volume is perhaps not on its backing store.
    #[error("volume {0} could not be synced: the latest writes may be lost at a power failure")]
    Unsynced(usize),
    /// The volumes could not be synced at all.
    #[error("the volumes could not be synced: {0}")]
    Sync(#[from] io::Error),
    /// A thread of the target died.
    #[error("a thread of the target has panicked")]
    Panicked,
}

impl TargetServer {
    /// Starts to listen and to serve.
    /// # Errors
    /// The configuration is not sound, an address cannot be listened on, or the system refuses what threads need.
    pub fn start(config: TargetSettings) -> Result<TargetServer, StartError> {
        check(&config)?;
        let rules = Rules::new(&config)?;
        let threads = match config.threads {
            0 => available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let (listeners, ports) = listen(&config.portals, threads)?;
        let device = device(&config, rules.name());
        let mut reservations = None;
        let mut writer = None;
        if let Some(directory) = config.state.clone() {
            persistence::restore(&directory, &device)?;
            let (keeps, orders) = ReservationStore::new();
            reservations = Some(keeps);
            writer = Some(ReservationWriter { directory, orders });
        }
        let mailboxes: io::Result<Vec<Mailbox<ToWorker>>> =
            (0..threads).map(|_| Mailbox::new()).collect();
        let mailboxes = mailboxes.map_err(StartError::Thread)?;
        let acceptor = Mailbox::new().map_err(StartError::Thread)?;
        let holds = Holds::none(config.volumes.len(), ports.len());
        let shared = Arc::new(ServerShared {
            holds,
            device,
            latency: config.volumes.iter().map(|_| LatencyCells::of_threads(threads)).collect(),
            volumes: config.volumes.clone(),
            ports,
            limits: config.limits.clone(),
            listener: config.listener.clone(),
            spin: config.spin,
            workers: mailboxes.iter().map(Mailbox::address).collect(),
            acceptor: acceptor.address(),
            reservations,
        });
        let mut target =
            TargetServer { shared, acceptor: None, workers: Vec::new(), reservations: None };
        target
            .launch(rules, config.wishes, mailboxes, acceptor, listeners, writer)
            .map_err(StartError::Thread)?;
        Ok(target)
    }

    /// Starts the threads. Where one fails, those that run are stopped when the target is dropped.
    fn launch(
        &mut self,
        rules: Rules,
        wishes: DesiredParams,
        mailboxes: Vec<Mailbox<ToWorker>>,
        acceptor: Mailbox<ToAcceptor>,
        listeners: Vec<OwnedFd>,
        writer: Option<ReservationWriter>,
    ) -> io::Result<()> {
        for (thread, mailbox) in mailboxes.into_iter().enumerate() {
            let shared = Arc::clone(&self.shared);
            let (ready, made) = channel();
            // A ring belongs to the thread that made it.
            let run = move || match Worker::new(thread, mailbox, &shared) {
                Ok(worker) => {
                    let _ = ready.send(Ok(()));
                    worker.run();
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            };
            self.workers.push(Builder::new().name(format!("target-{thread}")).spawn(run)?);
            made.recv().map_err(io::Error::other)??;
        }
        self.reservations = writer.map(|writer| writer.spawn(&self.shared)).transpose()?;
        let acceptor = Acceptor::new(rules, wishes, acceptor, &self.shared, listeners)?;
        self.acceptor =
            Some(Builder::new().name("target-door".to_owned()).spawn(move || acceptor.run())?);
        Ok(())
    }

    /// The target's iSCSI name.
    pub fn name(&self) -> &str {
        self.shared.device.name()
    }

    /// Where it listens, in the order of the configuration, with the ports that were found for 0.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.shared.ports.iter().map(|port| port.address).collect()
    }

    /// The URLs of all logical units, portal by portal. A portal on all addresses is named by the loopback address.
    pub fn urls(&self) -> Vec<String> {
        let name = self.name();
        let units = self.shared.volumes.len();
        let urls = |address: SocketAddr| {
            (0..units).map(move |lun| format!("iscsi://{address}/{name}/{lun}"))
        };
        self.addresses().into_iter().map(here).flat_map(urls).collect()
    }

    /// How many portals it has.
    pub fn portals(&self) -> usize {
        self.shared.ports.len()
    }

    /// One of its portals, to inspect or to inject faults.
    pub fn portal(&self, index: usize) -> Option<ServedPortal<'_>> {
        self.shared.ports.get(index).map(|port| ServedPortal { shared: &self.shared, port })
    }

    /// To look at it and to take its portals down and up from other threads. What holds on to it must let go before
    /// the target stops.
    pub fn control(&self) -> TargetControl {
        TargetControl::new(&self.shared)
    }

    /// Changes the access state (ALUA) of a portal group for all logical units, as the target's operator; initiators
    /// get a unit attention. `false` if there is no such group.
    pub fn set_access(&self, group: u16, state: PortState) -> bool {
        self.shared.device.units().iter().all(|unit| unit.set_port(group, state))
    }

    /// What went through a portal so far.
    pub fn counts(&self, portal: usize) -> Option<TrafficCounts> {
        self.shared.ports.get(portal).map(|port| port.counts())
    }

    /// Holds the reads and writes of a volume to a limit, from now on.
    pub fn limit_volume(&self, volume: usize, limit: VolumeLimit) {
        self.shared.holds.limit_volume(volume, limit);
    }

    /// Holds each serving thread to a share of a processor, from now on; 1: all of it.
    pub fn limit_cpu(&self, share: f64) {
        self.shared.holds.limit_cpu(share);
    }

    /// For how long the serving threads have rested to keep to that share, all of them together.
    pub fn rested(&self) -> Ns {
        self.shared.holds.rested()
    }

    /// The volumes that it serves, LUN 0 first; each has counters of its own.
    pub fn volumes(&self) -> &[Arc<Volume>] {
        &self.shared.volumes
    }

    /// Stops: closes portals, asks initiators to log out within [`super::TargetLimits::stop_time`], lets commands
    /// end, and syncs the volumes.
    /// # Errors
    /// What was written is perhaps not on its backing store, or a thread has died.
    pub fn stop(mut self) -> Result<(), StopError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), StopError> {
        if self.acceptor.is_none() && self.workers.is_empty() {
            return Ok(());
        }
        let mut panicked = false;
        self.shared.acceptor.send(ToAcceptor::Stop);
        if let Some(acceptor) = self.acceptor.take() {
            panicked |= acceptor.join().is_err();
        }
        for worker in &self.shared.workers {
            worker.send(ToWorker::Stop);
        }
        for worker in self.workers.drain(..) {
            panicked |= worker.join().is_err();
        }
        if let Some(reservations) = &self.shared.reservations {
            reservations.close();
        }
        if let Some(reservations) = self.reservations.take() {
            panicked |= reservations.join().is_err();
        }
        sync(&self.shared.volumes)?;
        if panicked { Err(StopError::Panicked) } else { Ok(()) }
    }
}

impl Drop for TargetServer {
    fn drop(&mut self) {
        // A caller that needs the result calls `stop`.
        let _ = self.end();
    }
}

/// Has everything that was written on its backing store.
fn sync(volumes: &[Arc<Volume>]) -> Result<(), StopError> {
    let mut io = VolumeExecutor::new(IoConfig::default())?;
    let mut left = 0;
    let mut done: Vec<FinishedCommand> = Vec::new();
    for (token, volume) in (0u64..).zip(volumes) {
        let (volume, medium) =
            (Handle::new(Arc::clone(volume)), Medium::Sync(BlockRange::default()));
        left += 1;
        done.extend(io.start(VolumeJob { token, volume, medium, data: Data::None }));
    }
    io.submit();
    loop {
        left -= done.len();
        let failed = done.drain(..).find(|done| done.ending.status != ScsiStatus::Good);
        if let Some(failed) = failed {
            return Err(StopError::Unsynced(failed.token as usize));
        }
        if left == 0 {
            return Ok(());
        }
        match poll(&mut [PollFd::from_borrowed_fd(io.fd(), PollFlags::IN)], None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        io.reap(&mut done);
        io.submit();
    }
}

/// Whether a configuration is sound.
fn check(config: &TargetSettings) -> Result<(), StartError> {
    if config.portals.is_empty() {
        return Err(StartError::NoPortal);
    }
    if config.volumes.is_empty() {
        return Err(StartError::NoVolume);
    }
    let (given, most) = (config.volumes.len(), MOST_UNITS);
    if given > most {
        return Err(StartError::Volumes { given, most });
    }
    for portal in &config.portals {
        if portal.group == 0 {
            return Err(StartError::Group(portal.address));
        }
        let private = config.isolated || portal.address.ip().is_loopback();
        if matches!(config.auth, Auth::None) && !private {
            return Err(StartError::Open(portal.address));
        }
    }
    Ok(())
}

fn listen(
    portals: &[PortalConfig],
    threads: usize,
) -> Result<(Vec<OwnedFd>, Vec<Arc<Port>>), StartError> {
    let mut listeners = Vec::new();
    let mut ports = Vec::new();
    for (index, portal) in portals.iter().enumerate() {
        let address = portal.address;
        let (listener, found) =
            listening::open(address).map_err(|why| StartError::Listen { address, why })?;
        listeners.push(listener);
        ports.push(Arc::new(Port::new(index, portal, found, threads)));
    }
    Ok((listeners, ports))
}

/// The device server for the volumes.
fn device(config: &TargetSettings, name: &str) -> Device {
    let groups: BTreeSet<u16> = config.portals.iter().map(|portal| portal.group).collect();
    let groups: Vec<u16> = groups.into_iter().collect();
    let mut device = Device::new(name, &groups, Vec::new());
    let product = if config.for_a_run { MADE_FOR_A_RUN } else { "Wirespeed volume" };
    for volume in &config.volumes {
        let attributes = volume.attributes();
        let unit = UnitDescription {
            geometry: Geometry { block: attributes.block, blocks: attributes.blocks },
            thin: attributes.thin,
            read_only: attributes.read_only,
            write_back: attributes.write_back,
            keeps_reservations: config.state.is_some(),
            serial: attributes.serial.clone(),
            product: product.to_owned(),
            revision: "1".to_owned(),
        };
        device.add(unit, volume.commands());
    }
    device
}

/// A local address that reaches a portal.
fn here(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port())
        }
        IpAddr::V6(ip) if ip.is_unspecified() => {
            SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port())
        }
        _ => address,
    }
}
