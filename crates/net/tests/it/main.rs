//! Both ends of the engine in one process, over loopback.

mod accounting;
mod adjust;
mod modes;
mod support;
mod unhappy;
