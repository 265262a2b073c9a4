//! Embedded arrays: what an agent serves, its orders for a step, and the interface to the server.
//!
//! An agent that serves arrays has no workers. The agent's builder registers an [`ArrayServer`], which knows ports and volumes.
//! Orders reach agents in messages; [`plan`] derives them from a scenario, [`served`] and [`faults`] carry them out.

pub(crate) mod disk;
pub(crate) mod faults;
pub(crate) mod plan;
pub(crate) mod served;

use crate::sampling::HopReading;
use clock::Ns;
use engine::{EngineError, RunSecret};
use record::{Lever, Proof};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// An array to be served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Its name in the scenario.
    pub name: String,
    /// Threads that serve; 0: as many as its server finds right.
    pub threads: u32,
    /// By how much the speeds of its ports are scaled, in words: `50%`. They are given scaled.
    pub scale: String,
    /// Its ports; at least one.
    pub ports: Vec<PortSpec>,
    /// Its volumes by LUN, from 0; at least one.
    pub volumes: Vec<ArrayVolume>,
    /// It is a tape library, and its volumes are drives.
    pub library: Option<TapeSpec>,
    /// What it is held to while a step runs, but for the speeds of its ports.
    pub limits: Vec<ArrayLimit>,
    /// How agents of other machines reach it; `None`: it is on loopback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<ArrayAccess>,
}

/// How agents of other machines reach the arrays of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayAccess {
    /// Where ports listen.
    pub address: IpAddr,
    /// What initiators prove that they know, as the user [`ARRAY_USER`]; drawn for the run.
    pub secret: RunSecret,
}

/// The user as whom agents of other machines log in to the arrays of a run.
pub const ARRAY_USER: &str = "wirespeed";

/// The drives of a tape library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeSpec {
    /// Bytes a second of each; `None`: as fast as memory.
    pub bytes_per_s: Option<u64>,
}

/// What a part of an array is held to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayLimit {
    /// The hop: a port, a volume, or the array for its processors.
    pub hop: String,
    /// What of it.
    pub lever: Lever,
    /// To how much: bytes or operations a second, nanoseconds, or a share of a processor.
    pub value: f64,
}

/// A part of an array, by its number in the [`ArraySpec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArrayPart {
    /// A port.
    Port(usize),
    /// A volume.
    Volume(usize),
    /// The threads that serve.
    Threads,
}

/// A port of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortSpec {
    /// Its name within the array.
    pub name: String,
    /// The scenario's speed, for the record: each step repeats it. `None`: unlimited.
    pub speed: Option<ArrayPortSpeed>,
}

/// How fast a port is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayPortSpeed {
    /// Bytes of payload a second in each direction, scaled.
    pub bytes_per_s: u64,
    /// As the scenario says it, not scaled: `8gfc`.
    pub name: String,
}

/// A volume of an array, in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayVolume {
    /// Its name within the array.
    pub name: String,
    /// Bytes; of a drive, those of its cartridge.
    pub size: u64,
    /// Bytes of a logical block: 512 or 4096.
    pub block: u32,
    /// Memory is taken where something is written, and not beforehand.
    pub thin: bool,
    /// Its random unit serial number, by which the write guard identifies it.
    pub serial: String,
}

/// Where an array is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Portals {
    /// The array.
    pub array: String,
    /// The name of its target.
    pub target: String,
    /// Where its ports listen, in their order.
    pub addresses: Vec<SocketAddr>,
}

/// One step as an agent that serves arrays sees it. Before and after it every port is alive, ready, and as fast as it goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayStep {
    /// The step's number in the run.
    pub index: u32,
    /// Load before the measurement, at the longest.
    pub warmup: Ns,
    /// The measured time.
    pub measure: Ns,
    /// Load after the measurement.
    pub cooldown: Ns,
    /// What becomes of ports; nothing becomes of one that is not named.
    pub ports: Vec<PortStep>,
    /// The rounds at the beginning of the cool-down.
    pub proof: Option<Proof>,
}

/// One port in one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStep {
    /// The array.
    pub array: String,
    /// The port's name within it.
    pub port: String,
    /// Bytes of payload a second in each direction; `None`: as fast as it goes.
    pub bytes_per_s: Option<u64>,
    /// What happens to it, in order of time.
    pub faults: Vec<FaultSpec>,
}

/// Something that happens to a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultSpec {
    /// When, since the beginning of the measured time.
    pub at: Ns,
    /// What.
    pub action: PortFault,
}

/// What can happen to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortFault {
    /// It takes no connections any more, and has none.
    Kill,
    /// It listens again.
    Revive,
    /// It has another speed.
    Slow {
        /// Bytes of payload a second in each direction, scaled.
        bytes_per_s: u64,
    },
    /// It answers every command with BUSY.
    Busy,
    /// It carries commands out again.
    Ready,
}

/// Makes arrays. Registered with an agent's engines ([`crate::EngineRegistry::arrays`]).
pub trait ArrayServer: Send {
    /// Makes an array and serves it where its specification says, otherwise on loopback, with unlimited ports, until the returned value is dropped.
    /// # Errors
    /// There is no memory for a volume, or nowhere to listen.
    fn serve(&mut self, spec: &ArraySpec) -> Result<Box<dyn ServedArray>, EngineError>;
}

/// An array that is served. Ports and volumes are numbered as in its [`ArraySpec`]; another number does nothing, and has
/// carried nothing. Looking at it must not take long.
pub trait ServedArray: Send + Sync {
    /// The name of its target.
    fn target(&self) -> String;

    /// Where its ports listen.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// What a port has carried so far.
    fn port(&self, port: usize) -> ArrayTraffic;

    /// What a volume has carried so far; it has no connections.
    fn volume(&self, volume: usize) -> ArrayTraffic;

    /// The speed of a port in bytes of payload a second, in each direction; `None`: as fast as it goes.
    fn speed(&self, port: usize) -> Option<u64>;

    /// What the process that serves it has used, where that does nothing else: its CPU time first.
    fn process(&self) -> Option<Vec<HopReading>>;

    /// For how long its threads have rested to keep to their share of a processor, all of them together.
    fn rested(&self) -> Ns;

    /// Gives a port another speed, at once.
    fn set_speed(&self, port: usize, bytes_per_s: Option<u64>);

    /// Takes a port down: it stops listening and closes its connections without notice.
    fn kill(&self, port: usize);

    /// Brings a port back at the same address; nothing happens to one that is there.
    /// # Errors
    /// Where its address is in use by now.
    fn revive(&self, port: usize) -> Result<(), String>;

    /// Lets a port answer every command with BUSY, or carry them out again.
    fn set_busy(&self, port: usize, busy: bool);

    /// What the user has told it since the last time, beside the run.
    fn orders(&self) -> Vec<PortOrder> {
        Vec::new()
    }

    /// Holds a part to so many bytes or operations a second, to a delay in nanoseconds, or to a share of a processor; `None`:
    /// to nothing. Of a port the rate is its speed.
    fn limit(&self, part: ArrayPart, lever: Lever, value: Option<f64>);
}

/// A port that the user has stopped or started by hand while a run used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortOrder {
    /// When, on the monotonic clock.
    pub at: Ns,
    /// Which.
    pub port: usize,
    /// It was stopped; otherwise it was started again.
    pub stopped: bool,
}

/// What a port or a volume has carried since the array was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayTraffic {
    /// Commands that moved data to initiators.
    pub read_ops: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Commands that moved data from initiators.
    pub write_ops: u64,
    /// Their bytes.
    pub write_bytes: u64,
    /// Commands under way at this moment.
    pub queue: u64,
    /// Connections at this moment.
    pub connections: u64,
}

/// The name of a port as a hop: `store.p1`.
pub(crate) fn port_hop(array: &str, port: &str) -> String {
    format!("{array}.{port}")
}

impl ArraySpec {
    /// A volume as the hop that counts it.
    pub(crate) fn hop_of(&self, volume: &ArrayVolume) -> String {
        match self.library {
            // As in `scenario::Lab::volume_hop`, which those who read the record ask.
            Some(_) => port_hop(&self.name, &volume.name),
            None => volume_hop(&self.name, &volume.name),
        }
    }
}

/// The name of a volume, and of its hop where it is a disk: `store/data`.
pub(crate) fn volume_hop(array: &str, volume: &str) -> String {
    format!("{array}/{volume}")
}
