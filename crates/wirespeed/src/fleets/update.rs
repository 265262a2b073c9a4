//! Another release of this program: offered to agents by whoever coordinates them, tried out and run by an agent.

use super::{connect, failure};
use crate::cli::FleetUpdate;
use crate::exit::{Exit, Failure};
use crate::out;
use nats::Updates;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a program may take to say its release.
const PATIENCE: Duration = Duration::from_secs(10);

/// Gives agents another program, one after the other.
pub fn update(args: &FleetUpdate) -> Result<Exit, Failure> {
    let program = match &args.program {
        Some(path) => path.clone(),
        None => std::env::current_exe().map_err(Failure::incomplete)?,
    };
    let unreadable = |why: String| Failure::usage(format!("{}: {why}", program.display()));
    let bytes = fs::read(&program).map_err(|error| unreadable(error.to_string()))?;
    let fleet = connect(args.fleet.as_deref(), &args.server)?;
    let mut names = args.names.clone();
    if args.all {
        let there = fleet.who(Duration::from_secs(1), |_| false).map_err(failure)?;
        names.extend(there.into_iter().map(|one| one.name));
    }
    let mut failures = Vec::new();
    for name in &names {
        match fleet.update(name, &bytes) {
            Ok(release) => out::result(&format!("{name}: runs release {release}\n"))?,
            Err(error) => failures.push(error.to_string()),
        }
    }
    match failures.is_empty() {
        true => Ok(Exit::Met),
        false => Err(Failure::incomplete(failures.join("\n"))),
    }
}

/// What an agent that accepts other programs needs.
pub fn accepted() -> Result<Updates, Failure> {
    let program = std::env::current_exe().map_err(Failure::incomplete)?;
    Ok(Updates { program, try_out: Box::new(release_of) })
}

/// Runs the program that took the place of this one, as this one was called. Returns only where it cannot.
pub fn run_instead(program: &Path) -> Failure {
    let error = Command::new(program).args(std::env::args_os().skip(1)).exec();
    Failure::incomplete(format!("cannot run {}: {error}", program.display()))
}

/// The release that a program says it is.
fn release_of(program: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("it does not run here: {error}");
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    let until = clock::now().plus(PATIENCE.into());
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if clock::now() < until => {
                clock::sleep_until(clock::now().plus(clock::Ns::millis(20)));
            }
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("it does not say its release".to_owned());
            }
        }
    };
    let mut said = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        let _ = stdout.by_ref().take(1000).read_to_string(&mut said);
    }
    match said.trim().strip_prefix("wirespeed ").filter(|_| status.success()) {
        Some(release) => Ok(release.to_owned()),
        None => Err("it is not this program: `--version` says nothing of the kind".to_owned()),
    }
}
