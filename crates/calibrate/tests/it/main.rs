//! The behaviour of `calibrate`, tested through its public interface.

mod machine;
mod planted;
mod refused;
mod support;
mod undetermined;
mod written;
