//! Target port groups (ALUA; SPC-4, 5.16): each portal group is a target port group of one target port.

/// An asymmetric access state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PortState {
    /// The best way to the logical unit.
    ActiveOptimized = 0x0,
    /// A way that works, but not the best.
    ActiveNonOptimized = 0x1,
    /// Answers questions, but moves no blocks.
    Standby = 0x2,
    /// Answers hardly anything.
    Unavailable = 0x3,
}
