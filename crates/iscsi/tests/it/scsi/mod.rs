//! The device server, command by command, as an initiator sees it.

mod rig;

mod attentions;
mod blocks;
mod copies;
mod hostile;
mod identity;
mod model;
mod modes;
mod opcodes;
mod persistence;
mod ports;
mod promises;
mod sanitizing;
