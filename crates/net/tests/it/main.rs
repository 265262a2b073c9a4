//! Both ends of the engine in one process, over loopback.

/// Names that most modules use.
mod prelude {
    pub use clock::{Ns, Rng};
    pub use engine::{NetSources, Output, ReceiverAddress};
    pub use net::{Carriage, Network, Receiver, Sockets, TestSpec};
    pub use std::io::{Read, Write};
    pub use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
    pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    pub use std::sync::{Arc, mpsc};
    pub use std::thread::JoinHandle;
    pub use std::time::Duration;
    pub use workload::NetFrames;
}

mod accounting;
mod adjust;
mod bare;
mod between;
mod broken;
mod engine;
mod lossy;
mod modes;
mod support;
mod unhappy;
mod untrue;
