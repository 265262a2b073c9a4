//! What `san` promises, tested from outside.

/// Names that most modules use.
mod prelude {
    pub use clock::Ns;
    pub use disk::DiskEngine;
    pub use engine::{EngineError, Pinning, TargetSpec};
    pub use iscsi::chap::{Credentials, Secret};
    pub use iscsi::login::Auth;
    pub use iscsi::params::DesiredParams;
    pub use iscsi::scsi::{BlockRange, CopySegment, Ending, Medium, ScsiStatus, Sense, SenseKey};
    pub use san::initiator::{Initiator, SCHEME, discover};
    pub use san::server::{
        DropReason, PortRate, PortalConfig, ServerEvent, TargetServer, TargetSettings,
    };
    pub use san::volume::{Data, Store, Volume, VolumeAttributes, VolumeJob};
    pub use std::io::Write;
    pub use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
    pub use std::process::{Child, Command, Stdio};
    pub use std::sync::{Arc, Barrier, Mutex, mpsc};
    pub use std::time::Duration;
    pub use std::{io, thread};
    pub use workload::Dir;
}

mod chap;
mod initiator;
mod library;
mod multipath;
mod pacing;
mod steady;
mod target;
mod volumes;
