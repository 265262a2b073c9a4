//! What `calibrate` promises, tested from outside.

mod planted;
mod refused;
mod support;
mod untold;
mod written;
