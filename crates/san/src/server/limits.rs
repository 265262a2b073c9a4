//! Limits on what peers can make the target allocate.

use std::time::Duration;

/// The bounds of a target. What peers can make it allocate follows from them: `logins × 40 KiB + connections × (64 KiB
/// + output_bytes) + threads × data_bytes`, and a few hundred bytes a command of `sessions × commands`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetLimits {
    /// Connections that have not logged in yet. When there are more, the oldest gives way once it has had
    /// [`login_grace`](TargetLimits::login_grace); until then newcomers wait in the kernel's queue.
    pub logins: usize,
    /// Those of one host: however many of its logins hang, others find a place.
    pub logins_per_address: usize,
    /// How long a login may hold its place while others wait for one.
    pub login_grace: Duration,
    /// How long a login may take in all.
    pub login_time: Duration,
    /// How long a discovery session may stay.
    pub discovery_time: Duration,
    /// Sessions in all.
    pub sessions: usize,
    /// Sessions of one host.
    pub sessions_per_address: usize,
    /// Sessions of one initiator name.
    pub sessions_per_initiator: usize,
    /// Connections in all, without those in login.
    pub connections: usize,
    /// Connections of one session; offered as MaxConnections.
    pub connections_per_session: u16,
    /// Commands of one session under way: the width of its CmdSN window.
    pub commands: u32,
    /// Bytes of answers that are kept ready for one connection. While a peer does not take them, nothing is read from it.
    pub output_bytes: usize,
    /// Bytes of data under way that one thread holds for commands on files and devices, and for writes to memory.
    pub data_bytes: usize,
    /// A peer that neither takes what it is sent nor sends what it announced for so long is dropped; so is one that takes
    /// so long over one PDU, however steadily its bytes trickle in.
    pub stall_time: Duration,
    /// A peer that has been silent for so long is asked for a sign of life (NOP-In); it has
    /// [`stall_time`](TargetLimits::stall_time) to answer.
    pub idle_time: Duration,
    /// How long a clean stop waits for initiators to log out and for commands to end.
    pub stop_time: Duration,
}

impl Default for TargetLimits {
    fn default() -> TargetLimits {
        TargetLimits {
            logins: 128,
            logins_per_address: 96,
            login_grace: Duration::from_millis(500),
            login_time: Duration::from_secs(15),
            discovery_time: Duration::from_secs(60),
            sessions: 1024,
            sessions_per_address: 512,
            sessions_per_initiator: 256,
            connections: 2048,
            connections_per_session: 8,
            commands: 128,
            output_bytes: 256 << 10,
            data_bytes: 256 << 20,
            stall_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(30),
            stop_time: Duration::from_secs(3),
        }
    }
}
