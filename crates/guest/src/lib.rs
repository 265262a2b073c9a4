//! Virtual machines under QEMU that boot the program itself.
//!
//! A guest is a Linux kernel of the machine or of the distribution, and an initramfs that holds this program, the modules that
//! it needs and nothing else. The program is the first process of the guest ([`init`]). It reaches its host by ports of a
//! virtual serial device, so that no network is needed. QEMU needs no privileges; it uses KVM where the machine has it.
//!
//! ```text
//! Kernel ──► Module closure ──► Initramfs ──┐
//!                    Machine (memory, disks) ┴─► command line ──► Process ──► Qmp, ports
//! ```
//!
//! [`shell`] boots other programs of the host instead, and runs scripts of them in the guest.
//!
//! This crate knows no scenario, no agent and no messages.

pub mod accelerator;
pub mod init;
pub mod initiator;
pub mod initramfs;
pub mod kept;
pub mod kernel;
pub mod machine;
pub mod migration;
pub mod modules;
pub mod process;
pub mod program;
pub mod qmp;
mod relay;
pub mod shell;

pub use accelerator::Accelerator;
pub use kept::KeptMemory;
pub use kernel::{Kernel, KernelError};
pub use machine::{Adapter, Backing, Drive, Machine, Network};
pub use migration::{MoveError, Moved};
pub use modules::ModuleError;
pub use process::{Guest, GuestError, Image, become_kept};
pub use program::{GuestFile, ProgramError};
pub use shell::Shell;
