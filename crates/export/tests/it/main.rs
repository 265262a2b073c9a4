//! What `export` promises, tested from outside.

mod exports;
mod network;
#[path = "../../../findings/tests/support/mod.rs"]
mod support;
