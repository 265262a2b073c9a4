//! The schemes of URLs that a target can have. What carries out their I/O is registered by the binary.

use crate::model::Target;
use crate::nearest::join;

/// A scheme of URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// What URLs of it begin with: `iscsi://`.
    pub prefix: &'static str,
    /// Whether what it leads to holds data: it has a size by itself, and a token where it may be written.
    pub holds_data: bool,
}

/// Every scheme, `null:` first.
pub const SCHEMES: &[Scheme] = &[
    Scheme { prefix: "null:", holds_data: false },
    Scheme { prefix: "iscsi://", holds_data: true },
    Scheme { prefix: "tape://", holds_data: true },
];

impl Scheme {
    /// The scheme of a URL; `None` for paths and for schemes that are not known.
    pub fn of(text: &str) -> Option<&'static Scheme> {
        SCHEMES.iter().find(|scheme| text.starts_with(scheme.prefix))
    }

    /// Its name, without what separates it from the rest: `iscsi`.
    pub fn name(&self) -> &'static str {
        self.prefix.split(':').next().unwrap_or_default()
    }
}

/// That a text is of no scheme: `` `x` is neither `null:` nor `iscsi://…` ``.
pub(crate) fn unknown(shown: &str) -> String {
    let known = |scheme: &Scheme| match scheme.prefix.ends_with("//") {
        true => format!("`{}…`", scheme.prefix),
        false => format!("`{}`", scheme.prefix),
    };
    let all: Vec<String> = SCHEMES.iter().map(known).collect();
    format!("`{shown}` is neither {}", join(&all, "nor"))
}

impl Target {
    /// Whether it completes at once and holds nothing.
    pub fn is_null(&self) -> bool {
        Scheme::of(&self.url).is_some_and(|scheme| !scheme.holds_data)
    }
}
