//! What the network engine needs of the program around it: where secrets are kept, and receivers of its own. Both are the
//! binary's business; here it is only asked for.

use crate::interface::Guardian;
use crate::{NetError, Token};
use ::engine::{ReceiverSpec, TokenSource};
use std::any::Any;
use std::fmt;

/// The program around a network engine.
pub trait Surroundings: Send {
    /// The token that is to be found there.
    ///
    /// # Errors
    /// Where it cannot be read, or is none. The text names the place, and never what was found there.
    fn token(&mut self, from: &TokenSource) -> Result<Token, NetError>;

    /// Starts a receiver for one that the scenario calls embedded. It is asked for once a run for each name, and the
    /// receiver is kept until the engine is dropped.
    ///
    /// # Errors
    /// Where it does not come to stand.
    fn embed(&mut self, receiver: &ReceiverSpec) -> Result<Embedded, NetError>;

    /// How the process is started that puts an interface back which a step has set; without one, none is set.
    fn guardian(&self) -> Option<Guardian> {
        None
    }
}

/// A receiver that stands for the time of a run. Dropping it ends it.
pub struct Embedded {
    /// Its address, or its name.
    pub host: String,
    /// The port that it took.
    pub port: u16,
    /// What it asks for, where it does.
    pub token: Option<Token>,
    /// Ends it when it is dropped: a child process, a [`crate::Receiver`].
    pub stands: Box<dyn Any + Send>,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedded({}:{})", self.host, self.port)
    }
}
