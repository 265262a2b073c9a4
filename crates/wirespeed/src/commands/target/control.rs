//! `wirespeed target status`, `stop-port`, `start-port` and `resize`: a running target is asked and told over its socket.

use super::status::{self, History};
use crate::cli::{Format, PortArgs, ResizeArgs, StatusArgs};
use crate::control::client::Found;
use crate::control::{PortState, Reply, Request, Status, VERSION, WINDOW_MAX};
use crate::exit::{Exit, Failure};
use crate::out::{self, Screen};
use crate::present;
use clock::Ns;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

pub fn status(args: &StatusArgs) -> Result<Exit, Failure> {
    let several = Found::several(args.target.as_deref())?;
    if !several.is_empty() && !args.watch {
        return list(args, &several);
    }
    let found = Found::choose(args.target.as_deref())?;
    if args.watch {
        return watch(args, &found);
    }
    let status = asked(&found, WINDOW_MAX)?;
    out::result(&match args.is_json() {
        true => document(&status, true)?,
        false => status::page(&status, present::style().width).join("\n") + "\n",
    })?;
    Ok(Exit::Met)
}

/// What runs here, a line each.
fn list(args: &StatusArgs, found: &[Found]) -> Result<Exit, Failure> {
    let mut targets = Vec::with_capacity(found.len());
    let mut lines = vec![format!("{} targets run; --target NAME or PID shows one", found.len())];
    for one in found {
        // One that has ended meanwhile is left out.
        let Ok(status) = asked(one, WINDOW_MAX) else { continue };
        lines.push(one.line().trim_end().to_owned());
        lines.push(format!("    {}", status::line(&status)));
        targets.push(serde_json::to_value(&status).map_err(Failure::incomplete)?);
    }
    out::result(&match args.is_json() {
        true => format!("{:#}\n", serde_json::json!({ "version": VERSION, "targets": targets })),
        false => lines.join("\n") + "\n",
    })?;
    Ok(Exit::Met)
}

/// Takes a port down, or brings it back.
pub fn port(args: &PortArgs, to: PortState) -> Result<Exit, Failure> {
    let found = Found::with_port(args.target.as_deref(), &args.port)?;
    let port = args.port.clone();
    let request = match to {
        PortState::Stopped => Request::StopPort { port },
        PortState::Up => Request::StartPort { port },
    };
    let Reply::Port(change) = found.ask(&request)? else { return Err(unexpected()) };
    out::result(&match args.output.format {
        Format::Json => {
            format!("{:#}\n", serde_json::to_value(&change).map_err(Failure::incomplete)?)
        }
        Format::Text => status::changed(&change),
    })?;
    Ok(Exit::Met)
}

/// Makes a LUN larger.
pub fn resize(args: &ResizeArgs) -> Result<Exit, Failure> {
    let found = Found::choose(args.target.as_deref())?;
    let request = Request::Resize { lun: args.lun.into(), bytes: args.size.0 };
    let Reply::Resized(change) = found.ask(&request)? else { return Err(unexpected()) };
    out::result(&match args.output.format {
        Format::Json => {
            format!("{:#}\n", serde_json::to_value(&change).map_err(Failure::incomplete)?)
        }
        Format::Text => status::resized(&change),
    })?;
    Ok(Exit::Met)
}

fn asked(found: &Found, window_s: u64) -> Result<Status, Failure> {
    match found.ask(&Request::Status { window_s })? {
        Reply::Status(status) => Ok(*status),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> Failure {
    Failure::incomplete("the target has answered something else than it was asked")
}

/// Shows it each second, until a signal or the target's end.
fn watch(args: &StatusArgs, found: &Found) -> Result<Exit, Failure> {
    let stop = super::stop_signal()?;
    let mut screen = if args.is_json() { None } else { Screen::of_results() };
    let mut history = History::default();
    let mut next = clock::now();
    loop {
        let status = match asked(found, 1) {
            Ok(status) => status,
            Err(failure) => {
                if let Some(screen) = &mut screen {
                    screen.clear();
                }
                return Err(failure);
            }
        };
        history.add(&status);
        match &mut screen {
            Some(screen) => {
                let mut lines = status::page(&status, screen.columns());
                lines.splice(1..1, history.lines(screen.columns()));
                screen.draw(&lines);
            }
            None if args.is_json() => out::result(&document(&status, false)?)?,
            None => out::result(&(status::line(&status) + "\n"))?,
        }
        next = next.plus(Ns::secs(1));
        if stopped(&stop, next) {
            return Ok(Exit::Met);
        }
    }
}

/// Waits until a moment; whether a signal came before it.
fn stopped(stop: &Receiver<()>, until: Ns) -> bool {
    let now = clock::now();
    let wait = Duration::from_nanos(until.since(now.min(until)).0);
    !matches!(stop.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
}

/// One document, on lines of its own or on one.
fn document(status: &Status, pretty: bool) -> Result<String, Failure> {
    let value = serde_json::to_value(status).map_err(Failure::incomplete)?;
    Ok(if pretty { format!("{value:#}\n") } else { format!("{value}\n") })
}
