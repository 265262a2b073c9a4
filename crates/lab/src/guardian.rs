//! The guardian of a lab: the process that holds its nodes, its control groups and its state file.
//!
//! Its owner speaks to it over a pipe. When that closes before the owner said that the lab is to stay, everything is removed,
//! however the owner ended. The order of its acts is that of a record: the state file is locked before anything is made that
//! outlives the guardian, and removed after all of it.

use crate::cgroup;
use crate::error::LabError;
use crate::plan::Quota;
use crate::process;
use crate::state::{Standing, State};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

/// What the owner says when the lab is to outlive it.
pub(crate) const STAY: &str = "stay";

/// What a guardian is to hold.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct GuardOrder {
    pub tag: String,
    pub scenario: String,
    pub digest: String,
    pub nodes: Vec<String>,
    pub quotas: Vec<Quota>,
    /// Where state files are.
    pub directory: PathBuf,
    /// This program.
    pub program: PathBuf,
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum GuardAnswer {
    Holds {
        /// The processes of the nodes, in their order.
        processes: Vec<u32>,
        /// Files by which processes enter their control groups, by host, VM or array.
        groups: BTreeMap<String, Vec<PathBuf>>,
        /// What this machine cannot do.
        notes: Vec<String>,
    },
    Forbidden(String),
    Failed(String),
}

/// The body of a guardian.
/// # Errors
/// The owner gives no order.
pub fn guard() -> Result<(), LabError> {
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    let failed = |e: io::Error| LabError::Guardian(e.to_string());
    input.read_line(&mut line).map_err(failed)?;
    let order: GuardOrder =
        serde_json::from_str(&line).map_err(|e| LabError::Guardian(e.to_string()))?;
    let mut held = Held { nodes: Vec::new(), standing: None, tag: order.tag.clone() };
    let answer = match held.hold(&order) {
        Ok(answer) => answer,
        Err(LabError::Forbidden(why)) => GuardAnswer::Forbidden(why),
        Err(error) => GuardAnswer::Failed(error.to_string()),
    };
    let holds = matches!(answer, GuardAnswer::Holds { .. });
    let text = serde_json::to_string(&answer).unwrap_or_default();
    let told = writeln!(io::stdout(), "{text}").and_then(|()| io::stdout().flush());
    if holds && told.is_ok() && wait(&mut input) == Owner::Stays {
        held.tell(&order, true)?;
        let told = writeln!(io::stdout(), "{STAY}").and_then(|()| io::stdout().flush());
        // An owner that died before it heard this believes that nothing stands, and so does its user.
        while told.is_ok() {
            thread::park();
        }
    }
    drop(held);
    Ok(())
}

#[derive(PartialEq)]
enum Owner {
    Stays,
    Gone,
}

/// Waits for the owner's last word.
fn wait(input: &mut impl BufRead) -> Owner {
    let mut word = String::new();
    match input.read_line(&mut word) {
        Ok(_) if word.trim() == STAY => Owner::Stays,
        _ => Owner::Gone,
    }
}

/// What is held; dropping it removes all of it.
struct Held {
    nodes: Vec<(String, Child)>,
    standing: Option<Standing>,
    tag: String,
}

impl Held {
    fn hold(&mut self, order: &GuardOrder) -> Result<GuardAnswer, LabError> {
        self.standing = Some(Standing::create(&order.directory, &order.tag)?);
        let mut notes = Vec::new();
        let root = geteuid().is_root();
        let mut groups = BTreeMap::new();
        // Before the user namespace, in which this process owns nothing of the machine.
        match cgroup::make(&order.tag, &order.quotas) {
            Ok(made) => {
                let entry = |quota: &Quota| (quota.name.clone(), made.entries(quota));
                groups = order.quotas.iter().map(entry).collect();
            }
            Err(why) => notes.push(format!("no processor quotas: {why}")),
        }
        if !root {
            process::become_root().map_err(|e| LabError::Forbidden(e.to_string()))?;
            notes.push("made in a user namespace, without root".to_owned());
        }
        for name in &order.nodes {
            let node = start(&order.program)?;
            self.nodes.push((name.clone(), node));
        }
        for (_, node) in &mut self.nodes {
            ready(node)?;
        }
        self.tell(order, false)?;
        let processes = self.nodes.iter().map(|(_, node)| node.id()).collect();
        Ok(GuardAnswer::Holds { processes, groups, notes })
    }

    /// Writes what stands into the state file.
    fn tell(&mut self, order: &GuardOrder, stays: bool) -> Result<(), LabError> {
        let state = State {
            tag: order.tag.clone(),
            scenario: order.scenario.clone(),
            digest: order.digest.clone(),
            guardian: std::process::id(),
            nodes: self.nodes.iter().map(|(name, node)| (name.clone(), node.id())).collect(),
            stays,
        };
        self.standing.as_mut().map_or(Ok(()), |standing| standing.tell(&state))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        for (_, node) in &mut self.nodes {
            drop(node.stdin.take());
        }
        cgroup::remove(&self.tag);
        for (_, node) in &mut self.nodes {
            // No other process has waited for one that was killed.
            let _ = node.wait();
        }
        if let Some(standing) = self.standing.take() {
            standing.remove();
        }
    }
}

/// Starts the process of a node.
fn start(program: &Path) -> Result<Child, LabError> {
    let mut command = Command::new(program);
    command.args(["lab", "node"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|e| LabError::Guardian(format!("a node cannot be started: {e}")))
}

/// Waits until a node has its namespace.
fn ready(node: &mut Child) -> Result<(), LabError> {
    let mut said = String::new();
    if let Some(stdout) = node.stdout.take() {
        let _ = BufReader::new(stdout).read_line(&mut said);
    }
    if said.trim() == "ready" {
        return Ok(());
    }
    let mut why = String::new();
    if let Some(mut stderr) = node.stderr.take() {
        let _ = stderr.read_to_string(&mut why);
    }
    Err(LabError::Forbidden(why.trim().to_owned()))
}
