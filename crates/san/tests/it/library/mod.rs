//! Tape libraries served over real sockets, driven by the own client.

mod copies;
mod drives;
mod killed;
pub mod rig;
