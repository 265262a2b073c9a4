//! CHAP secrets: from a file or the environment, never from the command line, and never into a message.

use crate::cli::AccessArgs;
use crate::exit::Failure;
use iscsi::chap::{Credentials, MAX_SECRET, SHORT_SECRET, Secret};
use san::server::Auth;
use std::ffi::OsString;
use std::path::Path;

/// What was asked for on the command line.
#[derive(Default)]
pub struct Chap {
    /// What initiators must know.
    initiator: Option<Credentials>,
    /// What the target shows in return.
    target: Option<Credentials>,
}

/// Where the secrets may stand in the environment.
const SECRET: &str = "WIRESPEED_CHAP_SECRET";
const MUTUAL: &str = "WIRESPEED_CHAP_MUTUAL_SECRET";

impl Chap {
    /// Reads what the arguments name.
    pub fn read(access: &AccessArgs) -> Result<Chap, Failure> {
        let own = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        Chap::from(access, own).map_err(Failure::usage)
    }

    fn from(access: &AccessArgs, env: impl Fn(&str) -> Option<OsString>) -> Result<Chap, String> {
        let read = |user: &Option<String>, file: &Option<_>, option, name| match user {
            None => Ok(None),
            Some(user) => credentials(user, file, option, name, env(name)).map(Some),
        };
        let initiator = read(&access.chap, &access.chap_secret_file, "--chap", SECRET)?;
        let target =
            read(&access.chap_mutual, &access.chap_mutual_secret_file, "--chap-mutual", MUTUAL)?;
        if let (Some(a), Some(b)) = (&initiator, &target)
            && a.secret.matches(&b.secret)
        {
            return Err("the secrets of --chap and --chap-mutual are the same: then either end can answer with what the \
                        other has sent (RFC 7143, 9.2.1); choose two"
                .to_owned());
        }
        Ok(Chap { initiator, target })
    }

    /// What the target asks for.
    pub fn auth(self) -> Auth {
        match self.initiator {
            None => Auth::None,
            Some(user) => Auth::Chap { users: vec![user], target: self.target },
        }
    }
}

fn credentials(
    user: &str,
    file: &Option<std::path::PathBuf>,
    option: &str,
    name: &str,
    env: Option<OsString>,
) -> Result<Credentials, String> {
    if user.is_empty() || user.len() > 255 || user.chars().any(char::is_control) {
        return Err(format!("{option}: a user name has 1 to 255 bytes, and no control characters"));
    }
    let (source, secret) = match (file, env) {
        (Some(file), _) => (file.display().to_string(), from_file(file)?),
        (None, Some(value)) => (name.to_owned(), value.into_encoded_bytes()),
        (None, None) => {
            return Err(format!(
                "{option} {user}: its secret is missing; name its file with {option}-secret-file, or set {name}"
            ));
        }
    };
    match secret.len() {
        SHORT_SECRET..=MAX_SECRET => {
            let secret = Secret::new(&secret).map_err(|e| format!("{source}: {e}"))?;
            Ok(Credentials { name: user.to_owned(), secret })
        }
        len if len > MAX_SECRET => {
            Err(format!("{source} holds more than {MAX_SECRET} bytes: is it a secret?"))
        }
        len => Err(format!(
            "the secret in {source} has {len} bytes: with fewer than {SHORT_SECRET} it can be found by trying, from one \
             login that somebody overhears (RFC 7143, 9.2.1); `openssl rand -hex 8` makes one of 16, which is as much as \
             Windows takes"
        )),
    }
}

/// The file's first line; editors and `echo` put a newline behind it.
fn from_file(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |e: std::io::Error| format!("the secret cannot be read: {}: {e}", path.display());
    let mut bytes = san::private_file(path, MAX_SECRET as u64 + 3).map_err(failed)?;
    let end = bytes.strip_suffix(b"\n").map_or(bytes.len(), <[u8]>::len);
    bytes.truncate(end);
    if bytes.last() == Some(&b'\r') {
        bytes.pop();
    }
    if bytes.contains(&b'\n') {
        return Err(format!("{} holds more than one line: a secret is one", path.display()));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const GOOD: &str = "twelve bytes";

    fn access(chap: Option<&str>, file: Option<&Path>, mutual: Option<&str>) -> AccessArgs {
        AccessArgs {
            allow_initiators: Vec::new(),
            chap: chap.map(str::to_owned),
            chap_secret_file: file.map(PathBuf::from),
            chap_mutual: mutual.map(str::to_owned),
            chap_mutual_secret_file: None,
        }
    }

    fn read(access: &AccessArgs, secret: &str, mutual: &str) -> Result<Chap, String> {
        Chap::from(access, |name| {
            let value = if name == SECRET { secret } else { mutual };
            (!value.is_empty()).then(|| value.into())
        })
    }

    fn is(found: &Option<Credentials>, secret: &str) -> bool {
        let secret = Secret::new(secret.as_bytes()).unwrap();
        found.as_ref().is_some_and(|found| found.secret.matches(&secret))
    }

    #[track_caller]
    fn refused(found: Result<Chap, String>, hint: &str) {
        let error = found.err().expect("it is refused");
        assert!(error.contains(hint), "{error}");
        assert!(!error.contains("tiny") && !error.contains(GOOD), "a secret in a message: {error}");
    }

    #[test]
    fn secrets_come_from_the_environment_or_a_file() {
        let none = read(&access(None, None, None), GOOD, GOOD).unwrap();
        assert!(none.initiator.is_none() && none.target.is_none(), "not asked for");
        let both = read(&access(Some("a"), None, Some("b")), GOOD, "another of them").unwrap();
        assert!(is(&both.initiator, GOOD) && is(&both.target, "another of them"));
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in [GOOD.to_owned(), format!("{GOOD}\n"), format!("{GOOD}\r\n")] {
            std::fs::write(file.path(), text).unwrap();
            let found =
                read(&access(Some("a"), Some(file.path()), None), "not this one", "").unwrap();
            assert!(is(&found.initiator, GOOD));
        }
    }

    #[test]
    fn what_would_not_protect_is_refused() {
        refused(read(&access(Some("a"), None, None), "", ""), "set WIRESPEED_CHAP_SECRET");
        refused(read(&access(Some("a"), None, Some("b")), GOOD, ""), "--chap-mutual-secret-file");
        refused(read(&access(Some("a"), None, None), "tiny", ""), "has 4 bytes");
        refused(
            read(&access(Some("a"), None, None), &"x".repeat(MAX_SECRET + 1), ""),
            "is it a secret?",
        );
        refused(read(&access(Some("a"), None, Some("b")), GOOD, GOOD), "are the same");
        refused(read(&access(Some(""), None, None), GOOD, ""), "user name");
        let missing = Path::new("no such file");
        refused(read(&access(Some("a"), Some(missing), None), GOOD, ""), "no such file: ");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{GOOD}\n{GOOD}\n")).unwrap();
        refused(read(&access(Some("a"), Some(file.path()), None), "", ""), "more than one line");
    }
}
