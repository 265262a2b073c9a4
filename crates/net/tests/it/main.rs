//! Both ends of the engine in one process, over loopback.

mod accounting;
mod adjust;
mod bare;
mod between;
mod broken;
mod engine;
mod lossy;
mod modes;
mod support;
mod unhappy;
mod untrue;
