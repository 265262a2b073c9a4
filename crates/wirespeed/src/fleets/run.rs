//! A run on the agents of a fleet: who is there, what is bound to whom, the journal beside the record, and going on by it.

use super::{arrays, candidates, facts, failure, gather, known, server};
use crate::cli::{FleetResume, FleetRun, RunArgs};
use crate::commands::plan::warnings;
use crate::exit::{Exit, Failure};
use crate::live::{self, LiveJob};
use crate::present::{self, Presentation};
use crate::{files, hops, out};
use clock::Ns;
use fleet::arrays::ArrayAccess;
use fleet::message::PROTOCOL;
use fleet::{
    AgentIdentity, AgentLink, Binding, Bound, EngineRegistry, Journal, JournalHead, RunOutcome,
    WaitLimits,
};
use nats::{Announcement, Engaged, Fleet, ForRun};
use record::{Fact, Writer};
use scenario::{Scenario, Source};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// Between the order to start and the start: every agent hears it before.
const LEAD: Ns = Ns::secs(2);

/// Runs a scenario on a fleet and reviews it.
pub fn run(args: &RunArgs, url: &str, source: Source, scenario: Scenario) -> Result<Exit, Failure> {
    scenario.live()?;
    let stages = scenario.stages();
    warnings::warn(&scenario, &stages, args.output.quiet);
    let out = files::record_path(args.recording.out.as_deref(), &files::stem(&source.name))?;
    let fleet = Fleet::connect(&server(url, &args.server)?, &args.server.group).map_err(failure)?;
    let there = gather(&fleet, &args.fleet, &scenario, &stages)?;
    let bound = bound(&scenario, &there, &args.fleet)?;
    let agents: Vec<&Announcement> = bound.used.iter().map(|n| &there[*n]).collect();
    let access = arrays::access(&scenario, &agents, args.fleet.arrays_at)?;
    let job = LiveJob {
        source,
        scenario,
        out,
        agent: args.recording.agent,
        metrics: args.recording.metrics,
        output: args.output.clone(),
        kept: None,
        facts: agents.iter().flat_map(|one| told(one)).chain([threshold(&args.fleet)]).collect(),
        control: live::control()?,
    };
    let head = live::head(&job.source, &job.scenario);
    let journal = JournalHead {
        version: PROTOCOL,
        run: drawn()?,
        boot: facts::boot(),
        place: vec![url.to_owned(), args.server.group.clone()],
        agents: agents.iter().map(|one| (one.name.clone(), one.instance)).collect(),
        bound: bound.binding.agents.clone().into_iter().collect(),
        silence: args.fleet.silence.into(),
        facts: job.facts.clone(),
        head,
    };
    let engaged = engage(&fleet, &journal, None)?;
    let path = journal_of(&job.out);
    let kept = Journal::create(&path, &journal)
        .map_err(|e| Failure::incomplete(format!("the journal {}: {e}", path.display())))?;
    let outcome = coordinated(&job, &journal, (engaged, access), kept)?;
    reviewed(&job, &outcome)
}

/// Goes on with a run whose coordinator died.
pub fn resume(args: &FleetResume) -> Result<Exit, Failure> {
    let path = journal_of(&args.run);
    let unreadable =
        |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    if !path.exists() {
        return Err(unreadable(
            &"no journal: the run has ended, or never was; `wirespeed review` reads its record",
        ));
    }
    let (head, journal) = Journal::open(&path).map_err(|error| unreadable(&error))?;
    if head.version != PROTOCOL {
        let why = format!(
            "the journal is of version {} of the messages, this program of version {PROTOCOL}",
            head.version
        );
        return Err(unreadable(&why));
    }
    if head.boot != facts::boot() {
        return Err(unreadable(
            &"the machine has booted since, and the clock of the run is gone; its record is what there is",
        ));
    }
    let heard = Journal::heard(&path).map_err(|error| unreadable(&error))?;
    let url = args.fleet.as_deref().or(head.place.first().map(String::as_str)).unwrap_or_default();
    let group = head.place.get(1).map_or("default", String::as_str);
    let fleet = Fleet::connect(&server(url, &args.server)?, group).map_err(failure)?;
    let text = &head.head.scenario;
    let source = Source {
        name: text.name.clone(),
        text: text.text.clone(),
        overrides: text.overrides.clone(),
        catalogs: Vec::new(),
    };
    let scenario = scenario::load(&source)?;
    if let Some(array) = arrays::embedded(&scenario).next() {
        let agents = head.agents.iter().map(|(name, _)| name.as_str());
        agents.for_each(|name| fleet.release_from(name, &head.run));
        fs::remove_file(&path).map_err(|error| unreadable(&error))?;
        return Err(Failure::incomplete(format!(
            "the embedded array `{array}` was memory of the coordinator that died, and is gone: the run cannot go on, its \
             agents are free, and `wirespeed review {}` reads its record",
            args.run.display()
        )));
    }
    let job = LiveJob {
        source,
        scenario,
        out: args.run.clone(),
        agent: crate::cli::AgentKind::Auto,
        metrics: None,
        output: args.output.clone(),
        kept: None,
        facts: head.facts.clone(),
        control: live::control()?,
    };
    let engaged = engage(&fleet, &head, Some(&heard))?;
    // It is written anew from the journal, which holds all that it held.
    for file in [args.run.clone(), beside(&args.run, "-wal"), beside(&args.run, "-shm")] {
        if file.exists() {
            fs::remove_file(&file)
                .map_err(|e| Failure::incomplete(format!("{}: {e}", file.display())))?;
        }
    }
    if !job.output.quiet {
        out::note(format_args!("resuming `{}` by {}", head.head.title, path.display()));
    }
    let outcome = coordinated(&job, &head, (engaged, None), journal)?;
    reviewed(&job, &outcome)
}

/// A run on one machine carries no VMs that are bound to agents of others.
pub fn unbound(scenario: &Scenario) -> Result<(), Failure> {
    let vms = scenario.lab.vms.iter().filter_map(|vm| Some((&vm.name, vm.agents.as_ref()?)));
    let hosts = scenario.lab.hosts.iter().filter_map(|h| Some((&h.name, h.agents.as_ref()?)));
    match vms.chain(hosts).next() {
        None => Ok(()),
        Some((name, choice)) => Err(Failure::usage(format!(
            "`{name}` is carried by agents with `{}`: say where they are with --fleet nats://HOST[:PORT]",
            choice.text
        ))),
    }
}

/// What is bound to whom, or all that is missing.
pub fn bound(
    scenario: &Scenario,
    there: &[Announcement],
    args: &FleetRun,
) -> Result<Bound, Failure> {
    let usable = there.iter().filter(|one| super::problem(one, there).is_none()).count();
    let short = args.wait.filter(|wait| usable < *wait);
    let bound = fleet::bind(scenario, &scenario.stages(), &candidates(there));
    match (bound, short) {
        (Ok(bound), None) => Ok(bound),
        (bound, short) => {
            let mut missing = bound.err().unwrap_or_default();
            missing.extend(short.map(|wait| {
                format!("{usable} of {wait} agents came within {}", units::duration(args.patience))
            }));
            let unusable =
                there.iter().filter_map(|one| Some((&one.name, super::problem(one, there)?)));
            missing.extend(unusable.map(|(name, why)| format!("agent `{name}` {why}")));
            Err(Failure::incomplete(format!(
                "the fleet cannot carry this run:\n  {}",
                missing.join("\n  ")
            )))
        }
    }
}

fn engage(
    fleet: &Fleet,
    journal: &JournalHead,
    heard: Option<&BTreeMap<usize, u64>>,
) -> Result<Engaged, Failure> {
    let title = format!("{} (from {})", journal.head.title, facts::host());
    let run = ForRun { run: &journal.run, title: &title, heard };
    fleet.engage(run, &journal.agents).map_err(failure)
}

fn coordinated(
    job: &LiveJob,
    head: &JournalHead,
    (engaged, access): (Engaged, Option<ArrayAccess>),
    journal: Journal,
) -> Result<RunOutcome, Failure> {
    let mut writer: Writer = live::begin_record(&job.out, &head.head, &[])?;
    writer.facts(&job.facts)?;
    let Engaged { mut links, session } = engaged;
    links.extend(counting(job, head)?);
    let started = live::of_arrays(&job.scenario, job.agent);
    links.extend(started.map_err(|e| {
        Failure::incomplete(format!("an embedded array of this machine cannot be started: {e}"))
    })?);
    let binding = Binding { agents: head.bound.iter().cloned().collect(), arrays: access };
    let silence = head.silence;
    let limits = WaitLimits {
        greet: silence,
        silence,
        stop: silence,
        reorder: silence,
        lead: LEAD,
        ..WaitLimits::default()
    };
    let stages = job.scenario.stages();
    let outcome = live::coordinated(job, &head.head, limits, |coordinator, show| {
        coordinator
            .begin_bound(links, writer, show, &binding, journal)
            .and_then(|campaign| campaign.run(&stages))
    });
    session.finish();
    if outcome.is_ok() {
        let path = journal_of(&job.out);
        fs::remove_file(&path)
            .map_err(|e| Failure::incomplete(format!("{}: {e}", path.display())))?;
    }
    outcome
}

fn reviewed(job: &LiveJob, outcome: &RunOutcome) -> Result<Exit, Failure> {
    live::presented(job, outcome, |record, analysis| {
        present::print(record, analysis, Presentation::of(job.output.format))
    })
}

/// An agent of this process that asks the sources of counters that the scenario names.
fn counting(job: &LiveJob, head: &JournalHead) -> Result<Option<AgentLink>, Failure> {
    let names: Vec<String> = head.agents.iter().map(|(name, _)| name.clone()).collect();
    let Some(sources) = hops::sources_beside(&job.scenario, &names, &head.facts) else {
        return Ok(None);
    };
    // A name that no agent has.
    let mut name = "coordinator".to_owned();
    while names.contains(&name) {
        name.push('+');
    }
    let engines = EngineRegistry::new().sampler(Box::new(sources));
    let link = AgentLink::in_process(AgentIdentity { name, facts: Vec::new() }, engines);
    let link = link
        .map_err(|e| Failure::incomplete(format!("the counters of the lab cannot be read: {e}")))?;
    Ok(Some(link.witness()))
}

/// What a record knows of an agent before it says so itself.
fn told(one: &Announcement) -> Vec<Fact> {
    let fact =
        |key: &str, value: String| Fact { subject: one.name.clone(), key: key.to_owned(), value };
    let labels: Vec<String> =
        one.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut facts = one.facts.clone();
    facts.push(fact("release", one.release.clone()));
    facts.extend((!labels.is_empty()).then(|| fact("labels", labels.join(" "))));
    let site = known(one).remove("site");
    facts.extend(site.map(|site| fact("site", site)));
    facts
}

/// How uncertain clocks may be, for the findings.
fn threshold(args: &FleetRun) -> Fact {
    Fact {
        subject: "run".to_owned(),
        key: "skew-threshold-ns".to_owned(),
        value: args.skew.as_nanos().to_string(),
    }
}

/// The journal of a run; SQLite has `-journal` for itself.
fn journal_of(record: &Path) -> PathBuf {
    beside(record, ".journal")
}

fn beside(record: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(record);
    name.push(suffix);
    PathBuf::from(name)
}

/// A name for a run that no other has.
fn drawn() -> Result<String, Failure> {
    let mut bytes = [0; 8];
    clock::unpredictable(&mut bytes).map_err(Failure::incomplete)?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}
