//! `wirespeed net`: the network engine ad hoc.

mod json;
mod receive;
mod send;
mod text;

use crate::cli::{Net, NetAction};
use crate::exit::{Exit, Failure};
use net::interface::Guardian;
use net::{NetError, Token};
use std::io::Read;
use std::path::Path;

/// Where the token may stand in the environment.
const TOKEN: &str = "WIRESPEED_NET_TOKEN";

/// Receives or sends.
pub fn net(args: &Net) -> Result<Exit, Failure> {
    match &args.action {
        NetAction::Receive(args) => receive::receive(args),
        NetAction::KeepInterface => keep_interface(),
        NetAction::Send(args) => send::send(args),
    }
}

/// How the process is started that puts an interface back.
fn guardian() -> Result<Guardian, Failure> {
    let program = std::env::current_exe().map_err(Failure::incomplete)?;
    Ok(Guardian { program, args: ["net", "keep-interface"].map(Into::into).into() })
}

/// Is that process.
fn keep_interface() -> Result<Exit, Failure> {
    let kept = net::interface::keep(std::io::stdin(), std::io::stdout(), std::io::stderr());
    let back = kept.map_err(|e| Failure::usage(format!("it is told what to keep: {e}")))?;
    Ok(if back { Exit::Met } else { Exit::Incomplete })
}

/// The token of a file's first line, or of the environment.
fn token(file: Option<&Path>) -> Result<Option<Token>, Failure> {
    let (source, bytes) = match (file, std::env::var_os(TOKEN).filter(|value| !value.is_empty())) {
        (Some(file), _) => (file.display().to_string(), first_line(file)?),
        (None, Some(value)) => (TOKEN.to_owned(), value.into_encoded_bytes()),
        (None, None) => return Ok(None),
    };
    Token::new(&bytes).map(Some).map_err(|e| Failure::usage(format!("{source}: {e}")))
}

/// Editors and `echo` put a newline behind it.
fn first_line(path: &Path) -> Result<Vec<u8>, Failure> {
    const MOST: u64 = 4096;
    let failed = |e: std::io::Error| {
        Failure::usage(format!("the token cannot be read: {}: {e}", path.display()))
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MOST).read_to_end(&mut bytes))
        .map_err(failed)?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
}

/// A test that cannot be is a mistake of usage; anything else went wrong on the way.
fn failure(error: NetError) -> Failure {
    match error {
        NetError::Spec(why) => Failure::usage(why),
        other => Failure::incomplete(other),
    }
}
