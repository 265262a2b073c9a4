//! What `guard` promises, tested from outside. How targets, filling and engines keep to it is tested where those are.

mod files;
mod remotes;
