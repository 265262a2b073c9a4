//! Where a LUN is: `iscsi://[user@]host[:port]/iqn/lun[?options]`, as libiscsi and QEMU write it; with several portals,
//! separated by commas, each of them is a path to the LUN.
//!
//! A secret never stands in a URL that is kept: URLs are written into records. It is read from the environment, or from a
//! file that the environment names.

use super::multipath::PathOptions;
use crate::private_file;
use engine::RunSecret;
use iscsi::initiator::Conn;
use iscsi::params::Digest;
use std::fmt;
use std::num::NonZeroU8;
use std::path::Path;
use thiserror::Error;

const SCHEME: &str = "iscsi://";
/// The port that IANA has registered for iSCSI.
pub const PORT: u16 = 3260;
/// The longest URL.
const URL_MAX: usize = 1024;
/// The longest iSCSI name in bytes (RFC 7143, section 4.2.7.1).
const NAME_MAX: usize = 223;
/// The longest secret in bytes.
const SECRET_MAX: usize = 256;
/// The highest LUN that flat addressing reaches.
const LUN_MAX: u16 = 0x3fff;

/// The most portals that a URL names.
pub(super) const PATHS_MAX: usize = 16;

/// The most connections of a session.
pub const CONNECTIONS_MAX: u8 = Conn::MOST as u8;

/// The secret that this machine proves itself with.
const SECRET: &str = "WIRESPEED_CHAP_SECRET";
/// The secret that the target has to prove itself with.
const MUTUAL: &str = "WIRESPEED_CHAP_MUTUAL_SECRET";
/// Behind either: the file that holds it.
const FILE: &str = "_FILE";

/// What iSCSI names begin with.
const NAMES: [&str; 3] = ["iqn.", "eui.", "naa."];

/// Why a URL is refused. The text says what is wrong and what to write.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{url}` is not an iSCSI URL: {problem}")]
pub struct UrlError {
    url: String,
    problem: String,
}

/// A target's portal, and who asks there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalUrl {
    /// Name or address of the host; an IPv6 address without its brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The CHAP user, where there is one.
    pub user: Option<String>,
    /// The user's secret, where it was drawn for a run. No URL holds it.
    pub secret: Option<RunSecret>,
}

/// A URL in its parts. The target and the LUN are missing where a whole portal is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Where: at least one, and none twice. Each is a path.
    pub portals: Vec<PortalUrl>,
    /// The target's iSCSI name.
    pub target: Option<String>,
    /// The LUN.
    pub lun: Option<u16>,
    /// How.
    pub options: SessionOptions,
    /// Which path is used when.
    pub paths: PathOptions,
}

/// What a session asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionOptions {
    /// Headers carry digests.
    pub header_digest: bool,
    /// Data carries digests.
    pub data_digest: bool,
    /// Writes begin with their command.
    pub immediate_data: bool,
    /// Writes wait for the target to ask for the rest of their data.
    pub initial_r2t: bool,
    /// Connections of each session, at most [`CONNECTIONS_MAX`]; a target may allow fewer.
    pub connections: NonZeroU8,
}

impl Default for SessionOptions {
    /// No digests, and as few round trips as the target allows.
    fn default() -> SessionOptions {
        SessionOptions {
            header_digest: false,
            data_digest: false,
            immediate_data: true,
            initial_r2t: false,
            connections: NonZeroU8::MIN,
        }
    }
}

impl SessionOptions {
    /// What a login wishes for a digest.
    pub(super) fn digest(wanted: bool) -> Digest {
        if wanted { Digest::Required } else { Digest::Never }
    }
}

impl Url {
    /// Parses a URL of a LUN.
    /// # Errors
    /// What is wrong, and what to write.
    pub fn lun(url: &str) -> Result<Url, UrlError> {
        let parsed = Url::parse(url)?;
        let missing = match (&parsed.target, parsed.lun) {
            (Some(_), Some(_)) => return Ok(parsed),
            (Some(_), None) => "the LUN is missing, as in `/0` behind the target's name",
            (None, _) => {
                "the target's name and the LUN are missing, as in `/iqn.2026-11.example:disk/0`"
            }
        };
        let problem = format!(
            "{missing}; `wirespeed target ls {SCHEME}{}` lists what there is",
            parsed.portal()
        );
        Err(UrlError { url: redacted(url), problem })
    }

    /// Parses a URL of a LUN, of a target or of a whole portal.
    /// # Errors
    /// What is wrong, and what to write.
    pub fn parse(url: &str) -> Result<Url, UrlError> {
        let wrong = |problem: String| UrlError { url: redacted(url), problem };
        if url.len() > URL_MAX {
            return Err(wrong(format!("it is longer than {URL_MAX} bytes")));
        }
        if url.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(wrong("it holds blanks or control characters".to_owned()));
        }
        let rest = url.strip_prefix(SCHEME).ok_or_else(|| {
            wrong(format!(
                "it begins with `{SCHEME}`, as in `{SCHEME}host/iqn.2026-11.example:disk/0`"
            ))
        })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let portals = portals(authority).map_err(wrong)?;
        let (target, lun) = place(path).map_err(wrong)?;
        let (options, paths) = options(query).map_err(wrong)?;
        Ok(Url { portals, target, lun, options, paths })
    }

    /// The first of its portals.
    pub fn portal(&self) -> &PortalUrl {
        &self.portals[0]
    }

    /// Its portals as the URL names them: `host:port,host:port`.
    pub fn portals(&self) -> String {
        let all: Vec<String> = self.portals.iter().map(ToString::to_string).collect();
        all.join(",")
    }
}

impl fmt::Display for PortalUrl {
    /// `host:port`, as an address is written; the user is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The URL without a secret, for messages; cut where it is endless.
fn redacted(url: &str) -> String {
    let cut = url.char_indices().nth(URL_MAX).map_or(url.len(), |(at, _)| at);
    let url = &url[..cut];
    let (place, query) = url.split_once('?').unwrap_or((url, ""));
    let at = place.find("://").map_or(0, |at| at + 3);
    let end = place[at..].find('/').map_or(place.len(), |n| at + n);
    let host = place[at..end].rfind('@').map(|host| at + host);
    let mut shown = match host.and_then(|host| Some((at + secret_in(&place[at..host])?, host))) {
        Some((secret, host)) => format!("{}…{}", &place[..=secret], &place[host..]),
        None => place.to_owned(),
    };
    let options = query.split('&').filter(|part| !part.is_empty());
    for (part, first) in options.zip(std::iter::once('?').chain(std::iter::repeat('&'))) {
        shown.push(first);
        match part.split_once('=') {
            Some((name, _)) if is_secret(name) => shown += &format!("{name}=…"),
            _ => shown += part,
        }
    }
    shown
}

/// Where a secret stands behind a user: `user%secret`, as libiscsi writes it, or `user:secret`. The names that initiators
/// have, which many use as users, hold colons of their own.
fn secret_in(user: &str) -> Option<usize> {
    let named = NAMES.iter().any(|kind| user.to_lowercase().starts_with(kind));
    user.find('%').or_else(|| user.find(':').filter(|_| !named))
}

/// Whether an option is meant to hold a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["pass", "secret", "chap", "token", "key"].iter().any(|word| name.contains(word))
}

/// What is said of a secret in a URL.
fn no_secret() -> String {
    format!(
        "a secret in a URL would be written into the record; write `user@` and put the secret into the environment's \
         {SECRET}, or into a file named by {SECRET}{FILE}"
    )
}

/// One portal or more. A user who is named once, before the first, is meant for all.
fn portals(authority: &str) -> Result<Vec<PortalUrl>, String> {
    let mut all: Vec<PortalUrl> = Vec::new();
    for part in authority.split(',') {
        if all.len() == PATHS_MAX {
            return Err(format!("it names more than {PATHS_MAX} portals"));
        }
        if part.is_empty() && authority.contains(',') {
            return Err("there is a comma, but no portal beside it; portals are separated by commas, as in \
                        `192.0.2.1,192.0.2.2:3261`"
                .to_owned());
        }
        let mut found = portal(part)?;
        if found.user.is_none() {
            found.user = all.first().and_then(|first| first.user.clone());
        }
        if all.iter().any(|known| (&known.host, known.port) == (&found.host, found.port)) {
            return Err(format!("the portal {found} is listed twice; each portal is one path"));
        }
        all.push(found);
    }
    Ok(all)
}

fn portal(authority: &str) -> Result<PortalUrl, String> {
    let (user, host) = match authority.rsplit_once('@') {
        None => (None, authority),
        Some((user, _)) if secret_in(user).is_some() => return Err(no_secret()),
        Some(("", _)) => return Err("there is no user before the `@`".to_owned()),
        Some((user, host)) => (Some(user.to_owned()), host),
    };
    let (host, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let closed = rest.split_once(']').ok_or("the `[` of its address is not closed")?;
            let port = match closed.1 {
                "" => None,
                rest => Some(rest.strip_prefix(':').ok_or("a `:` and the port follow the `]`")?),
            };
            (closed.0, port)
        }
        None => match host.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(format!("an IPv6 address needs brackets, as in `[{host}]`"));
            }
            Some((host, port)) => (host, Some(port)),
            None => (host, None),
        },
    };
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    let port = match port {
        None => PORT,
        Some(text) => match text.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(format!("`{text}` is not a port number from 1 to 65535")),
        },
    };
    Ok(PortalUrl { host: host.to_owned(), port, user, secret: None })
}

fn place(path: &str) -> Result<(Option<String>, Option<u16>), String> {
    let mut parts = path.split('/');
    let target = match parts.next() {
        None | Some("") => None,
        Some(name) => Some(target_name(name)?),
    };
    let lun = match parts.next() {
        None | Some("") => None,
        Some(text) => match text.parse() {
            Ok(lun) if lun <= LUN_MAX => Some(lun),
            _ => return Err(format!("`{text}` is not a LUN number from 0 to {LUN_MAX}")),
        },
    };
    match parts.next() {
        Some(rest) if !rest.is_empty() => Err(format!("`/{rest}` follows the LUN; nothing may")),
        _ => Ok((target, lun)),
    }
}

fn target_name(name: &str) -> Result<String, String> {
    if name.len() > NAME_MAX {
        return Err(format!("the target's name is longer than {NAME_MAX} bytes"));
    }
    let lower = name.to_lowercase();
    if !NAMES.iter().any(|kind| lower.starts_with(kind)) {
        return Err(format!(
            "`{name}` is no target's name; one begins with `iqn.`, `eui.` or `naa.`, as in `iqn.2026-11.example:disk`"
        ));
    }
    Ok(lower)
}

fn options(query: &str) -> Result<(SessionOptions, PathOptions), String> {
    let (mut options, mut paths) = (SessionOptions::default(), PathOptions::default());
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let flag = |yes: &str, no: &str| match value {
            _ if value.eq_ignore_ascii_case(yes) => Ok(true),
            _ if value.eq_ignore_ascii_case(no) => Ok(false),
            _ => Err(format!("`{name}` is `{yes}` or `{no}`, not `{value}`")),
        };
        match name {
            "header_digest" => options.header_digest = flag("crc32c", "none")?,
            "data_digest" => options.data_digest = flag("crc32c", "none")?,
            "immediate_data" => options.immediate_data = flag("yes", "no")?,
            "initial_r2t" => options.initial_r2t = flag("yes", "no")?,
            "connections" => options.connections = connections(value)?,
            _ if is_secret(name) => return Err(no_secret()),
            _ => match paths.set(name, value) {
                Some(taken) => taken?,
                None => {
                    return Err(format!(
                        "the option `{name}` is not known; there are `header_digest`, `data_digest`, \
                         `immediate_data`, `initial_r2t`, `connections`, {}",
                        PathOptions::NAMES
                    ));
                }
            },
        }
    }
    Ok((options, paths))
}

fn connections(value: &str) -> Result<NonZeroU8, String> {
    let number = value.parse().ok().filter(|number: &NonZeroU8| number.get() <= CONNECTIONS_MAX);
    number.ok_or_else(|| {
        format!("`connections` is a number from 1 to {CONNECTIONS_MAX}, not `{value}`")
    })
}

impl SessionOptions {
    /// The same with one connection: what the control plane needs.
    pub(super) fn alone(self) -> SessionOptions {
        SessionOptions { connections: NonZeroU8::MIN, ..self }
    }
}

/// The secrets of a CHAP login.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets {
    /// Of this machine.
    pub own: Vec<u8>,
    /// Of the target, where it has to prove itself.
    pub mutual: Option<Vec<u8>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}

impl Secrets {
    /// Reads them from the environment, or from the files that it names.
    /// # Errors
    /// Which variable is missing, or which file cannot be read.
    pub fn from_environment() -> Result<Secrets, String> {
        Secrets::read(&|name| std::env::var(name).ok())
    }

    fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Secrets, String> {
        let secret = |name: &str| match (variable(name), variable(&format!("{name}{FILE}"))) {
            (Some(secret), _) => Ok(Some(secret.into_bytes())),
            (None, Some(path)) => from_file(Path::new(&path)).map(Some),
            (None, None) => Ok(None),
        };
        let own = secret(SECRET)?.ok_or_else(|| {
            format!(
                "the URL names a user, but there is no secret: put it into the environment's {SECRET}, or into a file \
                 named by {SECRET}{FILE}"
            )
        })?;
        Ok(Secrets { own, mutual: secret(MUTUAL)? })
    }
}

fn from_file(path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let text = private_file(path, SECRET_MAX as u64 + 3)
        .map_err(|e| format!("the secret in {shown} cannot be read ({e})"))?;
    let text = text.trim_ascii_end();
    match text.len() {
        0 => Err(format!("{shown} holds no secret")),
        len if len > SECRET_MAX => {
            Err(format!("{shown} holds more than the {SECRET_MAX} bytes of a secret"))
        }
        _ => Ok(text.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::multipath::PathPolicy;
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[track_caller]
    fn check(url: &str, portal: &str, target: Option<&str>, lun: Option<u16>) {
        let url = Url::parse(url).expect("a URL");
        let portals: Vec<String> = url.portals.iter().map(ToString::to_string).collect();
        assert_eq!(portals.join(","), portal);
        assert_eq!((url.target.as_deref(), url.lun), (target, lun));
    }

    #[test]
    fn urls_are_taken_apart() {
        let iqn = Some("iqn.2026-11.example:disk");
        check("iscsi://host/iqn.2026-11.example:disk/0", "host:3260", iqn, Some(0));
        check("iscsi://host:860/iqn.2026-11.Example:disk/12", "host:860", iqn, Some(12));
        check("iscsi://[2001:db8::1]/iqn.2026-11.example:disk", "[2001:db8::1]:3260", iqn, None);
        check("iscsi://me@[::1]:99/", "[::1]:99", None, None);
        check("iscsi://192.0.2.1", "192.0.2.1:3260", None, None);
        check(
            "iscsi://a,b:1,[::2]:3/iqn.2026-11.example:disk/3",
            "a:3260,b:1,[::2]:3",
            iqn,
            Some(3),
        );
        let url = Url::parse("iscsi://a@b@host/eui.1/1?header_digest=CRC32C&initial_r2t=yes");
        let url = url.expect("a URL");
        assert_eq!(url.portal().user.as_deref(), Some("a@b"));
        let wanted =
            SessionOptions { header_digest: true, initial_r2t: true, ..SessionOptions::default() };
        assert_eq!(url.options, wanted);
        let url = Url::parse("iscsi://a/eui.1/1?connections=8").expect("a URL");
        assert_eq!(url.options.connections.get(), CONNECTIONS_MAX);
        let url = Url::parse("iscsi://me@a,you@b,c/eui.1/1?policy=least-queue").expect("a URL");
        let users: Vec<_> =
            url.portals.iter().filter_map(|portal| portal.user.as_deref()).collect();
        assert_eq!(users, ["me", "you", "me"]);
        assert_eq!(url.paths.policy, PathPolicy::LeastQueue);
        let all = (0..17).map(|n| format!("h{n}")).collect::<Vec<_>>().join(",");
        let told = Url::parse(&format!("iscsi://{all}")).expect_err("too many").to_string();
        assert!(told.contains("more than 16"), "{told}");
    }

    #[test]
    fn errors_say_what_is_valid() {
        let wrong = [
            ("http://host/iqn.x/1", "begins with `iscsi://`"),
            ("iscsi://", "the host is missing"),
            ("iscsi:///iqn.x/1", "the host is missing"),
            ("iscsi://@host", "no user"),
            ("iscsi://host,/iqn.x/1", "separated by commas"),
            ("iscsi://,host/iqn.x/1", "separated by commas"),
            ("iscsi://a,b,a:3260/iqn.x/1", "a:3260 is listed twice"),
            ("iscsi://a,[::1/iqn.x/1", "not closed"),
            ("iscsi://a,b/iqn.x/1?policy=best", "not `best`"),
            ("iscsi://a,b/iqn.x/1?switch_after=some", "as in `1MiB`"),
            ("iscsi://a,me%word@b/iqn.x/1", "write `user@`"),
            ("iscsi://host:0", "not a port"),
            ("iscsi://host:99999", "not a port"),
            ("iscsi://::1/iqn.x/1", "brackets, as in `[::1]`"),
            ("iscsi://[::1", "not closed"),
            ("iscsi://[::1]x", "follow the `]`"),
            ("iscsi://host/disk/1", "no target's name"),
            ("iscsi://host/iqn.x/-1", "not a LUN"),
            ("iscsi://host/iqn.x/16384", "not a LUN"),
            ("iscsi://host/iqn.x/1/2", "follows the LUN"),
            ("iscsi://host/iqn.x/1?digest=no", "the option `digest` is not known"),
            ("iscsi://host/iqn.x/1?connections=0", "a number from 1 to 8, not `0`"),
            ("iscsi://host/iqn.x/1?connections=9", "a number from 1 to 8, not `9`"),
            ("iscsi://host/iqn.x/1?connections=two", "a number from 1 to 8"),
            ("iscsi://host/iqn.x/1?data_digest=md5", "`crc32c` or `none`, not `md5`"),
            ("iscsi://ho st/iqn.x/1", "blanks"),
            ("iscsi://me%word@host/iqn.x/1", "write `user@`"),
        ];
        for (url, problem) in wrong {
            let told = Url::parse(url).expect_err(url).to_string();
            assert!(told.contains(problem), "{url}: {told}");
            assert!(!told.contains("word"), "{told}");
        }
        let long = format!("iscsi://{}", "é".repeat(2000));
        assert!(Url::parse(&long).expect_err("too long").to_string().len() < 3000);
        for (url, problem) in [("iscsi://host", "and the LUN"), ("iscsi://host/iqn.x:y", "the LUN")]
        {
            let told = Url::lun(url).expect_err(url).to_string();
            assert!(
                told.contains(problem) && told.contains("target ls iscsi://host:3260"),
                "{told}"
            );
        }
    }

    #[test]
    fn a_secret_in_a_url_is_refused_and_never_shown() {
        for url in [
            "iscsi://me%hush@host/eui.1/0",
            "iscsi://me:hush@host/eui.1/0",
            "iscsi://a,me:hush@host/eui.1/0",
            "iscsi://iqn.2026-11.example:me%hush@host/eui.1/0",
            "iscsi://me@host/eui.1/0?password=hush",
            "iscsi://me@host/eui.1/0?policy=fixed&chap_secret=hush",
            "iscsi://me@host/eui.1/0?TOKEN=hush",
        ] {
            let told = Url::parse(url).expect_err(url).to_string();
            assert!(told.contains("a secret in a URL") && told.contains(SECRET), "{told}");
            assert!(!told.contains("hush"), "{told}");
        }
        let named = Url::parse("iscsi://iqn.2026-11.example:me@host/eui.1/0").expect("a URL");
        assert_eq!(named.portal().user.as_deref(), Some("iqn.2026-11.example:me"));
    }

    #[test]
    fn secrets_come_from_the_environment_or_from_files() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("secret");
        std::fs::write(&path, "from a file\n").expect("room");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("ours");
        let path = path.to_str().expect("UTF-8").to_owned();
        let read = |all: &[(&str, &str)]| {
            Secrets::read(&|name| {
                all.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())
            })
        };
        assert!(read(&[]).is_err_and(|e| e.contains(SECRET)));
        let both = read(&[(SECRET, "a"), ("WIRESPEED_CHAP_MUTUAL_SECRET_FILE", &path)]);
        let wanted = Secrets { own: b"a".to_vec(), mutual: Some(b"from a file".to_vec()) };
        assert!(both == Ok(wanted.clone()));
        assert_eq!(format!("{wanted:?}"), "Secrets(…)");
        let missing = format!("{path}.no");
        assert!(read(&[("WIRESPEED_CHAP_SECRET_FILE", &missing)]).is_err());
        std::fs::write(&path, "\n").expect("room");
        let empty = read(&[("WIRESPEED_CHAP_SECRET_FILE", &path)]);
        assert!(empty.is_err_and(|e| e.contains("holds no secret")));
    }
}
