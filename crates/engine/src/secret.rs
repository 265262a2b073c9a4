//! Secrets that are drawn for a run: they go to agents in their orders, and are shown nowhere.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A secret of a run. Its text is in the orders of those who need it, and in no record, log or message for people.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunSecret(String);

impl RunSecret {
    /// This text.
    pub fn new(text: impl Into<String>) -> RunSecret {
        RunSecret(text.into())
    }

    /// The text, to prove that one knows it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RunSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Some(RunSecret::new("4711"))), "Some(RunSecret(…))");
        assert_eq!(RunSecret::new("4711").reveal(), "4711");
    }
}
