//! The behaviour of `calibrate`, tested through its public interface.

mod planted;
mod refused;
mod support;
mod undetermined;
mod written;
