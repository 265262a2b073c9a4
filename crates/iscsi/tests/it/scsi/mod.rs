//! The device server, command by command, as an initiator sees it.

mod rig;

mod blocks;
mod copies;
mod hostile;
mod identity;
mod invariants;
mod model;
mod modes;
mod passing;
mod persistence;
mod port_groups;
mod sanitizing;
mod supported_commands;
mod unit_attentions;
