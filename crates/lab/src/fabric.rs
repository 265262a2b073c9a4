//! Makes a plan real, all or nothing, and lets programs in.

use crate::error::LabError;
use crate::guardian::{GuardAnswer, GuardOrder, STAY};
use crate::plan::{BondMode, Kernel, LabPlan, Node, seat};
use crate::process::NO_PROGRAM;
use crate::script::{Batch, batches};
use crate::state;
use crate::trouble::{Orders, Trouble, losing};
use clock::Ns;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// How long a guardian may take to remove what it holds.
const GRACE: Ns = Ns::secs(15);
/// How often to look whether it has ended.
const POLL: Ns = Ns::millis(5);
/// How long the ends of a bond may take to agree.
const NEGOTIATES: Ns = Ns::secs(20);
/// An interface that is made to see whether the kernel makes such.
const PROBE: &str = "probe";
/// More VMs than a lab has.
const SPARE: usize = 1_000_000;
/// Bytes of chance in a tag.
const CHANCE: usize = 4;

/// The program whose hidden commands are nodes and guardians, and where labs are recorded.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file.
    pub file: PathBuf,
    /// The directory of state files.
    pub directory: PathBuf,
}

/// A lab that stands for as long as this value lives, unless it is told to stay.
#[derive(Debug)]
pub struct Fabric {
    plan: LabPlan,
    program: Program,
    guardian: Child,
    answers: BufReader<std::process::ChildStdout>,
    processes: Vec<u32>,
    groups: BTreeMap<String, Vec<PathBuf>>,
    notes: Vec<String>,
    tag: String,
    stays: bool,
    /// What the kernel can do of what the plan needs.
    kernel: Kernel,
}

/// What became of a request to have a lab.
#[derive(Debug)]
pub enum Built {
    /// It stands, and was made just now.
    New(Box<Fabric>),
    /// The same stood already.
    Already(state::State),
}

impl LabPlan {
    /// Equal for equal plans.
    pub fn digest(&self) -> String {
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(self).unwrap_or_default().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

impl Fabric {
    /// Makes the lab of a scenario's file, or nothing. Removes first what labs left whose guardians were killed.
    /// # Errors
    /// What this machine or this user cannot do.
    pub fn build(plan: LabPlan, scenario: &str, program: &Program) -> Result<Fabric, LabError> {
        state::sweep(&program.directory);
        let tag = tag()?;
        let order = GuardOrder {
            tag: tag.clone(),
            scenario: scenario.to_owned(),
            digest: plan.digest(),
            nodes: plan.nodes.iter().map(|node| node.name.clone()).collect(),
            quotas: plan.quotas.clone(),
            directory: program.directory.clone(),
            program: program.file.clone(),
        };
        let failed = |problem: String| LabError::Guardian(problem);
        let mut command = Command::new(&program.file);
        command.args(["lab", "guard"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A Ctrl-C is for the owner, which ends the lab in order.
        command.stderr(Stdio::null()).process_group(0);
        let mut guardian = command.spawn().map_err(|e| failed(e.to_string()))?;
        let text = serde_json::to_string(&order).map_err(|e| failed(e.to_string()))?;
        let input = guardian.stdin.as_mut().ok_or_else(|| failed("it has no input".into()))?;
        writeln!(input, "{text}").map_err(|e| failed(e.to_string()))?;
        let output = guardian.stdout.take().ok_or_else(|| failed("it has no output".into()))?;
        let mut fabric = Fabric {
            plan,
            program: program.clone(),
            guardian,
            answers: BufReader::new(output),
            processes: Vec::new(),
            groups: BTreeMap::new(),
            notes: Vec::new(),
            tag: tag.clone(),
            stays: false,
            kernel: Kernel::default(),
        };
        // From here on dropping it removes what there is.
        fabric.hear()?;
        fabric.lay(&tag)?;
        Ok(fabric)
    }

    /// The same for a lab that is to stay: where it stands already, nothing is made.
    /// # Errors
    /// As [`Fabric::build`]; and where another version of the same file's lab stands.
    pub fn up(plan: LabPlan, scenario: &str, program: &Program) -> Result<Built, LabError> {
        state::sweep(&program.directory);
        match state::find(&program.directory, scenario) {
            Some(found) if found.digest == plan.digest() => Ok(Built::Already(found)),
            Some(_) => Err(LabError::Other(scenario.to_owned())),
            None => Fabric::build(plan, scenario, program).map(Box::new).map(Built::New),
        }
    }

    /// Takes in what the guardian holds.
    fn hear(&mut self) -> Result<(), LabError> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.map_err(|e| LabError::Guardian(e.to_string()))?;
        match serde_json::from_str(&line) {
            Ok(GuardAnswer::Holds { processes, groups, notes }) => {
                (self.processes, self.groups) = (processes, groups);
                self.notes.extend(notes);
                Ok(())
            }
            Ok(GuardAnswer::Forbidden(why)) => Err(LabError::Forbidden(why)),
            Ok(GuardAnswer::Failed(why)) => Err(LabError::Guardian(why)),
            Err(_) => Err(LabError::Guardian("it ended without an answer".to_owned())),
        }
    }

    /// Lays the cables.
    fn lay(&mut self, tag: &str) -> Result<(), LabError> {
        self.kernel = self.able()?;
        self.remark()?;
        let process = |node: usize| self.processes[node];
        for batch in batches(&self.plan, process, &format!("wirespeed-{tag}"), self.kernel) {
            self.carry_out(&batch)?;
        }
        self.negotiated();
        Ok(())
    }

    /// What the kernel can do of what the plan needs.
    fn able(&self) -> Result<Kernel, LabError> {
        let interface = |kind: &str| {
            let line = format!("link add {PROBE} type {kind}");
            self.can("ip", vec![line], &format!("link del dev {PROBE}"))
        };
        let netem = "qdisc add dev lo root netem delay 1us".to_owned();
        Ok(Kernel {
            // Tried at an interface that carries nothing.
            netem: self.plan.delayed() && self.can("tc", vec![netem], "qdisc del dev lo root")?,
            bonding: self.plan.teams.iter().any(|team| team.apart.is_none()) && interface("bond")?,
            filtering: self.plan.tagged() && interface("bridge vlan_filtering 1")?,
        })
    }

    /// Says what this kernel cannot do of the plan, and what is done instead.
    fn remark(&mut self) -> Result<(), LabError> {
        if self.plan.delayed() && !self.kernel.netem {
            self.notes.push("the kernel has no netem: cables have no length".to_owned());
        }
        for team in self.plan.teams.iter().filter(|team| !self.kernel.bonds(team)) {
            let why = team.apart.as_deref().unwrap_or("the kernel has no bonding");
            if team.mode == BondMode::ActiveBackup {
                return Err(LabError::Plan(format!(
                    "the team `{}` cannot fail over: {why}; say `mode = \"static\"`, which is routes of equal cost where the \
                     kernel has no bonding, or use a kernel with it (the module `bonding`)",
                    team.name
                )));
            }
            self.notes.push(format!(
                "{why}: the team {} is routes of equal cost over its members, by a hash of addresses and ports, instead of {}",
                team.name,
                team.mode.word()
            ));
        }
        if self.plan.tagged() && !self.kernel.filtering {
            if let Some(cable) = self.plan.shared() {
                let vlans: Vec<String> = cable.vlans.iter().map(u16::to_string).collect();
                return Err(LabError::Plan(format!(
                    "the cable `{}` carries the VLANs {}, and the kernel's bridges know no VLANs: give each VLAN a cable of its \
                     own between these switches (`vlan = {}`), or use a kernel with CONFIG_BRIDGE_VLAN_FILTERING",
                    cable.name,
                    vlans.join(", "),
                    vlans.first().map_or("", String::as_str)
                )));
            }
            self.notes.push(
                "the kernel's bridges know no VLANs: each VLAN has bridges of its own".to_owned(),
            );
        }
        Ok(())
    }

    /// Waits until the ends of bonds have agreed on their ports; until then they carry little. One that takes too long is said.
    fn negotiated(&mut self) {
        let deadline = clock::now().plus(NEGOTIATES);
        let teams = self.plan.teams.iter().enumerate();
        let mut waits: Vec<(usize, String, usize, usize)> = Vec::new();
        for (n, team) in teams.filter(|(_, team)| self.kernel.bonds(team)) {
            if let Some((peer, ports)) =
                team.peer.as_ref().filter(|_| team.mode == BondMode::Ieee8023ad)
            {
                let at = |node| (n, team.name.clone(), node, ports.len());
                waits.extend([at(team.host), at(*peer)]);
            }
        }
        let open = |(n, _, node, ports): &(usize, String, usize, usize)| {
            let (process, bond) = (self.processes[*node], Node::bond(*n));
            let said = fs::read_to_string(format!("/proc/{process}/net/bonding/{bond}"));
            // Others than root are not told.
            let joined = said.ok().and_then(|text| ports_of(&text));
            joined.is_some_and(|joined| joined < *ports)
        };
        while waits.iter().any(open) && clock::now() < deadline {
            clock::sleep_until(clock::now().plus(POLL));
        }
        let late: BTreeSet<&String> =
            waits.iter().filter(|one| open(one)).map(|(_, name, ..)| name).collect();
        let said = late.iter().map(|name| {
            format!("the team {name} has not negotiated all of its ports: some carry nothing yet")
        });
        let said: Vec<String> = said.collect();
        self.notes.extend(said);
    }

    /// What the kernel can do of what the plan needs.
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Whether the kernel takes these lines of a program, which are undone.
    fn can(&self, program: &'static str, lines: Vec<String>, undo: &str) -> Result<bool, LabError> {
        let tried = self.run(&Batch { node: 0, program, lines })?;
        // What was taken before a line that was not is undone as well.
        self.run(&Batch { node: 0, program, lines: vec![undo.to_owned()] })?;
        Ok(tried.status.success())
    }

    /// What brings a trouble to a cable of the plan, and what ends it.
    /// # Errors
    /// The kernel cannot have it.
    pub fn trouble(&self, cable: usize, trouble: Trouble) -> Result<Orders, LabError> {
        if matches!(trouble, Trouble::Lose(_) | Trouble::Mismatch(_))
            && !self.can("tc", losing("lo", 0.0), "qdisc del dev lo clsact")?
        {
            return Err(LabError::Plan(
                "this kernel cannot drop packets by rule: it lacks sch_ingress or cls_bpf"
                    .to_owned(),
            ));
        }
        Ok(self.plan.trouble(&self.plan.cables[cable], trouble, self.kernel.netem))
    }

    /// Carries out a batch in the namespace of its node.
    /// # Errors
    /// The first line that was refused.
    pub fn carry_out(&self, batch: &Batch) -> Result<(), LabError> {
        let output = self.run(batch)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // `ip`, `tc` and `bridge` end with "Command failed -:LINE".
        let number = said.rsplit(':').next().and_then(|n| n.trim().parse::<usize>().ok());
        let line = number.and_then(|n| batch.lines.get(n.checked_sub(1)?));
        let problem: Vec<&str> =
            said.lines().filter(|l| !l.starts_with("Command failed")).collect();
        Err(LabError::Refused {
            program: batch.program,
            line: line.cloned().unwrap_or_default(),
            node: self.plan.nodes[batch.node].name.clone(),
            problem: problem.join("; "),
        })
    }

    fn run(&self, batch: &Batch) -> Result<Output, LabError> {
        let mut command = self.inside(batch.node, None, Path::new(batch.program));
        command.args(["-batch", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let failed = |e: std::io::Error| LabError::Guardian(e.to_string());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            let mut text = String::new();
            batch.lines.iter().for_each(|line| {
                let _ = writeln!(text, "{line}");
            });
            // One that ended early says why.
            let _ = input.write_all(text.as_bytes());
        }
        let output = child.wait_with_output().map_err(failed)?;
        match output.status.code() {
            Some(code) if code == i32::from(NO_PROGRAM) => Err(LabError::Missing(batch.program)),
            _ => Ok(output),
        }
    }

    /// A command that runs a program in the namespace of a node, and in the control group of `carrier`.
    fn inside(&self, node: usize, carrier: Option<&str>, program: &Path) -> Command {
        let mut command = Command::new(&self.program.file);
        command.args(["lab", "enter", "--process", &self.processes[node].to_string()]);
        for group in carrier.map_or(&[][..], |carrier| self.group(carrier)) {
            command.arg("--group").arg(group);
        }
        command.arg("--").arg(program);
        command
    }

    /// A command that runs this program in the namespace of a node, in the control group of `carrier`: the node itself, or one
    /// of its VMs with a quota. It is there before its first thread. `None` where there is no such node.
    pub fn command(&self, node: &str, carrier: &str) -> Option<Command> {
        let node = self.plan.node(node)?;
        Some(self.inside(node, Some(carrier), &self.program.file))
    }

    /// Whose control group the process of a VM is in: its own where it has a quota, or else that of its host.
    pub fn carrier<'a>(&self, vm: &'a str, host: &'a str) -> &'a str {
        if self.groups.contains_key(vm) { vm } else { host }
    }

    /// What was made.
    pub fn plan(&self) -> &LabPlan {
        &self.plan
    }

    /// The files by which processes enter the control groups of a host, a VM or an array; none where there are no groups.
    pub fn group(&self, carrier: &str) -> &[PathBuf] {
        self.groups.get(carrier).map_or(&[], Vec::as_slice)
    }

    /// Has the process of a VM, by its place among those of the lab, make its connections from the network of a node from now
    /// on: where the link that this returns leads.
    /// # Errors
    /// There is no such node, or the link cannot be made.
    pub fn seat(&self, vm: usize, node: &str) -> io::Result<PathBuf> {
        let none = || io::Error::other(format!("the lab has no `{node}`"));
        let process = self.processes[self.plan.node(node).ok_or_else(none)?];
        let link = state::network_link(&self.program.directory, &self.tag, vm);
        // What is half made is never seen; its name is that of a link of no VM.
        let next = state::network_link(&self.program.directory, &self.tag, vm + SPARE);
        // It may be left of one that failed.
        let _ = fs::remove_file(&next);
        symlink(format!("/proc/{process}/ns/net"), &next)?;
        fs::rename(&next, &link)?;
        Ok(link)
    }

    /// The addresses of a node, those of its teams among them.
    pub fn addresses(&self, node: &str) -> Vec<Ipv4Addr> {
        let ports = self.plan.node(node).map(|node| &self.plan.nodes[node]).into_iter();
        let ports = ports.flat_map(|node| &node.ports).flat_map(|port| port.addresses.clone());
        let reaches = self.plan.reaches.iter().filter(|reach| reach.host == node);
        let teams = reaches.filter_map(|reach| Some(reach.team.as_ref()?.address));
        ports.chain(teams).collect()
    }

    /// The files by which the process of a VM enters its group on a host that it moves to: its own where it has a quota, or else
    /// that of the host.
    pub fn group_on(&self, vm: &str, host: &str) -> &[PathBuf] {
        self.groups.get(&seat(vm, host)).map_or_else(|| self.group(host), Vec::as_slice)
    }

    /// The process that holds the namespace of each node, in the plan's order.
    pub fn processes(&self) -> &[u32] {
        &self.processes
    }

    /// What this machine cannot do of what was asked for.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Lets the lab outlive this process.
    /// # Errors
    /// The guardian is gone.
    pub fn stay(mut self) -> Result<(), LabError> {
        let failed = |problem: std::io::Error| LabError::Guardian(problem.to_string());
        let input = self.guardian.stdin.as_mut();
        input.map_or(Ok(()), |input| writeln!(input, "{STAY}")).map_err(failed)?;
        let mut word = String::new();
        self.answers.read_line(&mut word).map_err(failed)?;
        match word.trim() {
            STAY => {
                self.stays = true;
                Ok(())
            }
            _ => Err(LabError::Guardian("it ended before the lab stood".to_owned())),
        }
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        // The end of the pipe is its order, and no order for one that stays.
        drop(self.guardian.stdin.take());
        if self.stays {
            return;
        }
        let deadline = clock::now().plus(GRACE);
        let ended = loop {
            match self.guardian.try_wait() {
                Ok(None) if clock::now() < deadline => clock::sleep_until(clock::now().plus(POLL)),
                Ok(None) => {
                    let _ = self.guardian.kill();
                    break self.guardian.wait();
                }
                Ok(Some(status)) => break Ok(status),
                Err(error) => break Err(error),
            }
        };
        if !ended.is_ok_and(|status| status.success()) {
            // It was killed: what it held is removed here.
            state::sweep(&self.program.directory);
        }
    }
}

/// The ports of a bond that are in use, as the kernel tells root.
fn ports_of(text: &str) -> Option<usize> {
    text.lines().find_map(|line| line.trim().strip_prefix("Number of ports: ")?.parse().ok())
}

fn tag() -> Result<String, LabError> {
    let mut chance = [0; CHANCE];
    clock::unpredictable(&mut chance).map_err(|e| LabError::Guardian(e.to_string()))?;
    Ok(chance.iter().map(|byte| format!("{byte:02x}")).collect())
}
