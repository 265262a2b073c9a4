//! What the network engine needs from the program: secrets, and embedded receivers. The binary implements both.

use crate::interface::Guardian;
use crate::{NetError, Secret};
use ::engine::{ReceiverSpec, TokenSource};
use std::any::Any;
use std::fmt;

/// The program around a network engine.
pub trait Surroundings: Send {
    /// The token that is to be found there.
    /// # Errors
    /// Where it cannot be read, or is none. The text names the place, and never what was found there.
    fn token(&mut self, from: &TokenSource) -> Result<Secret, NetError>;

    /// Starts a receiver for one that the scenario calls embedded. It is asked for once a run for each name, and the
    /// receiver is kept until the engine is dropped.
    /// # Errors
    /// Where it cannot be started.
    fn embed(&mut self, receiver: &ReceiverSpec) -> Result<EmbeddedReceiver, NetError>;

    /// Starts the process that restores an interface; without it, no interface is changed.
    fn guardian(&self) -> Option<Guardian> {
        None
    }
}

/// A receiver for the duration of a run. Dropping it ends it.
pub struct EmbeddedReceiver {
    /// Its address, or its name.
    pub host: String,
    /// The port that it took.
    pub port: u16,
    /// What it asks for, where it does.
    pub token: Option<Secret>,
    /// Ends it when it is dropped: a child process, a [`crate::Receiver`].
    pub stands: Box<dyn Any + Send>,
}

impl fmt::Debug for EmbeddedReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedded({}:{})", self.host, self.port)
    }
}
