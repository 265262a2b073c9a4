//! Agents on other machines: the wiring of `fleet` and `nats` with this program's engines, facts and files.

pub mod agent;
mod arrays;
pub mod facts;
pub mod plan;
pub mod run;
pub mod update;

use crate::cli::{FleetRun, ServerArgs};
use crate::exit::Failure;
use fleet::Candidate;
use fleet::message::PROTOCOL;
use nats::wire::CARRIER;
use nats::{Announcement, Credentials, Fleet, NatsError, Server};
use scenario::{Scenario, Stage};
use std::collections::BTreeMap;
use std::path::Path;

/// Where a fleet is when nothing is said.
const DEFAULT: &str = "nats://127.0.0.1:4222";

/// The server that the user means.
pub fn url(given: Option<&str>) -> String {
    let environment = || std::env::var("WIRESPEED_FLEET").ok().filter(|url| !url.is_empty());
    given.map(str::to_owned).or_else(environment).unwrap_or_else(|| DEFAULT.to_owned())
}

/// A server, and who we are there.
pub fn server(url: &str, args: &ServerArgs) -> Result<Server, Failure> {
    if url.contains('@') {
        return Err(Failure::usage(
            "secrets do not belong in a URL: use --credentials, --token-file, or --user with --password-file",
        ));
    }
    let credentials = match (&args.credentials, &args.token_file, &args.user, &args.password_file) {
        (Some(file), ..) => Credentials::File(file.clone()),
        (_, Some(file), ..) => Credentials::Token(file.clone()),
        (_, _, Some(user), Some(file)) => Credentials::User(user.clone(), file.clone()),
        _ => Credentials::None,
    };
    if let Credentials::File(path) | Credentials::Token(path) | Credentials::User(_, path) =
        &credentials
    {
        private(path)?;
    }
    Ok(Server { url: url.to_owned(), credentials, ca: args.ca.clone() })
}

/// Refuses a file with a secret that others can read. systemd guards its own, by access lists that look like a group's right.
fn private(path: &Path) -> Result<(), Failure> {
    let guarded = std::env::var_os("CREDENTIALS_DIRECTORY").filter(|dir| !dir.is_empty());
    if guarded.is_some_and(|dir| path.starts_with(dir)) {
        return Ok(());
    }
    match san::private_file(path, 1) {
        Ok(_) => Ok(()),
        Err(source) => Err(failure(NatsError::File { path: path.to_owned(), source })),
    }
}

/// The exit code and words of what went wrong at a server.
pub fn failure(error: NatsError) -> Failure {
    match error {
        error @ (NatsError::Usage(_) | NatsError::File { .. }) => Failure::usage(error),
        error => Failure::incomplete(error),
    }
}

/// Connects to the fleet that the user means.
pub fn connect(given: Option<&str>, args: &ServerArgs) -> Result<Fleet, Failure> {
    Fleet::connect(&server(&url(given), args)?, &args.group).map_err(failure)
}

/// An agent as it can be bound: one that is busy, of another release or there twice cannot be used, and says why.
pub fn candidates(there: &[Announcement]) -> Vec<Candidate> {
    let candidate = |one: &Announcement| Candidate {
        name: one.name.clone(),
        known: known(one),
        problem: problem(one, there),
    };
    there.iter().map(candidate).collect()
}

/// Why an agent cannot be used.
pub fn problem(one: &Announcement, there: &[Announcement]) -> Option<String> {
    let twice = there.iter().any(|other| other.name == one.name && other.instance != one.instance);
    if one.protocol != PROTOCOL || one.carrier != CARRIER {
        return Some(format!(
            "is of release {} and speaks version {} of the messages, this program version {PROTOCOL}; start both from the \
             same release of wirespeed",
            one.release, one.protocol
        ));
    }
    match &one.busy {
        _ if twice => Some("is there twice; give each agent a --name of its own".to_owned()),
        Some(run) => Some(format!("is engaged in `{run}`")),
        None => None,
    }
}

/// What an agent can be chosen by: its facts, and over them its labels.
fn known(one: &Announcement) -> BTreeMap<String, String> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for fact in one.facts.iter().filter(|fact| fact.subject == one.name) {
        known.insert(fact.key.clone(), fact.value.clone());
        if fact.key == "cpu-count" {
            known.insert("cores".to_owned(), fact.value.clone());
        }
    }
    known.extend(one.labels.iter().cloned());
    known
}

/// Who is there: so many as are awaited, or for as long as the user waits. Where none are awaited, a scenario's own needs end
/// the wait as soon as they are met.
pub fn gather(
    fleet: &Fleet,
    args: &FleetRun,
    scenario: &Scenario,
    stages: &[Stage],
) -> Result<Vec<Announcement>, Failure> {
    let (scenario, stages, wait) = (scenario.clone(), stages.to_vec(), args.wait);
    let mut least = clock::now().plus(std::time::Duration::from_millis(500).into());
    if wait.is_some() {
        least = clock::Ns::ZERO;
    }
    let enough = move |there: &[Announcement]| match wait {
        Some(wait) => there.iter().filter(|one| problem(one, there).is_none()).count() >= wait,
        None => clock::now() > least && fleet::bind(&scenario, &stages, &candidates(there)).is_ok(),
    };
    fleet.who(args.patience, enough).map_err(failure)
}
