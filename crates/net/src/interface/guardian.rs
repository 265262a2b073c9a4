//! The process that restores an interface however its parent ends, `kill -9` included.
//!
//! It receives the original settings, confirms them, and waits at a pipe whose other end only its parent holds. The kernel
//! closes that end with the parent's last thread, and then the guardian acts. It has its own session and ignores termination
//! signals, so that a Ctrl-C, a closed terminal or a service manager's first signal does not end both at once. It reports to
//! its parent, or on standard error if the parent is gone.

use super::change::{OriginalSettings, put_back};
use super::{Adjusted, InterfaceError, OFFLOADS, is_name};
use crate::sys::{ignore_ending, socket};
use clock::Ns;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Bytes of a line between the two, at most.
const LINE_MAX: u64 = 64 << 10;
/// How long it may take to start.
const START: Ns = Ns::secs(20);
/// The longest time to restore an interface, with a link that comes up slowly.
const RETURN: Ns = Ns::secs(40);

/// How a guardian is started: a program that calls [`keep`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guardian {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// What its parent says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GuardianOrder {
    /// What to put back.
    Keep(OriginalSettings),
    /// The end has come in order: the parent waits for an answer.
    Finish,
}

/// What a guardian says.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GuardianAnswer {
    /// It has the original settings.
    Keeping,
    /// Restored.
    Done(Adjusted),
    /// Not restored.
    Failed(String),
}

/// A running guardian, seen from its parent.
#[derive(Debug)]
pub(super) struct GuardianHandle {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl GuardianHandle {
    /// Starts a guardian and waits for its confirmation.
    pub(super) fn post(
        guardian: &Guardian,
        found: &OriginalSettings,
    ) -> Result<GuardianHandle, InterfaceError> {
        let unguarded =
            |why: String| InterfaceError::Unguarded { interface: found.name.clone(), why };
        let mut command = Command::new(&guardian.program);
        command.args(&guardian.args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let program = guardian.program.display();
        let mut child = command.spawn().map_err(|e| unguarded(format!("{program}: {e}")))?;
        let (orders, answers) = (child.stdin.take(), child.stdout.take());
        let answers = answers.ok_or_else(|| unguarded("it has no output".to_owned()))?;
        let mut guard = GuardianHandle { child, orders, answers: BufReader::new(answers) };
        guard.say(&GuardianOrder::Keep(found.clone())).map_err(|e| unguarded(e.to_string()))?;
        match guard.hear(START) {
            Ok(GuardianAnswer::Keeping) => Ok(guard),
            Ok(GuardianAnswer::Failed(why)) => Err(unguarded(why)),
            Ok(GuardianAnswer::Done(_)) => Err(unguarded("it spoke out of turn".to_owned())),
            Err(e) => Err(unguarded(format!("{program} did not answer: {e}"))),
        }
    }

    /// Has it restore the interface. An error: it did not, or the outcome is unknown.
    pub(super) fn finish(mut self) -> Result<Adjusted, String> {
        let said = self.say(&GuardianOrder::Finish);
        // The end of its input, whatever was said: it acts now.
        self.orders = None;
        said.map_err(|e| format!("the process that should do it is gone: {e}"))?;
        match self.hear(RETURN) {
            Ok(GuardianAnswer::Done(adjusted)) => Ok(adjusted),
            Ok(GuardianAnswer::Failed(why)) => Err(why),
            Ok(GuardianAnswer::Keeping) => {
                Err("the process that should do it spoke out of turn".to_owned())
            }
            Err(e) => Err(format!("the process that should do it did not answer: {e}")),
        }
    }

    fn say(&mut self, order: &GuardianOrder) -> io::Result<()> {
        let to = self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        say(to, order)
    }

    fn hear(&mut self, limit: Ns) -> io::Result<GuardianAnswer> {
        // A line is written in one piece; its first byte is worth waiting for.
        if self.answers.buffer().is_empty() && !socket::can_read(self.answers.get_ref(), limit)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        hear(&mut self.answers)
    }
}

impl Drop for GuardianHandle {
    fn drop(&mut self) {
        self.orders = None;
        // It acts on the end of its input and then ends.
        let _ = self.child.wait();
    }
}

fn say(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

fn hear<M: serde::de::DeserializeOwned>(from: &mut impl BufRead) -> io::Result<M> {
    let mut line = Vec::new();
    from.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&line)?)
}

/// Runs a guardian: reads the original settings from `orders` and restores them at its end. Answers go to `answers`, and to
/// `notes` if the parent is gone. Returns whether everything is restored.
/// # Errors
/// Where nothing was kept: the first order does not come or makes no sense, or the process cannot leave its session.
pub fn keep(orders: impl Read, mut answers: impl Write, mut notes: impl Write) -> io::Result<bool> {
    ignore_ending()?;
    // Where it leads a process group it has left its parent's already.
    let _ = rustix::process::setsid();
    let mut orders = BufReader::new(orders);
    let found = match hear(&mut orders)? {
        GuardianOrder::Keep(found) if is_sound(&found) => found,
        _ => return Err(io::Error::other("the first order must say what to keep")),
    };
    say(&mut answers, &GuardianAnswer::Keeping)?;
    // Waits here. Anything but the orderly end is the end all the same.
    let orderly = matches!(hear(&mut orders), Ok(GuardianOrder::Finish));
    let result = put_back(&found);
    let note = note(&found, &result);
    let back = result.is_ok();
    let answer = match result {
        Ok(adjusted) => GuardianAnswer::Done(adjusted),
        Err(e) => GuardianAnswer::Failed(e.to_string()),
    };
    let heard = orderly && say(&mut answers, &answer).is_ok();
    if !heard {
        // Standard error may be closed; there is no other channel.
        let _ = writeln!(notes, "{note}");
    }
    Ok(back)
}

/// Bounds of what a guardian takes.
fn is_sound(found: &OriginalSettings) -> bool {
    let known = |(name, _): &(String, bool)| OFFLOADS.contains(&name.as_str());
    is_name(&found.name)
        && found.features.len() <= OFFLOADS.len()
        && found.features.iter().all(known)
}

/// What there is to say where a run ended without its own end.
fn note(found: &OriginalSettings, result: &Result<Adjusted, InterfaceError>) -> String {
    let name = &found.name;
    match result {
        Ok(adjusted) if adjusted.changed.is_empty() => {
            format!("{name}: the run ended early; the interface is unchanged")
        }
        Ok(adjusted) => {
            let changed = adjusted.changed.join(", ");
            format!("{name}: the run ended early; restored: {changed}")
        }
        Err(e) => {
            let mtu = found.mtu;
            format!(
                "{e}\n{name}: the run ended early, and what was found could not be put back; do it by hand: `ip link set \
                 dev {name} mtu {mtu}`, and `ethtool -K {name}` with {}",
                switches(found)
            )
        }
    }
}

fn switches(found: &OriginalSettings) -> String {
    let switch = |(name, on): &(String, bool)| format!("{name} {}", if *on { "on" } else { "off" });
    let all: Vec<String> = found.features.iter().map(switch).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Interface;

    /// Names of interfaces that are none, so that nothing is touched.
    fn found(name: &str, features: &[&str]) -> OriginalSettings {
        let features = features.iter().map(|name| ((*name).to_owned(), true)).collect();
        OriginalSettings { name: name.to_owned(), index: 77, mtu: 1500, features }
    }

    #[test]
    fn impossible_settings_are_refused() {
        assert!(is_sound(&found("eth0", &["rx-gro", "tx-tcp-segmentation"])));
        for wrong in [found("", &[]), found("a/b", &[]), found("eth0", &["loopback"])] {
            assert!(!is_sound(&wrong), "{wrong:?}");
        }
        assert!(!is_sound(&found("eth0", &["rx-gro"; 100])));
    }

    #[test]
    fn failed_restores_name_the_manual_commands() {
        let missing = Err(InterfaceError::Missing { interface: "eth0".to_owned() });
        let text = note(&found("eth0", &["rx-gro"]), &missing);
        for hint in ["ip link set dev eth0 mtu 1500", "ethtool -K eth0` with rx-gro on"] {
            assert!(text.contains(hint), "{text}");
        }
        let interface = Interface::named("lo").unwrap();
        let adjusted =
            |changed| Ok(Adjusted { interface: interface.clone(), changed, held: vec![] });
        assert!(note(&found("lo", &[]), &adjusted(vec![])).contains("the interface is unchanged"));
        let changed = vec!["MTU 9000 to 1500".to_owned()];
        assert!(
            note(&found("lo", &[]), &adjusted(changed)).ends_with("restored: MTU 9000 to 1500")
        );
    }

    #[track_caller]
    fn refused(orders: &[u8]) {
        let result = hear::<GuardianOrder>(&mut BufReader::new(orders));
        let sound = matches!(&result, Ok(GuardianOrder::Keep(found)) if is_sound(found));
        assert!(!sound, "{:?}", String::from_utf8_lossy(orders));
    }

    #[test]
    fn orders_that_make_no_sense_are_refused() {
        for wrong in
            [&b""[..], b"\n", b"{}\n", b"\"finish\"\n", b"{\"keep\":{\"name\":\"eth0\"}}\n"]
        {
            refused(wrong);
        }
        let wrong = serde_json::to_vec(&GuardianOrder::Keep(found("../x", &[]))).unwrap();
        refused(&wrong);
    }

    #[test]
    fn lines_are_bounded() {
        let long = vec![b' '; LINE_MAX as usize * 2];
        assert!(hear::<GuardianOrder>(&mut BufReader::new(&long[..])).is_err());
    }
}
