//! A step of a scenario on its lab becomes a [`crate::plant::Plant`].
//!
//! What stands between a guest and an array's port is compiled apart from what stands behind that port; both put their
//! stations, queue limits and wires into one [`draft::Draft`]. No figure is invented silently: what no part gives is
//! entered as an assumption with its reason.

pub mod draft;
