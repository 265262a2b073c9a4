//! Volumes: what every kind does for every command, in every way it can be carried, and what may be written at all.

mod bench;
mod carrying;
mod durability;
mod faults;
mod gate;
mod gone;
mod guard;
mod model;
mod space;
mod spec;
