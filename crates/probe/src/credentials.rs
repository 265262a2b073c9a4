//! Credentials of remote sources: a small file of `key = value`. They are never printed.

use std::fmt;

/// Keys that a file may hold.
const KEYS: [&str; 9] = [
    "community",
    "user",
    "authentication",
    "authentication-password",
    "privacy",
    "privacy-password",
    "token",
    "password",
    "ca",
];

/// What a file of credentials says.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    pairs: Vec<(&'static str, String)>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.pairs.iter().map(|(key, _)| *key).collect();
        write!(f, "Credentials({})", keys.join(", "))
    }
}

impl Credentials {
    /// Reads the text of a file: one `key = value` a line, quoted or not; `#` begins a comment.
    /// # Errors
    /// The line and what is wrong with it, without its value.
    pub fn parse(text: &str) -> Result<Credentials, String> {
        let mut pairs: Vec<(&'static str, String)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((key, value)) = line.split_once('=') else {
                return Err(format!("line {number}: `key = value` is expected"));
            };
            let Some(key) = KEYS.iter().find(|known| **known == key.trim()) else {
                return Err(format!("line {number}: the keys are {}", KEYS.join(", ")));
            };
            if pairs.iter().any(|(known, _)| known == key) {
                return Err(format!("line {number}: `{key}` is given twice"));
            }
            let value = value.trim();
            let bare = value.strip_prefix('"').and_then(|of| of.strip_suffix('"'));
            pairs.push((key, bare.unwrap_or(value).to_owned()));
        }
        Ok(Credentials { pairs })
    }

    /// Whether it says nothing by which somebody is known.
    pub fn is_anonymous(&self) -> bool {
        self.pairs.iter().all(|(key, _)| *key == "ca")
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Credentials;

    #[test]
    fn a_value_is_never_shown() {
        let text = "# of switch1\nuser = \"probe\"\nauthentication-password = swordfish=1\n";
        let of = Credentials::parse(text).expect("credentials");
        assert_eq!(
            (of.get("user"), of.get("authentication-password")),
            (Some("probe"), Some("swordfish=1"))
        );
        assert!(!format!("{of:?}").contains("swordfish"));
        for wrong in ["swordfish", "pass = swordfish", "user = swordfish\nuser = swordfish"] {
            let why = Credentials::parse(wrong).expect_err("a mistake");
            assert!(why.starts_with("line ") && !why.contains("swordfish"), "{why}");
        }
    }
}
