//! What `tape` promises, tested from outside.

mod cartridges;
mod changer;
mod commands;
mod crashes;
mod model;
mod rig;
mod transport;
