//! `wirespeed fleet`: who is there, what each agent is, what is wrong, and what is to be done about runs that lost their
//! coordinator.

use crate::cli::{FleetAction, FleetLs, FleetRelease, FleetShow, Format};
use crate::commands::table;
use crate::exit::{Exit, Failure};
use crate::{fleets, out};
use clock::Ns;
use nats::{Announcement, Leftover};
use serde_json::{Value, json};
use std::fmt::Write as _;

pub fn fleet(action: &FleetAction) -> Result<Exit, Failure> {
    match action {
        FleetAction::Ls(args) => ls(args),
        FleetAction::Show(args) => show(args),
        FleetAction::Doctor(args) => doctor(args),
        FleetAction::Resume(args) => fleets::run::resume(args),
        FleetAction::Release(args) => release(args),
        FleetAction::Update(args) => fleets::update::update(args),
    }
}

fn there(args: &FleetLs) -> Result<Vec<Announcement>, Failure> {
    let fleet = fleets::connect(args.fleet.as_deref(), &args.server)?;
    fleet.who(args.patience, |_| false).map_err(fleets::failure)
}

fn ls(args: &FleetLs) -> Result<Exit, Failure> {
    let there = there(args)?;
    if args.output.format == Format::Json {
        let list: Vec<Value> = there.iter().map(|one| as_json(one, &there)).collect();
        out::result(&format!("{:#}\n", json!({ "agents": list })))?;
        return Ok(Exit::Met);
    }
    if there.is_empty() {
        if !args.output.quiet {
            out::note(format_args!(
                "no agent of group `{}` answers; `wirespeed agent --join {}` starts one",
                args.server.group,
                fleets::url(args.fleet.as_deref())
            ));
        }
        return Ok(Exit::Met);
    }
    let mut rows = vec![
        ["agent", "host", "cpus", "memory", "addresses", "labels", "state"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for one in &there {
        let labels: Vec<String> =
            one.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let fact = |key: &str| fact(one, key).unwrap_or("-").to_owned();
        let state = fleets::problem(one, &there).unwrap_or_else(|| "waits".to_owned());
        rows.push(vec![
            one.name.clone(),
            fact("host"),
            fact("cpu-count"),
            fact("memory"),
            fact("addresses"),
            if labels.is_empty() { "-".to_owned() } else { labels.join(" ") },
            state,
        ]);
    }
    out::result(&table::rows(&rows, &[2], 160))?;
    Ok(Exit::Met)
}

fn show(args: &FleetShow) -> Result<Exit, Failure> {
    let there = there(&args.of)?;
    let own: Vec<&Announcement> = there.iter().filter(|one| one.name == args.name).collect();
    if own.is_empty() {
        let names = there.iter().map(|one| one.name.as_str());
        let near =
            scenario::nearest(&args.name, names).map(|name| format!("; did you mean `{name}`?"));
        return Err(Failure::usage(format!(
            "no agent `{}` answers{}",
            args.name,
            near.unwrap_or_default()
        )));
    }
    if args.of.output.format == Format::Json {
        let list: Vec<Value> = own.iter().map(|one| as_json(one, &there)).collect();
        out::result(&format!("{:#}\n", json!({ "agents": list })))?;
        return Ok(Exit::Met);
    }
    let mut text = String::new();
    for one in own {
        let mut rows = vec![
            vec!["release".to_owned(), one.release.clone()],
            vec!["messages".to_owned(), format!("version {}", one.protocol)],
            vec![
                "state".to_owned(),
                fleets::problem(one, &there).unwrap_or_else(|| "waits".to_owned()),
            ],
        ];
        rows.extend(
            one.labels.iter().map(|(key, value)| vec![format!("label {key}"), value.clone()]),
        );
        let inner = format!("{}/", one.name);
        rows.extend(one.facts.iter().map(|fact| {
            let device = fact.subject.strip_prefix(&inner).map(|device| format!("{device} "));
            vec![format!("{}{}", device.unwrap_or_default(), fact.key), fact.value.clone()]
        }));
        let _infallible = writeln!(text, "{}\n{}", one.name, table::rows(&rows, &[], table::WIDTH));
    }
    out::result(text.trim_end())?;
    out::result("\n")?;
    Ok(Exit::Met)
}

/// What was checked, whether it is well, and what to do where it is not.
struct Check {
    well: bool,
    what: String,
    remedy: Option<String>,
}

fn doctor(args: &FleetLs) -> Result<Exit, Failure> {
    let fleet = fleets::connect(args.fleet.as_deref(), &args.server)?;
    let mut checks = Vec::new();
    let round: Vec<Ns> = (0..8).filter_map(|_| fleet.round_trip().ok()).collect();
    let best = round.iter().min().map(|best| format!("{:.2} ms", best.as_secs_f64() * 1e3));
    checks.push(Check {
        well: best.is_some(),
        what: format!(
            "server {} answers within {}",
            fleet.server_version(),
            best.unwrap_or_else(|| "no time".to_owned())
        ),
        remedy: None,
    });
    match fleet.leftovers() {
        Ok(left) => {
            checks.push(check(true, "the server keeps messages (JetStream)".to_owned(), None));
            checks.extend(left.iter().map(of_leftover));
        }
        Err(error) => checks.push(check(false, error.to_string(), None)),
    }
    let there = fleet.who(args.patience, |_| false).map_err(fleets::failure)?;
    if there.is_empty() {
        let remedy = "start one: wirespeed agent --join URL, with the same --group".to_owned();
        checks.push(check(
            false,
            format!("no agent of group `{}`", args.server.group),
            Some(remedy),
        ));
    }
    for one in &there {
        checks.extend(of_agent(one, &there));
    }
    let well = checks.iter().all(|check| check.well);
    match args.output.format {
        Format::Json => {
            let list = checks.iter().map(
                |check| json!({ "well": check.well, "what": check.what, "remedy": check.remedy }),
            );
            out::result(&format!("{:#}\n", json!({ "checks": list.collect::<Vec<_>>() })))?;
        }
        Format::Text => {
            for check in &checks {
                let mark = if check.well { "✔" } else { "✘" };
                out::result(&format!("{mark} {}\n", check.what))?;
                if let Some(remedy) = &check.remedy {
                    out::result(&format!("    {remedy}\n"))?;
                }
            }
        }
    }
    Ok(if well { Exit::Met } else { Exit::GoalsNotMet })
}

fn check(well: bool, what: String, remedy: Option<String>) -> Check {
    Check { well, what, remedy }
}

fn of_leftover(left: &Leftover) -> Check {
    let Leftover { title, messages, .. } = left;
    let what =
        format!("run `{title}`: in progress, or its coordinator died; {messages} messages wait");
    check(true, what, Some("where it died: wirespeed fleet resume RUN.wsr".to_owned()))
}

fn of_agent(one: &Announcement, there: &[Announcement]) -> Vec<Check> {
    let name = &one.name;
    let mut checks = vec![match fleets::problem(one, there) {
        None => check(true, format!("agent `{name}` waits"), None),
        Some(why) if one.busy.is_some() => check(
            true,
            format!("agent `{name}` {why}"),
            Some(format!("if that run is dead: wirespeed fleet release {name}")),
        ),
        Some(why) => check(false, format!("agent `{name}` {why}"), None),
    }];
    if fact(one, "clock-discipline").is_some_and(|keeper| keeper.starts_with("nothing")) {
        let what =
            format!("agent `{name}`: nothing keeps its clock; its offset is measured all the same");
        checks.push(check(true, what, Some("steadier clocks: apt-get install chrony".to_owned())));
    }
    let same = |other: &&Announcement| {
        other.name != *name
            && fact(other, "machine-id").is_some_and(|id| fact(one, "machine-id") == Some(id))
    };
    if let Some(other) = there.iter().find(same).filter(|other| other.name > *name) {
        let what = format!(
            "agents `{name}` and `{}` are on one machine and share its processors",
            other.name
        );
        checks.push(check(true, what, None));
    }
    checks
}

fn release(args: &FleetRelease) -> Result<Exit, Failure> {
    let fleet = fleets::connect(args.fleet.as_deref(), &args.server)?;
    fleet.release(&args.name).map_err(fleets::failure)?;
    Ok(Exit::Met)
}

fn fact<'a>(one: &'a Announcement, key: &str) -> Option<&'a str> {
    let own = |fact: &&record::Fact| fact.subject == one.name && fact.key == key;
    one.facts.iter().find(own).map(|fact| fact.value.as_str())
}

fn as_json(one: &Announcement, there: &[Announcement]) -> Value {
    let labels: serde_json::Map<String, Value> =
        one.labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    let facts: Vec<Value> = one
        .facts
        .iter()
        .map(|fact| json!({ "subject": fact.subject, "key": fact.key, "value": fact.value }))
        .collect();
    json!({
        "name": one.name,
        "group": one.group,
        "release": one.release,
        "protocol": one.protocol,
        "labels": labels,
        "facts": facts,
        "busy": one.busy,
        "problem": fleets::problem(one, there),
    })
}
