//! The Linux kernel and the programs that people use with it, as peers: its initiator, dm-multipath, tape and changer drivers
//! against our target, and its target, LIO, against our initiator. Each runs in a guest of QEMU, without a disk and without
//! privileges; the host's loopback is its network.
//!
//! What is tried stands in the scripts beside this file, which run in the guest. Each line `pass: WHAT` of one is a row of
//! `docs/peers.md`, and each row there is such a line.

mod captures;
mod disks;
mod labs;
mod lio;
mod tapes;

use crate::peers::served::IQN;
use crate::prelude::*;
use guest::shell::{Contents, ShellError, find};
use guest::{Accelerator, Kernel, Network, Shell};
use std::ffi::OsString;
use std::sync::OnceLock;

const MIB: u64 = 1 << 20;
/// How long a script may take.
const PATIENCE: Ns = Ns::secs(600);

/// A guest of a test, and the variables that its scripts have.
struct Peer {
    shell: Shell,
    /// The script of the test, without `.sh`.
    script: &'static str,
    variables: String,
    /// How long a call may take.
    patience: Ns,
    passed: BTreeSet<String>,
}

/// Where the scripts are.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/peers/guests")
}

fn accelerator(kernel: &Kernel) -> Accelerator {
    static BEST: OnceLock<Accelerator> = OnceLock::new();
    *BEST.get_or_init(|| Accelerator::best(kernel).0)
}

/// Whether these packages' programs are here: a test is skipped visibly where one is missing, and fails in CI.
fn ready(programs: &[&str]) -> Option<Kernel> {
    let common = [guest::process::QEMU, "dash", "busybox", "setpriv"];
    let missing = common.iter().chain(programs).find(|name| find(name).is_none());
    let found = match missing {
        Some(name) => Err(format!("{name} is not here")),
        None => Kernel::find(None).map_err(|why| why.to_string()),
    };
    match found {
        Ok(kernel) => Some(kernel),
        Err(why) => {
            println!("skipped: {why}");
            assert!(std::env::var_os("CI").is_none(), "{why}");
            None
        }
    }
}

impl Peer {
    /// Boots a guest with these contents for a script.
    fn boot(
        kernel: &Kernel,
        script: &'static str,
        contents: Contents,
        memory: u64,
        network: Network,
    ) -> Peer {
        let read = |name: &str| fs::read(scripts().join(name)).expect("a script");
        let contents = contents
            .file("/peers/common.sh", read("common.sh"))
            .file(&format!("/peers/{script}.sh"), read(&format!("{script}.sh")));
        let keeper = ["setpriv", "--pdeathsig", "KILL", "--"].map(OsString::from);
        let machine = (kernel, accelerator(kernel));
        let shell = Shell::start(machine, &contents, memory, network, &keeper);
        let shell = shell.unwrap_or_else(|why| panic!("{why}"));
        let variables = format!("export script={script} IQN={IQN}");
        Peer { shell, script, variables, patience: PATIENCE, passed: BTreeSet::new() }
    }

    /// Sets a variable of the scripts.
    fn set(&mut self, name: &str, value: &str) {
        self.variables.push_str(&format!(" {name}='{value}'"));
    }

    /// Calls a function of the script, all of whose checks must pass.
    #[track_caller]
    fn call(&mut self, function: &str) -> String {
        let (script, variables) = (self.script, &self.variables);
        let line =
            format!("{variables}; . /peers/common.sh; . /peers/{script}.sh; cd /tmp; {function}");
        let said = match self.shell.run(&line, self.patience) {
            Ok(said) => said,
            Err(why) => panic!("{function}: {why}"),
        };
        println!("{}", said.text);
        assert_eq!(said.code, 0, "{function}:\n{}", said.text);
        let lines = said.text.lines().filter_map(|line| line.strip_prefix("pass: "));
        self.passed.extend(lines.map(str::to_owned));
        said.text
    }

    /// Demands that what passed is what `docs/peers.md` says of this script, no less and no more.
    #[track_caller]
    fn documented(&self) {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/peers.md");
        let page = fs::read_to_string(page).expect("the page");
        let mark = format!("<!-- {} -->", self.script);
        let (_, after) = page.split_once(&mark).expect("the script's section");
        let section = after.split("<!-- end -->").next().unwrap_or_default();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
        let rows: BTreeSet<String> = rows
            .filter_map(|row| Some(row.strip_suffix(" | passes |")?.replace("\\|", "|")))
            .collect();
        assert_eq!(self.passed, rows, "docs/peers.md says another thing than the peers");
    }
}

/// Contents with programs, or a panic that says what is missing.
fn with(programs: &[&str], modules: &[&str]) -> Contents {
    let made: Result<Contents, ShellError> = Contents::new().and_then(|new| new.programs(programs));
    made.unwrap_or_else(|why| panic!("{why}")).modules(modules)
}

/// The TCP port of an address.
fn port(address: &str) -> String {
    address.rsplit(':').next().expect("an address with a port").to_owned()
}

/// What the kernel's initiator needs.
const INITIATOR: [&str; 2] = ["iscsid", "iscsiadm"];
const INITIATOR_MODULES: [&str; 4] = ["iscsi_tcp", "sg", "crc32c_generic", "libcrc32c"];
