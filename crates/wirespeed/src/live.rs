//! The sequence of every measuring command: check targets, create a record, start agents, coordinate, review.

use crate::arrays::Arrays;
use crate::cli::{AgentKind, Results};
use crate::emulated;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::fleets;
use crate::guests::{self, GuestOrders};
use crate::hops;
use crate::out;
use crate::present::{self, Presentation};
use crate::progress::Display;
use crate::receivers::Around;
use crate::targets::{self, TargetUse};
use campaign::{Control, Progress};
use clock::Ns;
use engine::Engine;
use findings::Analysis;
use fleet::{
    AgentIdentity, AgentLink, Coordinator, EngineRegistry, RunError, RunOutcome, WaitLimits,
};
use record::{Event, Fact, Level, Producer, ProducerKind, Record, RunHead, ScenarioText, Writer};
use scenario::{Scenario, Source, Stage};
use serve::metrics::{Listening, OfRun};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The name of the one agent that carries the workers of a run on this machine.
pub const AGENT: &str = "local";

/// The name of an agent that counts beside it and carries none.
const COUNTING: &str = "counters";

/// A scenario that is about to be run on this machine.
pub struct LiveJob {
    pub source: Source,
    pub scenario: Scenario,
    /// Where its record goes.
    pub out: PathBuf,
    /// Where the record is moved when the run has ended, if it must not be written there while the run measures.
    pub kept: Option<PathBuf>,
    pub agent: AgentKind,
    /// Where figures are told to monitoring.
    pub metrics: Option<SocketAddr>,
    pub output: Results,
    /// What the record is to know besides.
    pub facts: Vec<Fact>,
    /// Stops the run.
    pub control: Arc<Control>,
}

/// Runs the job, prints its review and says where the record is.
pub fn run_and_review(job: &LiveJob) -> Result<Exit, Failure> {
    run_and_present(job, |record, analysis| {
        present::print(record, analysis, Presentation::of(job.output.format))
    })
}

/// Runs the job, has its results presented and says where the record is.
pub fn run_and_present(
    job: &LiveJob,
    present: impl FnOnce(&Record, &Analysis) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let outcome = run(job)?;
    presented(job, &outcome, present)
}

/// Has the results of a job that was run presented, and says where the record is.
pub fn presented(
    job: &LiveJob,
    outcome: &RunOutcome,
    present: impl FnOnce(&Record, &Analysis) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let record = Record::open(&job.out)?;
    let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
    present(&record, &analysis)?;
    drop(record);
    let kept = match &job.kept {
        Some(kept) => files::moved(&job.out, kept)?,
        None => &job.out,
    };
    if !job.output.quiet {
        out::note(format_args!("record: {}", kept.display()));
    }
    if let Some(failure) = &outcome.failure {
        return Err(Failure::Other(
            exit_of_failure(failure),
            format!("step {}: {}", failure.step + 1, failure.error),
        ));
    }
    Ok(exit_of(&analysis))
}

/// Runs the job and leaves its record.
pub fn run(job: &LiveJob) -> Result<RunOutcome, Failure> {
    let targets = targets::granted(&job.scenario)?;
    let agents = agents(&job.scenario, job.agent)?;
    let head = head(&job.source, &job.scenario);
    let mut writer = begin_record(&job.out, &head, &targets)?;
    writer.facts(&job.facts)?;
    coordinated(job, &head, WaitLimits::default(), |coordinator, show| {
        coordinator.run(agents, writer, show)
    })
}

/// Has a job coordinated: with figures for monitoring and with progress.
pub fn coordinated(
    job: &LiveJob,
    head: &RunHead,
    limits: WaitLimits,
    run: impl FnOnce(&Coordinator<'_>, &mut dyn FnMut(Progress)) -> Result<RunOutcome, RunError>,
) -> Result<RunOutcome, Failure> {
    let stages = job.scenario.stages();
    let coordinator = Coordinator {
        scenario: &job.scenario,
        stages: &stages,
        head,
        limits,
        control: &job.control,
    };
    let total = stages.iter().map(Stage::duration_max).sum();
    let metrics = job.metrics.map(|address| metrics_of(address, job)).transpose()?;
    let mut display = Display::new(job.output.quiet, total);
    let mut show = |progress| display.show(&progress);
    let outcome = run(&coordinator, &mut show);
    drop((display, metrics));
    outcome.map_err(|error| match error {
        RunError::Assign(error) => Failure::usage(error),
        error => Failure::incomplete(format!("{error} (record: {})", job.out.display())),
    })
}

/// Tells figures of a run to monitoring, from its record.
fn metrics_of(address: SocketAddr, job: &LiveJob) -> Result<Listening, Failure> {
    let run = OfRun::new(&job.out);
    let listening = serve::metrics::listen(address, Arc::new(move || run.sheet()))
        .map_err(|error| Failure::usage(format!("--metrics {address}: {error}")))?;
    if !job.output.quiet {
        out::note(format_args!("metrics: http://{}/metrics", listening.address));
    }
    Ok(listening)
}

/// Makes a record with what is known before the run.
pub fn begin_record(out: &Path, head: &RunHead, targets: &[TargetUse]) -> Result<Writer, Failure> {
    let mut writer = Writer::create(out, head)?;
    writer.facts(&run_facts())?;
    for shared in targets::disks_shared_with(out, targets) {
        writer.event(&record_among_the_measured(&shared))?;
    }
    Ok(writer)
}

/// The record's first lines. The epoch is set here, on the clock that this machine's agents share.
pub fn head(source: &Source, scenario: &Scenario) -> RunHead {
    RunHead {
        title: scenario.head.title.clone(),
        producer: Producer::new(
            ProducerKind::Live,
            format!("wirespeed {} run", env!("CARGO_PKG_VERSION")),
        ),
        scenario: ScenarioText {
            name: source.name.clone(),
            text: scenario.text_kept(source),
            overrides: source.overrides.clone(),
        },
        epoch: clock::now(),
        wall_ns: clock::wall_ns(),
        seed: scenario.head.seed,
    }
}

/// What any record knows of the program that made it.
pub fn run_facts() -> Vec<Fact> {
    let fact =
        |key: &str, value: String| Fact { subject: "run".to_owned(), key: key.to_owned(), value };
    let command: Vec<String> =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    vec![fact("version", env!("CARGO_PKG_VERSION").to_owned()), fact("command", command.join(" "))]
}

fn record_among_the_measured(target: &str) -> Event {
    Event {
        at: Ns::ZERO,
        step: None,
        source: None,
        level: Level::Warning,
        code: "record-on-measured-disk".to_owned(),
        text: format!(
            "the record is on the same disk as {target}: its writes are part of the load; --out on another disk"
        ),
    }
}

/// Stops this process's runs; made once. The first Ctrl-C (or SIGTERM) ends the run cleanly, the second the process.
pub fn control() -> Result<Arc<Control>, Failure> {
    let control = Arc::new(Control::new());
    let asked = Arc::clone(&control);
    let handler = move || {
        if asked.stopped() {
            std::process::exit(130);
        }
        asked.stop();
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::incomplete(format!("cannot catch signals: {e}")))?;
    Ok(control)
}

/// The agents of this machine: one for the workers, one for each embedded array, whose CPU time is then its own, and one in
/// each guest.
pub fn agents(scenario: &Scenario, kind: AgentKind) -> Result<Vec<AgentLink>, Failure> {
    let orders = GuestOrders::default();
    let guests = guests::links(scenario, &orders)?;
    if scenario.lab.is_emulated() {
        return emulated::agents(scenario, kind);
    }
    if kind == AgentKind::Child && scenario.changes_guests() {
        let problem = "what happens to guests is carried out by this process; leave --agent out";
        return Err(Failure::usage(problem));
    }
    let engines = engines(hops::sources_of(scenario)).carries(fleet::LAB_ENGINE, Box::new(orders));
    let started = local(scenario, kind, engines);
    let mut agents = started.map_err(|e| {
        Failure::incomplete(format!("an agent of this machine cannot be started: {e}"))
    })?;
    agents.extend(guests);
    Ok(agents)
}

/// The agents that stand on this machine itself: for workers, and for arrays that are not emulated.
pub fn local(
    scenario: &Scenario,
    kind: AgentKind,
    engines: EngineRegistry,
) -> io::Result<Vec<AgentLink>> {
    let mut agents = match (kind, hops::sources_beside_child(scenario)) {
        (AgentKind::Auto | AgentKind::InProcess, _) => {
            vec![AgentLink::in_process(identity(AGENT), engines)?]
        }
        (AgentKind::Child, None) => vec![child(AGENT, &[])?],
        // What the lab's devices say is asked here: a process apart knows nothing of the scenario.
        (AgentKind::Child, Some(sources)) => {
            let registry = EngineRegistry::new().sampler(Box::new(sources));
            let witness = AgentLink::in_process(identity(COUNTING), registry)?.witness();
            vec![child(AGENT, &["--uncounted"])?, witness]
        }
    };
    agents.extend(of_arrays(scenario, kind)?);
    Ok(agents)
}

/// The agents that serve the arrays that are not emulated, on this machine.
pub fn of_arrays(scenario: &Scenario, kind: AgentKind) -> io::Result<Vec<AgentLink>> {
    let mut agents = Vec::new();
    let arrays = scenario.lab.arrays.iter().filter(|of| of.embedded.is_some() && !of.emulate);
    for array in arrays {
        let name = &array.name;
        let agent = match kind {
            AgentKind::InProcess => {
                let registry = EngineRegistry::new().arrays(Box::new(Arrays::beside_workers()));
                AgentLink::in_process(identity(name), registry)?
            }
            AgentKind::Auto | AgentKind::Child => child(name, &[])?,
        };
        agents.push(agent.serving(name));
    }
    Ok(agents)
}

/// An agent in a process of its own.
fn child(name: &str, more: &[&str]) -> io::Result<AgentLink> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["agent", "--carrier", "stdin", "--name", name]).args(more);
    AgentLink::child(name, command)
}

/// An agent and its machine; one for an array stands on the same machine as that for the workers, which tells of it.
fn identity(name: &str) -> AgentIdentity {
    let facts = if name == AGENT { engine::host_facts(name) } else { Vec::new() };
    AgentIdentity { name: name.to_owned(), facts }
}

/// What carries out each scheme of URLs that scenarios have, `null:` apart.
pub fn schemes() -> disk::Schemes {
    let initiator = san::initiator::Initiator::default();
    disk::Schemes::default()
        .with(san::initiator::SCHEME, Arc::new(initiator))
        .with(san::initiator::TAPE_SCHEME, Arc::new(san::initiator::Tapes))
}

/// Every engine of this binary, by the schemes of the URLs that it understands.
pub fn engines(sources: hops::Sources) -> EngineRegistry {
    engines_around(sources, Around::default())
}

fn engines_around(sources: hops::Sources, around: Around) -> EngineRegistry {
    of_disks(|disks| Box::new(disks), sources)
        .carries(engine::NetSpec::ENGINE, Box::new(net::NetEngine::new(Box::new(around))))
}

/// The engines of an agent that obeys coordinators of other machines: those of targets, each with a look at its orders.
pub fn remote_engines() -> EngineRegistry {
    of_disks(|disks| Box::new(fleets::agent::FromElsewhere(disks)), hops::sources_of_agent())
}

fn of_disks(
    around: impl FnOnce(disk::DiskEngine) -> Box<dyn Engine>,
    sources: impl fleet::Sampler + 'static,
) -> EngineRegistry {
    let remote = schemes();
    let of_disks: Vec<&str> = ["", "null"].into_iter().chain(remote.names()).collect();
    let disks = disk::DiskEngine::new(engine::Pinning::Auto).with(remote);
    EngineRegistry::new().register(&of_disks, around(disks)).sampler(Box::new(sources))
}

/// Serves the coordinator at the other end of standard input.
pub fn serve_stdin(name: &str, uncounted: bool) -> Result<(), Failure> {
    let sources = if uncounted { hops::sources_of_child() } else { hops::sources() };
    serve_with(name, engines(sources).arrays(Box::new(Arrays::alone())))
}

/// Serves it as a host or an array of an emulated lab.
pub fn serve_emulated(
    name: &str,
    listens: BTreeMap<String, IpAddr>,
    receivers: BTreeMap<String, SocketAddr>,
) -> Result<(), Failure> {
    let engines = engines_around(hops::sources_of_host(), Around::within(receivers));
    serve_with(name, engines.arrays(Box::new(Arrays::at(listens))))
}

fn serve_with(name: &str, engines: EngineRegistry) -> Result<(), Failure> {
    let carrier = fleet::carrier::agent_stdin().map_err(|e| {
        Failure::usage(format!("standard input is no coordinator's socket ({e}); `wirespeed run --agent child` starts agents"))
    })?;
    // It carries workers or serves arrays, as requested; never both.
    fleet::serve(carrier, engines, identity(name)).map_err(Failure::incomplete)
}

/// The exit code that a review means.
pub fn exit_of(analysis: &Analysis) -> Exit {
    match analysis.verdict.exit_code() {
        0 => Exit::Met,
        1 => Exit::GoalsNotMet,
        _ => Exit::Incomplete,
    }
}

/// The exit code that an agent's failure means.
pub fn exit_of_failure(failure: &fleet::StepFailure) -> Exit {
    match &failure.error {
        fleet::message::AgentFailure::Engine(engine::EngineError::Refused(_)) => Exit::Refused,
        _ => Exit::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_scheme_of_scenarios_is_carried_out() {
        let known: Vec<&str> = super::schemes().names().collect();
        let wanted = scenario::SCHEMES.iter().filter(|scheme| scheme.holds_data);
        assert_eq!(wanted.map(scenario::Scheme::name).collect::<Vec<_>>(), known);
    }
}
