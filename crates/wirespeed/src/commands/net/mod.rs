//! `wirespeed net`: the network engine ad hoc.

mod json;
mod receive;
mod send;
mod text;

use crate::cli::{Net, NetAction};
use crate::exit::{Exit, Failure};
use net::NetError;

/// Receives or sends.
pub fn net(args: &Net) -> Result<Exit, Failure> {
    match &args.action {
        NetAction::Receive(args) => receive::receive(args),
        NetAction::KeepInterface => keep_interface(),
        NetAction::Send(args) => send::send(args),
    }
}

/// Is that process.
fn keep_interface() -> Result<Exit, Failure> {
    let kept = net::interface::keep(std::io::stdin(), std::io::stdout(), std::io::stderr());
    let back =
        kept.map_err(|e| Failure::usage(format!("no settings to keep on standard input: {e}")))?;
    Ok(if back { Exit::Met } else { Exit::Incomplete })
}

/// A receiver that cannot be is a mistake of usage; anything else went wrong on the way.
fn failure(error: NetError) -> Failure {
    match error {
        NetError::Spec(why) => Failure::usage(why),
        other => Failure::incomplete(other),
    }
}
