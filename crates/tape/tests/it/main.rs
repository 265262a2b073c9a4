//! What `tape` promises, tested from outside.

mod cartridges;
mod changer;
mod commands;
mod crashes;
mod documents;
mod hostile;
mod invariants;
mod model;
mod rig;
mod transport;
