//! The target end to end, over loopback: a scripted initiator that can also misbehave, real threads and sockets. Waits are
//! hang guards; nothing is asserted about time.

mod commands;
pub mod hand;
mod hostile;
mod logins;
mod portals;
mod resets;
mod resize;
mod status;
mod test_target;
