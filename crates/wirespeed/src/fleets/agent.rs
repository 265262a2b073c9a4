//! An agent of a fleet: this program's engines behind a NATS server.

use super::{facts, failure, server, update};
use crate::cli::AgentArgs;
use crate::exit::{Exit, Failure};
use crate::{live, out};
use engine::{Engine, EngineError, IntervalTx, Prepared, StepSpec, Stop};
use nats::spool::Room;
use nats::{AgentConfig, Ending, Seen, Watch};
use serve::metrics::{Labels, Listening, Sheet};
use std::net::SocketAddr;
use std::sync::Arc;

/// Joins a fleet and serves its coordinators until a signal.
pub fn join(args: &AgentArgs, url: &str) -> Result<Exit, Failure> {
    let name = args.name.clone().unwrap_or_else(facts::host);
    let control = live::control()?;
    let own = name.clone();
    let updates = args.join.accept_updates.then(update::accepted).transpose()?;
    let program = updates.as_ref().map(|updates| updates.program.clone());
    let watch: Arc<Watch> = Arc::default();
    let named = vec![("agent", review::clean(&name)), ("group", review::clean(&args.server.group))];
    let metrics =
        args.join.metrics.map(|at| metrics_of(at, named, Arc::clone(&watch))).transpose()?;
    let config = AgentConfig {
        server: server(url, &args.server)?,
        group: args.server.group.clone(),
        name,
        labels: args.join.label.clone(),
        room: Room {
            memory: usize::try_from(args.join.spool_memory.0).unwrap_or(usize::MAX),
            disk: args.join.spool_size.0,
            dir: args.join.spool.clone(),
        },
        lease: args.join.lease.into(),
        release: env!("CARGO_PKG_VERSION").to_owned(),
        engines: Box::new(live::remote_engines),
        facts: Box::new(move || facts::of_machine(&own)),
        updates,
        watch,
    };
    let quiet = args.quiet;
    let note = move |text: &str| {
        if !quiet {
            out::note(text);
        }
    };
    if let Some(metrics) = &metrics {
        note(&format!("metrics: http://{}/metrics", metrics.address));
    }
    let served = nats::agent::serve(config, Arc::new(note), Arc::new(move || control.stopped()));
    match (served.map_err(failure)?, program) {
        (Ending::Replaced, Some(program)) => Err(update::run_instead(&program)),
        _ => Ok(Exit::Met),
    }
}

/// Tells the figures of an agent until it is dropped.
fn metrics_of(at: SocketAddr, named: Labels, watch: Arc<Watch>) -> Result<Listening, Failure> {
    serve::metrics::listen(at, Arc::new(move || sheet(&named, &watch.now())))
        .map_err(|error| Failure::usage(format!("--metrics {at}: {error}")))
}

/// `docs/metrics.md` lists the names.
fn sheet(named: &Labels, seen: &Seen) -> Sheet {
    let mut sheet = Sheet::new();
    let labels = |more: &[(&'static str, &str)]| -> Labels {
        let more = more.iter().map(|(name, value)| (*name, review::clean(value)));
        named.iter().cloned().chain(more).collect()
    };
    let help = "1 where it is engaged in a run";
    let busy = f64::from(u8::from(seen.engaged.is_some()));
    sheet.gauge(("wirespeed_agent_engaged", None), help, labels(&[]), busy);
    if let Some(title) = &seen.engaged {
        let help = "The run that it is engaged in; always 1";
        sheet.gauge(("wirespeed_agent_run", None), help, labels(&[("title", title)]), 1.0);
    }
    let help = "The step that it prepared last, from 1";
    sheet.gauge(("wirespeed_agent_step", None), help, labels(&[]), f64::from(seen.step));
    let help = "Messages to its coordinator that wait for the server";
    let waiting = seen.waiting as f64;
    sheet.gauge(("wirespeed_agent_waiting_messages", None), help, labels(&[]), waiting);
    for (name, help, count) in [
        ("wirespeed_agent_runs", "Runs that it was engaged in", seen.runs),
        ("wirespeed_agent_failures", "Orders that it could not carry out", seen.failures),
        ("wirespeed_agent_operations", "Operations that succeeded, in any phase", seen.ops),
        ("wirespeed_agent_errors", "Operations that failed", seen.errors),
    ] {
        sheet.count((name, None), help, labels(&[]), count as f64);
    }
    for (direction, bytes) in [("read", seen.read), ("write", seen.written)] {
        let help = "Bytes that were moved, in any phase; of streams those received and those sent";
        let labels = labels(&[("direction", direction)]);
        sheet.count(("wirespeed_agent_transferred", Some("bytes")), help, labels, bytes as f64);
    }
    let help = "Response time of all operations, in any phase";
    sheet.times("wirespeed_agent_response_time", help, labels(&[]), &seen.response);
    sheet
}

/// The engine of targets behind orders of other machines. A coordinator of this machine may say what was made for its run;
/// what one of another machine says of that proves nothing here, where the write guard wants a token of this machine. Volumes
/// of its embedded arrays say it themselves, and the guard asks them.
pub struct FromElsewhere(pub disk::DiskEngine);

impl Engine for FromElsewhere {
    fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let says_itself = |url: &str| fleet::scheme(url) == san::initiator::SCHEME;
        let made = step.targets.iter().filter(|target| target.made_as.is_some());
        match made.into_iter().find(|target| !says_itself(&target.url)) {
            Some(target) => Err(EngineError::Refused(format!(
                "{}: a coordinator of another machine cannot say what was made on this one; take a token here with \
                 `wirespeed plan`",
                target.name
            ))),
            None => self.0.prepare(step, notes, stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;
    use engine::TargetSpec;

    #[test]
    fn what_another_machine_says_it_made_is_refused() {
        let made = |url| TargetSpec { made_as: Some("S1".to_owned()), ..TargetSpec::new("d", url) };
        let step = |target| StepSpec {
            index: 0,
            seed: 0,
            warmup: Ns::ZERO,
            measure: Ns::secs(1),
            cooldown: Ns::ZERO,
            slice: Ns::ZERO,
            targets: vec![target],
            workers: Vec::new(),
            loads: Vec::new(),
            attended: Vec::new(),
            counted: None,
            lab: None,
        };
        let mut engine = FromElsewhere(disk::DiskEngine::new(engine::Pinning::Auto));
        let (notes, _heard) = std::sync::mpsc::channel();
        let mut refused = |target| {
            let prepared = engine.prepare(&step(target), &notes, &Stop::default());
            matches!(prepared, Err(EngineError::Refused(_)))
        };
        for url in ["null:", "/dev/sda", "tape://127.0.0.1/iqn.x/1"] {
            assert!(refused(made(url)), "{url}");
        }
        assert!(!refused(TargetSpec::new("d", "null:")));
    }
}
