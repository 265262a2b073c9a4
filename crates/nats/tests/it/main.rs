//! What the carrier promises, on a simulated network.

mod carrier;
