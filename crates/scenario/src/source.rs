//! Text that a scenario is read from: the file and the `--set` overrides, kept together so that a record can repeat it.

use serde::{Deserialize, Serialize};

/// A scenario's text with everything that was set on top of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file's name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
    /// `--set KEY=VALUE`, in order.
    pub overrides: Vec<(String, String)>,
}
