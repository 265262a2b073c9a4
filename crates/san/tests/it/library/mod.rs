//! Tape libraries served over real sockets, driven by the own client.

mod drives;
mod killed;
mod rig;
