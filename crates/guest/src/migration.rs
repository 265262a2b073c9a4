//! A guest moves from one QEMU to another while it runs: its memory is copied until little is left to copy, then it stands still
//! for the rest, and goes on at the other. Its disks are where they were; both processes have them open.

use crate::machine::Machine;
use crate::process::{Guest, GuestError, Image, Launched};
use crate::qmp::{Qmp, QmpError};
use clock::Ns;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use thiserror::Error;

/// How long a guest may stand still for, as QEMU is asked: it goes on copying until it thinks that this is kept.
const STANDS_STILL: Ns = Ns::millis(100);
/// Bytes a second that are copied at most: no bound.
const RATE_MAX: u64 = 1 << 40;
const POLL: Ns = Ns::millis(10);
/// How long a QEMU whose guest has left may take to end.
const ENDS: Ns = Ns::secs(5);
/// The name of the channel between the two.
const CHANNEL: &str = "channel";

/// What a move was.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// From the order until the guest ran at its new QEMU.
    pub total: Ns,
    /// For how long it stood still, as QEMU says.
    pub stood_still: Ns,
    /// Bytes that were copied.
    pub copied: u64,
}

/// Why a guest did not move. It goes on where it was, unless it has ended.
#[derive(Debug, Error)]
pub enum MoveError {
    /// There is no second QEMU.
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// One of both did not do as it was told.
    #[error(transparent)]
    Qmp(#[from] QmpError),
    /// A channel.
    #[error("a channel between two QEMUs: {0}")]
    Io(#[from] io::Error),
    /// It has failed.
    #[error("QEMU gave the migration up: {0}")]
    Failed(String),
    /// It did not end.
    #[error("it was not over after {0}: the guest changes its memory faster than it is copied")]
    Endless(String),
}

impl Guest {
    /// Moves the guest to a new QEMU: the same `machine`, which has the same disks, and memory of its own in the place of what
    /// the guest keeps: what is there is copied to it. Gives it up after `patience`; the guest then
    /// goes on where it is.
    /// # Errors
    /// It did not move.
    pub fn relocate(
        &mut self,
        machine: &Machine,
        image: &Image,
        keeper: &[OsString],
        patience: Ns,
    ) -> Result<Moved, MoveError> {
        let began = clock::now();
        let waits = ["-incoming", "defer"];
        let next = Guest::launch(machine, image, keeper, &self.console, &waits)?;
        let mut next = Arriving { launched: Some(next) };
        let held = self.ports.iter().map(|port| port.hold()).collect::<io::Result<Vec<_>>>()?;
        let there = next.qmp()?;
        copy(&mut self.qmp, there)?;
        let over = finished(&mut self.qmp, began.plus(patience));
        if let Err(why) = over {
            // What cannot be called off has ended by itself.
            let _ = self.qmp.execute("migrate_cancel", Value::Null);
            return Err(why);
        }
        let (stood_still, copied) = over?;
        runs(there, began.plus(patience))?;
        let Some(Launched { child, qmp, ports }) = next.launched.take() else {
            return Err(MoveError::Failed("the new QEMU is gone".to_owned()));
        };
        let total = clock::now().since(began);
        // What it says of its guest is of one that has left.
        let old = std::mem::replace(&mut self.child, child);
        let mut control = std::mem::replace(&mut self.qmp, qmp);
        let _ = control.execute("quit", Value::Null);
        ended(old);
        for (held, socket) in held.into_iter().zip(ports) {
            held.moved(socket)?;
        }
        Ok(Moved { total, stood_still, copied })
    }
}

/// Waits until a QEMU that was told to end has ended; not for long.
fn ended(mut old: Child) {
    let deadline = clock::now().plus(ENDS);
    while matches!(old.try_wait(), Ok(None)) && clock::now() < deadline {
        clock::sleep_until(clock::now().plus(POLL));
    }
    // Errors mean that it has ended.
    let _ = old.kill();
    let _ = old.wait();
}

/// A QEMU that waits for its guest; it ends where the guest does not come.
struct Arriving {
    launched: Option<Launched>,
}

impl Arriving {
    fn qmp(&mut self) -> Result<&mut Qmp, MoveError> {
        let launched = self.launched.as_mut();
        launched
            .map(|of| &mut of.qmp)
            .ok_or_else(|| MoveError::Failed("the new QEMU is gone".to_owned()))
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if let Some(mut of) = self.launched.take() {
            // Errors mean that it has ended.
            let _ = of.child.kill();
            let _ = of.child.wait();
        }
    }
}

/// Has the one copy its guest to the other.
fn copy(from: &mut Qmp, to: &mut Qmp) -> Result<(), MoveError> {
    let (out, into) = UnixStream::pair()?;
    let limits = json!({
        "max-bandwidth": RATE_MAX, "downtime-limit": STANDS_STILL.0 / 1_000_000,
    });
    from.execute("migrate-set-parameters", limits)?;
    let channel = json!({ "uri": format!("fd:{CHANNEL}") });
    to.hand(CHANNEL, into.as_fd())?;
    to.execute("migrate-incoming", channel.clone())?;
    from.hand(CHANNEL, out.as_fd())?;
    from.execute("migrate", channel)?;
    Ok(())
}

/// Waits for the end; for how long the guest stood still, and bytes copied.
fn finished(from: &mut Qmp, deadline: Ns) -> Result<(Ns, u64), MoveError> {
    let began = clock::now();
    loop {
        let state = from.execute("query-migrate", Value::Null)?;
        match state["status"].as_str().unwrap_or_default() {
            "completed" => {
                let still = state["downtime"].as_u64().unwrap_or_default();
                let copied = state["ram"]["transferred"].as_u64().unwrap_or_default();
                return Ok((Ns::millis(still), copied));
            }
            status @ ("failed" | "cancelled") => {
                let why = state["error-desc"].as_str().unwrap_or(status);
                return Err(MoveError::Failed(why.to_owned()));
            }
            _ if clock::now() >= deadline => {
                let s = clock::now().since(began).0 as f64 / 1e9;
                return Err(MoveError::Endless(format!("{s:.1} s")));
            }
            _ => clock::sleep_until(clock::now().plus(POLL)),
        }
    }
}

/// Waits until the guest runs at its new QEMU.
fn runs(there: &mut Qmp, deadline: Ns) -> Result<(), MoveError> {
    loop {
        let state = there.execute("query-status", Value::Null)?;
        if state["running"].as_bool() == Some(true) {
            return Ok(());
        }
        if clock::now() >= deadline {
            let status = state["status"].as_str().unwrap_or("unknown");
            return Err(MoveError::Failed(format!("the new QEMU does not run it ({status})")));
        }
        clock::sleep_until(clock::now().plus(POLL));
    }
}
