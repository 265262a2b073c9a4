//! `wirespeed target`: storage over the network. `serve` checks the arguments, starts the target of `san`, says where it
//! listens, opens its control socket (`control`), and stops it at a signal.

mod control;
mod library;
mod log;
mod metrics;
mod plan;
mod portal;
mod release;
mod secret;
mod serial;
mod show;
mod status;

use crate::cli::{LimitArgs, Serve, TargetAction, TargetArgs};
use crate::control::PortState;
use crate::control::server::{Controlled, open_or_say};
use crate::exit::{Exit, Failure};
use crate::out;
use log::Log;
use san::server::{PortalConfig, StartError, TargetLimits, TargetServer as Server, TargetSettings};
use san::volume::{Volume, VolumeError, VolumeSpec};
use secret::Chap;
use show::Shown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

pub use library::{LibrarySpec, library};
pub use portal::portal;

/// How long a stop may take before it is said what it waits for.
const SLOW: Duration = Duration::from_secs(5);

pub fn target(args: &TargetArgs) -> Result<Exit, Failure> {
    match &args.action {
        TargetAction::Serve(args) if args.plan => plan::plan(args),
        TargetAction::Serve(args) => serve(args),
        TargetAction::Ls(args) => super::luns::luns(args),
        TargetAction::Release(args) => release::release(args),
        TargetAction::Status(args) => control::status(args),
        TargetAction::StopPort(args) => control::port(args, PortState::Stopped),
        TargetAction::StartPort(args) => control::port(args, PortState::Up),
        TargetAction::Resize(args) => control::resize(args),
    }
}

/// Serves until a signal.
fn serve(args: &Serve) -> Result<Exit, Failure> {
    let chap = Chap::read(&args.access)?;
    closed(args)?;
    let stop = stop_signal()?;
    let log = Log::start(args.output.quiet);
    let ended = started(args, chap, &log).and_then(|(target, volumes)| {
        let named = names(args);
        // Closed before the target stops.
        let metrics =
            args.metrics.map(|at| metrics::listen(at, &target, &args.volumes)).transpose()?;
        if let Some(metrics) = &metrics {
            log.say(format!("metrics: http://{}/metrics", metrics.address));
        }
        let served = Controlled { target: target.control(), volumes: named, array: None };
        let say = log.sayer();
        let control = open_or_say(served, args.output.quiet, move |done| say(done.said()));
        let told = out::result(&shown(args, &target, &volumes).render(args.output.format));
        if told.is_ok() {
            log.say("listening; Ctrl-C stops it".to_owned());
            // The sender lives in the handler of signals, as long as the process.
            let _ = stop.recv();
        }
        drop((control, metrics));
        let slow = says_if_slow();
        let stopped = target.stop().map_err(Failure::incomplete);
        drop(slow);
        told.and(stopped)
    });
    log.end();
    ended.map(|()| Exit::Met)
}

type Volumes = Vec<Arc<Volume>>;

/// Opens the volumes and starts the target.
fn started(args: &Serve, chap: Chap, log: &Log) -> Result<(Server, Volumes), Failure> {
    let mut volumes = Volumes::new();
    let portals: Vec<_> = args.portals.iter().map(|portal| portal.address).collect();
    for (lun, spec) in args.volumes.iter().enumerate() {
        let volume = Volume::open(spec, &serial::serial(&args.iqn, &portals, lun, spec))
            .map_err(|e| not_opened(spec, e))?;
        if let Some(why) = volume.why_read_only().filter(|_| !spec.read_only) {
            log.say(format!(
                "lun {lun} ({}) is served read-only: {why}; `--plan` prints the token",
                show::named(spec)
            ));
        }
        volumes.push(volume);
    }
    if let Some(spec) = &args.library {
        let serial = serial::of_path(&library::place(&spec.directory));
        let units = Volume::open_library(&spec.settings(&args.iqn), &serial);
        volumes.extend(units.map_err(Failure::incomplete)?);
    }
    let config = TargetSettings {
        auth: chap.auth(),
        initiators: args.access.allow_initiators.clone(),
        threads: args.threads.map_or(0, usize::from),
        limits: limits(&args.limits),
        state: args.state.clone(),
        listener: log.listener(),
        ..TargetSettings::new(&args.iqn, args.portals.clone(), volumes.clone())
    };
    Ok((Server::start(config).map_err(not_started)?, volumes))
}

fn limits(args: &LimitArgs) -> TargetLimits {
    TargetLimits {
        sessions: args.max_sessions as usize,
        sessions_per_address: args.max_host_sessions as usize,
        sessions_per_initiator: args.max_initiator_sessions as usize,
        connections: args.max_connections as usize,
        commands: args.max_commands,
        login_time: args.login_time,
        ..TargetLimits::default()
    }
}

fn shown<'a>(args: &'a Serve, target: &Server, volumes: &Volumes) -> Shown<'a> {
    let listens =
        |(portal, address): (&PortalConfig, _)| PortalConfig { address, ..portal.clone() };
    Shown {
        iqn: &args.iqn,
        portals: args.portals.iter().zip(target.addresses()).map(listens).collect(),
        volumes: names(args)
            .into_iter()
            .zip(volumes.iter().map(|volume| volume.attributes().clone()))
            .collect(),
        disks: args.volumes.len(),
    }
}

/// What the LUNs are, LUN 0 first.
fn names(args: &Serve) -> Vec<String> {
    let disks = args.volumes.iter().map(show::named);
    disks.chain(args.library.iter().flat_map(LibrarySpec::names)).collect()
}

fn not_opened(spec: &VolumeSpec, error: VolumeError) -> Failure {
    match error {
        VolumeError::Refused(_) => Failure::Other(
            Exit::Refused,
            format!(
                "{error} (for a volume: --volume {},write-token=…; --plan prints it)",
                show::named(spec)
            ),
        ),
        error => Failure::incomplete(error),
    }
}

/// What the user said wrong, or what the system does not give.
fn not_started(error: StartError) -> Failure {
    match error {
        StartError::Listen { .. } | StartError::Thread(_) | StartError::Kept { .. } => {
            Failure::incomplete(error)
        }
        error => Failure::usage(error),
    }
}

/// Off loopback initiators need a secret.
fn closed(args: &Serve) -> Result<(), Failure> {
    let open = args.portals.iter().find(|portal| !portal.address.ip().is_loopback());
    match open {
        Some(portal) if args.access.chap.is_none() => Err(Failure::usage(format!(
            "--portal {}: other machines can reach it, so initiators must know a secret: use --chap USER, with the secret in \
             --chap-secret-file FILE or in the environment's WIRESPEED_CHAP_SECRET; or listen on 127.0.0.1",
            portal.address
        ))),
        _ => Ok(()),
    }
}

/// Says so where the volumes cannot be synced for a while, until what is returned is dropped.
fn says_if_slow() -> Sender<()> {
    let (stopped, waits) = channel::<()>();
    let wait = move || {
        if waits.recv_timeout(SLOW) == Err(RecvTimeoutError::Timeout) {
            out::note(
                "stopping: the file system of a volume does not answer (is it frozen?); what initiators wrote is synced \
                 before the end, a second Ctrl-C gives that up",
            );
        }
    };
    // Without the thread nothing is said.
    let _ = std::thread::Builder::new().name("target-stop".to_owned()).spawn(wait);
    stopped
}

/// The first Ctrl-C (or SIGTERM) stops the target cleanly, the second ends the process.
fn stop_signal() -> Result<Receiver<()>, Failure> {
    let (stop, stopped) = channel();
    let again = AtomicBool::new(false);
    let handler = move || {
        if again.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        // The receiver is gone if the target could not be started.
        let _ = stop.send(());
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::incomplete(format!("cannot catch signals: {e}")))?;
    Ok(stopped)
}
