//! Both ends of the engine in one process, over loopback.

mod accounting;
mod modes;
mod support;
mod unhappy;
