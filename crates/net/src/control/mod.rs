//! The control connection: what a sender and a receiver say to each other beside the data. Messages are JSON behind a
//! length of four bytes; whatever arrives is held to bounds before it is believed.

mod frame;
mod link;
mod message;
mod proof;

#[cfg(any(fuzzing, test))]
pub(crate) use frame::{FrameBuffer, frame};
pub(crate) use link::{ControlLink, FLAP};
pub(crate) use message::{Cookie, FromReceiver, FromSender, Nonce};
pub use proof::{Secret, VERSIONS};
pub(crate) use proof::{agree, fresh, is_proven, prove};
