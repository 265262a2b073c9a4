//! What `campaign` promises, tested from outside.

#[path = "../support/conformance.rs"]
mod conformance;
mod driver;
mod gauge;
mod script;
mod turns;
