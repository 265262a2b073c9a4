//! The text of a scenario: the file, the `--set` overrides, and the user's catalogs; kept for a record to repeat it.

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
    /// Catalogs of the user. A record keeps what the scenario uses of them with its text ([`Scenario::text_kept`]).
    ///
    /// [`Scenario::text_kept`]: crate::Scenario::text_kept
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub catalogs: Vec<CatalogFile>,
}

/// A file of parts beside a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogFile {
    /// The file's name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
}
