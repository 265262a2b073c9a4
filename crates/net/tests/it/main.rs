//! Both ends of the engine in one process, over loopback.

mod accounting;
mod adjust;
mod engine;
mod modes;
mod support;
mod unhappy;
