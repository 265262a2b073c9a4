//! A storage area network on this machine: the iSCSI target with its volumes and its paced ports. Sockets, threads and
//! system calls are here; what the bytes mean is in `iscsi`. It knows no scenarios.

pub mod initiator;
mod private;
pub mod server;
pub mod volume;

/// The product identification of volumes that are made for one run and hold nothing else.
const MADE_FOR_A_RUN: &str = "Wirespeed run";

pub use private::private_file;
pub use volume::VolumeAttributes;
