//! What `engine` promises, tested from outside.

mod crew;
mod meter;
mod timeline;
