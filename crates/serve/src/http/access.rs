//! Who may ask, and for what: the names by which the page is known, its token, and who has logged in.
//!
//! A browser sends a request to any address that some page names. What it says of itself tells ours from those: `Host` is
//! the name that the user typed (a foreign name that resolves to this machine is refused: DNS rebinding), `Origin` and
//! `Sec-Fetch-Site` say which page asks (a request of another site changes nothing and reads nothing). A log-in is a cookie
//! that no script reads and no other site sends; it holds nothing but chance, and its end is decided here.

use crate::live::locked;
use clock::Ns;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use subtle::ConstantTimeEq;

/// The name of the cookie of a log-in.
pub(crate) const COOKIE: &str = "wirespeed";
/// How long a log-in lasts.
pub(crate) const LASTS: Ns = Ns::secs(12 * 3600);
/// Log-ins at once; the oldest gives way.
const LOGINS: usize = 256;
/// Signs of a token at least.
pub(crate) const TOKEN_LEAST: usize = 16;
const TOKEN_MOST: u64 = 4096;

type Digested = [u8; 32];

/// What is checked of every request.
pub(crate) struct Access {
    /// `host:port`, as browsers say it; the first is for people.
    hosts: Vec<String>,
    pub scheme: &'static str,
    token: Option<PathBuf>,
    logins: Mutex<BTreeMap<Digested, Login>>,
}

struct Login {
    until: Ns,
    /// The token that opened it: with another token in the file it is over.
    token: Digested,
}

impl Access {
    /// `names` are those that the user gave besides those of a listener on loopback.
    pub fn new(
        bound: SocketAddr,
        names: &[String],
        secure: bool,
        token: Option<PathBuf>,
    ) -> Access {
        let port = bound.port();
        let usual = if secure { 443 } else { 80 };
        let mut hosts = Vec::new();
        let mut add = |host: &str, bare: bool| {
            hosts.push(format!("{host}:{port}"));
            if bare || port == usual {
                hosts.push(host.to_owned());
            }
        };
        let ip = match bound.ip() {
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        };
        if !bound.ip().is_unspecified() {
            add(&ip, false);
        }
        if bound.ip().is_loopback() {
            ["127.0.0.1", "localhost", "[::1]"].into_iter().for_each(|host| add(host, false));
        }
        for name in names {
            // A proxy has ports of its own.
            add(&name.to_lowercase(), true);
        }
        let scheme = if secure { "https" } else { "http" };
        Access { hosts, scheme, token, logins: Mutex::default() }
    }

    /// Whether the page is asked for by a name of its own.
    pub fn knows_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.contains(&host)
    }

    /// Whether a page at this origin is one of ours.
    pub fn knows_origin(&self, origin: &str) -> bool {
        let rest = origin.strip_prefix(self.scheme).and_then(|rest| rest.strip_prefix("://"));
        rest.is_some_and(|host| self.knows_host(host))
    }

    /// The address for people.
    pub fn address(&self) -> String {
        let host = self.hosts.first().map_or("", String::as_str);
        format!("{}://{host}/", self.scheme)
    }

    /// Whether there is a log-in at all.
    pub fn needs_login(&self) -> bool {
        self.token.is_some()
    }

    /// Whether this is the token, now.
    pub fn is_token(&self, offered: &str) -> bool {
        let Some(token) = self.token_now() else { return false };
        digest(offered.trim().as_bytes()).ct_eq(&token).into()
    }

    /// Opens a log-in for who offers the token: the cookie's value.
    pub fn log_in(&self, offered: &str) -> Option<String> {
        if !self.is_token(offered) {
            return None;
        }
        let mut chance = [0; 32];
        clock::unpredictable(&mut chance).ok()?;
        let cookie: String = chance.iter().map(|byte| format!("{byte:02x}")).collect();
        let now = clock::now();
        let token = self.token_now()?;
        let mut logins = locked(&self.logins);
        logins.retain(|_, login| login.until > now && login.token == token);
        if logins.len() >= LOGINS
            && let Some(oldest) =
                logins.iter().min_by_key(|(_, login)| login.until).map(|(id, _)| *id)
        {
            logins.remove(&oldest);
        }
        logins.insert(digest(cookie.as_bytes()), Login { until: now.plus(LASTS), token });
        Some(cookie)
    }

    /// Whether a cookie is of a log-in that lasts.
    pub fn is_logged_in(&self, cookie: &str) -> bool {
        let Some(token) = self.token_now() else { return false };
        let logins = locked(&self.logins);
        let login = logins.get(&digest(cookie.as_bytes()));
        login.is_some_and(|login| login.until > clock::now() && login.token == token)
    }

    /// Ends a log-in: its cookie is invalid from then on.
    pub fn log_out(&self, cookie: &str) {
        locked(&self.logins).remove(&digest(cookie.as_bytes()));
    }

    /// The token in the file now.
    fn token_now(&self) -> Option<Digested> {
        let text = read_token(self.token.as_deref()?).ok()?;
        Some(digest(text.as_bytes()))
    }
}

fn digest(bytes: &[u8]) -> Digested {
    Sha256::digest(bytes).into()
}

/// Reads a token from a file that is its user's alone.
pub(crate) fn read_token(path: &Path) -> io::Result<String> {
    let refused = |why: String| Err(io::Error::other(format!("{}: {why}", path.display())));
    let file = std::fs::File::open(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > TOKEN_MOST {
        return refused("not a file with a token".to_owned());
    }
    if meta.permissions().mode() & 0o077 != 0 {
        return refused("others may read the token: chmod 600".to_owned());
    }
    let own = rustix::process::geteuid().as_raw();
    if meta.uid() != own && meta.uid() != 0 {
        return refused("the token belongs to another user".to_owned());
    }
    let token = io::read_to_string(file)?.trim().to_owned();
    match token.chars().count() >= TOKEN_LEAST {
        true => Ok(token),
        false => refused(format!("a token has at least {TOKEN_LEAST} characters")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> SocketAddr {
        address.parse().expect("an address")
    }

    #[test]
    fn names_are_those_that_were_given_and_those_of_loopback() {
        let local = Access::new(at("127.0.0.1:8000"), &[], false, None);
        for (host, known) in [
            ("127.0.0.1:8000", true),
            ("LOCALHOST:8000", true),
            ("[::1]:8000", true),
            ("localhost", false),
            ("127.0.0.1:8001", false),
            ("evil.example:8000", false),
            ("127.0.0.1:8000.evil.example", false),
            ("", false),
        ] {
            assert_eq!(local.knows_host(host), known, "{host}");
            assert_eq!(local.knows_origin(&format!("http://{host}")), known, "{host}");
        }
        assert!(!local.knows_origin("https://localhost:8000") && !local.knows_origin("null"));
        let far = Access::new(at("0.0.0.0:443"), &["lab.example".to_owned()], true, None);
        for (host, known) in [
            ("lab.example", true),
            ("Lab.Example:443", true),
            ("0.0.0.0:443", false),
            ("localhost:443", false),
        ] {
            assert_eq!(far.knows_host(host), known, "{host}");
        }
        assert!(far.knows_origin("https://lab.example") && !far.knows_origin("http://lab.example"));
    }

    fn token(dir: &tempfile::TempDir, text: &str, mode: u32) -> PathBuf {
        let path = dir.path().join("token");
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        path
    }

    #[test]
    fn a_log_in_ends_with_its_cookie_and_with_its_token() {
        let dir = tempfile::tempdir().expect("a scratch directory");
        let path = token(&dir, "a token of some length\n", 0o600);
        let access = Access::new(at("127.0.0.1:1"), &[], false, Some(path));
        assert_eq!(access.log_in("another token of length"), None);
        assert_eq!(access.log_in(""), None);
        let first = access.log_in(" a token of some length ").expect("it is the token");
        let second = access.log_in("a token of some length").expect("it is the token");
        assert_ne!(first, second);
        assert!(access.is_logged_in(&first) && access.is_logged_in(&second));
        access.log_out(&first);
        assert!(!access.is_logged_in(&first), "a stolen cookie is worth nothing after the log-out");
        assert!(access.is_logged_in(&second) && !access.is_logged_in(""));
        token(&dir, "quite another token", 0o600);
        assert!(!access.is_logged_in(&second), "a new token ends all log-ins");
    }

    #[test]
    fn log_ins_are_bounded() {
        let dir = tempfile::tempdir().expect("a scratch directory");
        let path = token(&dir, "a token of some length", 0o600);
        let access = Access::new(at("127.0.0.1:1"), &[], false, Some(path));
        let all: Vec<String> =
            (0..=LOGINS).filter_map(|_| access.log_in("a token of some length")).collect();
        assert_eq!(all.iter().filter(|cookie| access.is_logged_in(cookie)).count(), LOGINS);
        assert!(!access.is_logged_in(&all[0]), "the oldest gave way");
    }

    #[test]
    fn a_token_that_others_may_read_is_none() {
        let dir = tempfile::tempdir().expect("a scratch directory");
        for mode in [0o644, 0o640, 0o604] {
            let path = token(&dir, "a token of some length", mode);
            assert!(read_token(&path).is_err_and(|e| e.to_string().contains("chmod 600")));
        }
        assert!(read_token(&token(&dir, "short", 0o600)).is_err());
        assert!(read_token(dir.path()).is_err());
        assert!(read_token(&token(&dir, "a token of some length", 0o400)).is_ok());
    }
}
