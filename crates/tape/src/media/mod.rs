//! Cartridges as files: the format ([`format`]), reading and writing it ([`Cartridge`]), its index, its storage, and the
//! attributes in the medium auxiliary memory ([`Attributes`]). `docs/tape.md` describes the format for other programs.

mod attributes;
mod cartridge;
pub mod format;
mod index;
mod memory;
mod storage;

pub use attributes::{Attribute, Attributes};
pub use cartridge::{Cartridge, MediaError, Place, Read};
pub use memory::MemoryStorage;
pub use storage::{FileStorage, Storage};
