//! The asking end: finds the target that is meant among those that run, and asks it.

use super::place::{self, Reached};
use super::server::{read_line, write_all};
use super::{Identity, Reply, Request};
use crate::exit::Failure;
use clock::Ns;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// How long a target may take to answer.
const PATIENCE: Ns = Ns::secs(5);
/// The longest answer in bytes.
const REPLY_MAX: usize = 64 << 20;

/// A running target.
pub struct Found {
    path: PathBuf,
    pub identity: Identity,
}

impl Found {
    /// The target that `wanted` names by its iSCSI name, its process or a URL; the only one that runs where nothing is named.
    ///
    /// # Errors
    /// None runs, none is named so, or it is not clear which is meant.
    pub fn choose(wanted: Option<&str>) -> Result<Found, Failure> {
        let mut found = all()?;
        if found.is_empty() {
            return Err(Failure::incomplete(
                "no target of this user runs on this machine; `wirespeed target serve` starts one",
            ));
        }
        let listed = |found: &[Found]| found.iter().map(Found::line).collect::<String>();
        let Some(wanted) = wanted else {
            return match found.len() {
                1 => Ok(found.remove(0)),
                n => Err(Failure::usage(format!(
                    "{n} targets run: say which is meant with --target NAME, PID or URL\n{}",
                    listed(&found)
                ))),
            };
        };
        let mut named: Vec<usize> =
            (0..found.len()).filter(|at| found[*at].identity.is_named(wanted)).collect();
        match (named.pop(), named.is_empty()) {
            (Some(at), true) => Ok(found.remove(at)),
            (Some(_), false) => Err(Failure::usage(format!(
                "--target {wanted}: several targets are named so: say the PID\n{}",
                listed(&found)
            ))),
            (None, _) => {
                let names = found.iter().map(|one| one.identity.iqn.as_str());
                let hint = scenario::suggestion(wanted, names);
                let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                Err(Failure::usage(format!(
                    "--target {wanted}: no target that runs is named so{hint}\n{}",
                    listed(&found)
                )))
            }
        }
    }

    /// Asks it; what it refuses or cannot do is a failure.
    ///
    /// # Errors
    /// It refuses, fails, has ended, or does not answer in time.
    pub fn ask(&self, request: &Request) -> Result<Reply, Failure> {
        match asked(&self.path, request) {
            Ok(Some(Reply::Refused(why))) => Err(Failure::usage(why)),
            Ok(Some(Reply::Failed(why))) => Err(Failure::incomplete(why)),
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(Failure::incomplete(format!(
                "the target {} (PID {}) has ended",
                self.identity.iqn, self.identity.pid
            ))),
            Err(why) => Err(Failure::incomplete(why)),
        }
    }

    /// The target that has a port of this name, among all that run; where none or several have it, as [`Found::choose`].
    ///
    /// # Errors
    /// As there.
    pub fn with_port(wanted: Option<&str>, port: &str) -> Result<Found, Failure> {
        let (None, Ok(mut found)) = (wanted, all()) else { return Found::choose(wanted) };
        let mut having = (0..found.len()).filter(|at| found[*at].identity.has_port(port));
        match (having.next(), having.next()) {
            (Some(at), None) => Ok(found.remove(at)),
            _ => Found::choose(None),
        }
    }

    /// All that run, where they are several and none is named.
    ///
    /// # Errors
    /// They cannot be asked.
    pub fn several(wanted: Option<&str>) -> Result<Vec<Found>, Failure> {
        match wanted {
            Some(_) => Ok(Vec::new()),
            None => all().map(|found| if found.len() > 1 { found } else { Vec::new() }),
        }
    }

    /// It in one line.
    pub fn line(&self) -> String {
        let Identity { iqn, pid, portals, array, .. } = &self.identity;
        let (name, ports) = match array {
            Some(array) => (format!("array {} of a run", array.name), array.ports.join(" ")),
            None => (iqn.clone(), portals.join(" ")),
        };
        format!("  PID {pid}  {name}  {ports}\n")
    }
}

impl Identity {
    /// Whether it has a port of this name or address.
    fn has_port(&self, port: &str) -> bool {
        let hops = self.array.iter().flat_map(|array| &array.ports);
        hops.chain(&self.portals).any(|name| name == port)
    }

    /// Whether `name` is its process, its iSCSI name, its name as an array of a run, or a URL of one of its portals.
    fn is_named(&self, name: &str) -> bool {
        let is_array = self.array.as_ref().is_some_and(|array| array.name == name);
        if name == self.iqn || is_array || name.parse() == Ok(self.pid) {
            return true;
        }
        let Some(rest) = name.strip_prefix("iscsi://") else { return false };
        let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
        let mut parts = rest.split('/');
        let portal = parts.next().unwrap_or_default();
        let iqn = parts.next().filter(|iqn| !iqn.is_empty());
        let portal_is = |own: &String| *own == portal || *own == format!("{portal}:3260");
        self.portals.iter().any(portal_is) && iqn.is_none_or(|iqn| iqn == self.iqn)
    }
}

/// All targets of this user that run. Sockets that were left are removed on the way.
fn all() -> Result<Vec<Found>, Failure> {
    let directory = place::directory();
    let sockets = place::sockets(&directory).map_err(Failure::incomplete)?;
    let mut found = Vec::new();
    let mut trouble = Vec::new();
    for path in sockets {
        match asked(&path, &Request::Who) {
            Ok(Some(Reply::Who(identity))) => found.push(Found { path, identity }),
            Ok(Some(_)) => trouble.push(format!("{}: it is none of Wirespeed's", path.display())),
            Ok(None) => {}
            Err(why) => trouble.push(why),
        }
    }
    match (found.is_empty(), trouble.is_empty()) {
        (true, false) => Err(Failure::incomplete(trouble.join("\n"))),
        _ => Ok(found),
    }
}

/// Asks at a socket; `None` where nothing listens any more.
fn asked(path: &Path, request: &Request) -> Result<Option<Reply>, String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let mut stream = match place::reach(path) {
        Reached::Alive(stream) => stream,
        Reached::Dead => return Ok(None),
        Reached::Foreign(user) => {
            return Err(told(&format_args!("refused: it belongs to the user with number {user}")));
        }
        Reached::Failed(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Reached::Failed(e) => return Err(told(&e)),
    };
    let deadline = clock::now().plus(PATIENCE);
    let mut line = serde_json::to_vec(request).map_err(|e| told(&e))?;
    line.push(b'\n');
    let answer = write_all(&mut stream, &line, deadline)
        .and_then(|()| read_line(&mut stream, deadline, REPLY_MAX));
    match answer {
        Ok(answer) => serde_json::from_slice(&answer).map(Some).map_err(|e| {
            told(&format_args!("its answer is of another version of Wirespeed ({e})"))
        }),
        Err(e) if matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
            Err(told(&"the target does not answer"))
        }
        Err(e) => Err(told(&e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::ArrayNames;

    #[test]
    fn a_target_is_named_by_its_process_its_name_or_a_url() {
        let identity = Identity {
            version: 1,
            iqn: "iqn.x:y".to_owned(),
            pid: 47,
            portals: vec!["127.0.0.1:3260".to_owned(), "[::1]:77".to_owned()],
            array: Some(ArrayNames { name: "store".to_owned(), ports: Vec::new() }),
        };
        for (name, meant) in [
            ("47", true),
            ("48", false),
            ("iqn.x:y", true),
            ("store", true),
            ("store.p1", false),
            ("iqn.x", false),
            ("iscsi://127.0.0.1:3260/iqn.x:y/0", true),
            ("iscsi://127.0.0.1", true),
            ("iscsi://u%secret@127.0.0.1:3260", true),
            ("iscsi://[::1]:77", true),
            ("iscsi://127.0.0.1:77", false),
            ("iscsi://127.0.0.1:3260/iqn.other/0", false),
            ("", false),
        ] {
            assert_eq!(identity.is_named(name), meant, "{name}");
        }
    }
}
