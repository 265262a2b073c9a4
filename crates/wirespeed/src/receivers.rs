//! What the network engine asks of the program around it: the tokens of receivers, and receivers of its own on loopback.
//!
//! A token is read where the scenario says it lies, a file or the environment, at the moment at which it is needed. It goes
//! to the engine and nowhere else. An embedded receiver is a child process, so that the CPU time of both ends stays apart.
//! It lives as long as a pipe of ours is open: the kernel closes that even where this process is killed.

use crate::exit::Failure;
use clock::Ns;
use engine::{ReceiverSpec, TokenSource};
use net::interface::Guardian;
use net::{EmbeddedReceiver, NetError, Secret, Surroundings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The variable of the environment in which a token is looked for where none is named.
pub const TOKEN_ENV: &str = "WIRESPEED_NET_TOKEN";

/// The most of a token's file that is read.
const TOKEN_FILE_MAX: u64 = 4096;

/// The most of what a receiver says as it starts: its address, or why it has none.
const FIRST_WORDS_MAX: u64 = 4096;

/// How long a receiver may take to leave before it is killed.
const GRACE: Ns = Ns::secs(2);

/// How often to look whether it has left.
const POLL: Ns = Ns::millis(5);

/// The variable by which the processes of an emulated lab learn the token of the lab's receivers.
pub const LAB_TOKEN_ENV: &str = "WIRESPEED_LAB_TOKEN";

/// This program, around a network engine.
#[derive(Default)]
pub struct Around {
    /// Receivers on other hosts of an emulated lab, by name: they stand already.
    standing: BTreeMap<String, SocketAddr>,
}

impl Around {
    /// Within an emulated lab, whose receivers listen there.
    pub fn within(standing: BTreeMap<String, SocketAddr>) -> Around {
        Around { standing }
    }
}

impl Surroundings for Around {
    fn token(&mut self, from: &TokenSource) -> Result<Secret, NetError> {
        let token = match from {
            TokenSource::File(path) => token_of_file(Path::new(path)),
            TokenSource::Env(name) => token_of_env(name).and_then(|token| {
                token.ok_or_else(|| {
                    format!(
                        "no token: the variable {name} of the environment is not set; set it to what the receiver knows, \
                         or name a file"
                    )
                })
            }),
        };
        token.map_err(NetError::Spec)
    }

    fn embed(&mut self, receiver: &ReceiverSpec) -> Result<EmbeddedReceiver, NetError> {
        let failed = |source: io::Error| NetError::Listen {
            at: format!("the embedded receiver `{}`", receiver.name),
            source,
        };
        if let Some(address) = self.standing.get(&receiver.name) {
            let token = token_of_env(LAB_TOKEN_ENV).map_err(NetError::Spec)?;
            let (host, port) = (address.ip().to_string(), address.port());
            return Ok(EmbeddedReceiver { host, port, token, stands: Box::new(()) });
        }
        let listen = if receiver.ipv6 == Some(true) { "[::1]:0" } else { "127.0.0.1:0" };
        let command = std::env::current_exe().map(Command::new).map_err(failed)?;
        let (stands, addresses) = Standing::start(command, &[listen.to_owned()]).map_err(failed)?;
        let address = addresses[0];
        let (host, port) = (address.ip().to_string(), address.port());
        Ok(EmbeddedReceiver { host, port, token: None, stands: Box::new(stands) })
    }

    fn guardian(&self) -> Option<Guardian> {
        // Without the path of this program interfaces could not be restored, so none is changed.
        guardian().ok()
    }
}

/// How the process is started that puts an interface back.
pub fn guardian() -> io::Result<Guardian> {
    let program = std::env::current_exe()?;
    Ok(Guardian { program, args: ["net", "keep-interface"].map(Into::into).into() })
}

/// The token of a file's first line.
pub fn token_of_file(path: &Path) -> Result<Secret, String> {
    let line = first_line(path)
        .map_err(|e| format!("the token cannot be read: {}: {e}", path.display()))?;
    Secret::new(&line).map_err(|e| format!("{}: {e}", path.display()))
}

/// The token of a variable of the environment; `None` where it is not set, or empty.
pub fn token_of_env(name: &str) -> Result<Option<Secret>, String> {
    let set = std::env::var_os(name).filter(|value| !value.is_empty());
    let token = |value: OsString| Secret::new(&value.into_encoded_bytes());
    set.map(token).transpose().map_err(|e| format!("{name}: {e}"))
}

/// The token of a command: from its file, or from the environment.
pub fn token_of_command(file: Option<&Path>) -> Result<Option<Secret>, Failure> {
    match file {
        Some(file) => token_of_file(file).map(Some),
        None => token_of_env(TOKEN_ENV),
    }
    .map_err(Failure::usage)
}

/// Editors and `echo` put a newline behind it.
fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = san::private_file(path, TOKEN_FILE_MAX)?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
}

/// A receiver in a process of its own. Dropping it ends it.
pub struct Standing {
    child: Child,
}

impl Standing {
    /// Starts one, by a command of this program, at addresses of which it says which they became: as many, and at least one.
    pub fn start(
        mut command: Command,
        listen: &[String],
    ) -> io::Result<(Standing, Vec<SocketAddr>)> {
        command.args(["net", "receive", "--format", "json", "--quiet", "--embedded"]);
        command.args(listen.iter().flat_map(|address| ["--listen", address]));
        if !command.get_envs().any(|(name, _)| name == TOKEN_ENV) {
            command.env_remove(TOKEN_ENV);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A Ctrl-C at the terminal is for the coordinator, which then ends this process.
        let child = command.process_group(0).spawn()?;
        let mut standing = Standing { child };
        let addresses = standing.addresses()?;
        match addresses.len() == listen.len().max(1) {
            true => Ok((standing, addresses)),
            false => Err(io::Error::other(standing.complaint())),
        }
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens, as its first line says; nowhere where it says something else.
    fn addresses(&mut self) -> io::Result<Vec<SocketAddr>> {
        let mut line = String::new();
        if let Some(stdout) = self.child.stdout.take() {
            BufReader::new(stdout.take(FIRST_WORDS_MAX)).read_line(&mut line)?;
        }
        let told: Value = serde_json::from_str(&line).unwrap_or_default();
        let listening = told["listening"].as_array().into_iter().flatten();
        Ok(listening.filter_map(|address| address.as_str()?.parse().ok()).collect())
    }

    /// Why it has no address.
    fn complaint(&mut self) -> String {
        let mut words = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            // What cannot be read says as little as nothing.
            let _ = stderr.take(FIRST_WORDS_MAX).read_to_end(&mut words);
        }
        match String::from_utf8_lossy(&words).trim() {
            "" => "its process ended without an error message".to_owned(),
            words => words.to_owned(),
        }
    }

    fn has_left(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        // The end of its standard input is what it waits for.
        drop(self.child.stdin.take());
        let deadline = clock::now().plus(GRACE);
        while !self.has_left() && clock::now() < deadline {
            clock::sleep_until(clock::now().plus(POLL));
        }
        // Harmless where it has left.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_the_first_line_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        for (content, good) in [
            ("correct horse battery", true),
            ("correct horse battery\n", true),
            ("correct horse battery\r\nand more", true),
            ("short\n", false),
            ("", false),
        ] {
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            let token = token_of_file(&path);
            assert_eq!(token.is_ok(), good, "{content:?}");
            let told = token.err().unwrap_or_default();
            assert!(!told.contains("short"), "a token is never shown: {told}");
        }
        let told = token_of_file(&dir.path().join("missing")).err().unwrap();
        assert!(
            told.starts_with("the token cannot be read: ") && told.contains("missing"),
            "{told}"
        );
    }

    #[test]
    fn a_variable_that_is_not_set_holds_no_token() {
        assert!(matches!(token_of_env("WIRESPEED_NO_SUCH_VARIABLE"), Ok(None)));
        let from = TokenSource::Env("WIRESPEED_NO_SUCH_VARIABLE".to_owned());
        let told = Around::default().token(&from).err().unwrap().to_string();
        assert!(told.contains("WIRESPEED_NO_SUCH_VARIABLE"), "{told}");
    }
}
