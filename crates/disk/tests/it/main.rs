//! What `disk` promises, tested from outside.

mod bare;
mod common;
mod content;
mod file_queues;
mod filling;
mod guard;
mod guard_devices;
mod odd_places;
mod queues;
mod remote;
mod runs;
mod verify;
