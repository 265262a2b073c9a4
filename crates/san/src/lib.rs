//! A storage area network on this machine: the iSCSI target with its volumes and its paced ports. Sockets, threads and
//! system calls are here; what the bytes mean is in `iscsi`. It knows no scenarios.

pub mod initiator;
mod private;
pub mod server;
pub mod volume;

pub use private::private_file;
pub use volume::VolumeAttributes;
