//! MTUs and offloads of real interfaces, over a wire between two network namespaces: set at both ends for the time of a step,
//! and put back however the run ends. Making namespaces needs root; elsewhere these tests say that they are skipped.

use crate::prelude::*;
use crate::program::support::{Bench, Ended, ended, open};
use net::interface::Interface;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

const TOKEN: &str = "correct horse battery";

/// How long anything may take that is waited for: a guard against waiting for ever, not an expectation.
const GUARD: clock::Ns = clock::Ns::secs(60);

/// Two namespaces and the wire between them; gone when it is dropped.
pub struct Wire {
    name: String,
}

impl Wire {
    /// `None` where it cannot be made, which is said.
    pub fn up() -> Option<Wire> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if !rustix::process::geteuid().is_root() {
            println!("skipped: making network namespaces needs root");
            return None;
        }
        if Command::new("ip").arg("-Version").output().is_err() {
            println!("skipped: ip is not installed (see packages.txt)");
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let wire = Wire { name: format!("wst{}-{number}", std::process::id()) };
        let done = wire.script("up");
        assert_eq!(done.code, 0, "{}", done.stderr);
        Some(wire)
    }

    fn script(&self, action: &str) -> Ended {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/veth-pair");
        ended(Command::new(script).args([action, &self.name]).output().expect("bash is there"))
    }

    /// A namespace's name: `a` asks, `b` serves.
    pub fn namespace(&self, end: &str) -> String {
        format!("{}-{end}", self.name)
    }

    /// The program, ready to be run in a namespace.
    pub fn command(&self, end: &str, bench: &Bench, args: &[&str]) -> Command {
        let inside = bench.command(args);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(end)]).arg(inside.get_program()).args(args);
        command.current_dir(bench.path("")).env("NO_COLOR", "1").env("WIRESPEED_NET_TOKEN", TOKEN);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The interface `wire` in a namespace, seen by a thread that goes there for it.
    fn interface(&self, end: &str) -> Interface {
        let path = format!("/run/netns/{}", self.namespace(end));
        let look = move || {
            let namespace = File::open(path).expect("the namespace is there");
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), network).expect("root may");
            Interface::named("wire").expect("it is there")
        };
        std::thread::spawn(look).join().expect("it looks")
    }

    fn both(&self) -> [Interface; 2] {
        ["a", "b"].map(|end| self.interface(end))
    }

    /// Waits until both interfaces are as `wanted`.
    #[track_caller]
    fn await_both(&self, what: &str, wanted: impl Fn(&[Interface; 2]) -> bool) {
        let until = clock::now().plus(GUARD);
        loop {
            let both = self.both();
            if wanted(&both) {
                return;
            }
            assert!(clock::now() < until, "{what}: {both:?}");
            clock::sleep_until(clock::now().plus(clock::Ns::millis(20)));
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.script("down");
    }
}

/// A receiver at the far end of a wire. Dropping it kills it.
struct Receiving(Child);

impl Receiving {
    fn start(wire: &Wire, bench: &Bench, args: &[&str]) -> Receiving {
        let listen = ["net", "receive", "--listen", "192.0.2.2:5301", "--quiet"];
        let child = wire.command("b", bench, &[&listen[..], args].concat()).spawn();
        let mut receiving = Receiving(child.expect("ip starts it"));
        let mut line = String::new();
        let stdout = receiving.0.stdout.as_mut().expect("it is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("it writes");
        assert!(line.starts_with("listening on 192.0.2.2:5301"), "{line:?}");
        receiving
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run at the near end. Dropping it kills it.
struct Running(Option<Child>);

impl Running {
    fn start(mut command: Command) -> Running {
        Running(Some(command.spawn().expect("ip starts it")))
    }

    /// Reads its progress until it has told of a second of load; it must not have been told to be quiet.
    fn await_load(&mut self) {
        let child = self.0.as_mut().expect("it has not been waited for");
        let stderr = child.stderr.as_mut().expect("stderr is piped");
        let (mut line, mut byte) = (Vec::new(), [0]);
        while stderr.read(&mut byte).expect("progress is there") > 0 {
            line.push(byte[0]);
            if byte[0] == b'\n' && line.windows(4).any(|part| part == b" s  ") {
                return;
            }
            if byte[0] == b'\n' {
                line.clear();
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let child = self.0.as_ref().expect("it has not been waited for");
        kill_process(Pid::from_child(child), signal).expect("it is there");
    }

    fn end(mut self) -> Ended {
        let child = self.0.take().expect("it is waited for once");
        ended(child.wait_with_output().expect("it ends"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A scenario of one stream over the wire.
fn scenario(plan: &str) -> String {
    format!(
        "[scenario]\ntitle = \"frames\"\n[[receiver]]\nname = \"far\"\naddress = \"192.0.2.2\"\n\
         token_env = \"WIRESPEED_NET_TOKEN\"\nadjust = \"wire\"\n\
         [workload.w]\nkind = \"net\"\nmessage = \"4KiB\"\nrate = \"1 MB/s\"\n\
         [plan]\nworkload = \"w\"\non = \"far\"\nwarmup = \"0s\"\ncooldown = \"0s\"\n{plan}\n"
    )
}

const RUN: [&str; 5] = ["run", "s.toml", "--quiet", "--out", "r.wsr"];
const LONG: &str = "measure = \"10m\"\nmtu = 9000\noffload = \"off\"";
const TSO: &str = "tx-tcp-segmentation";

/// Jumbo frames without segmentation.
fn as_asked(both: &[Interface; 2]) -> bool {
    both.iter().all(|one| one.mtu == 9000 && one.feature(TSO).is_some_and(|tso| !tso.on))
}

#[test]
fn each_step_sets_both_ends_and_the_record_tells_it() {
    let Some(wire) = Wire::up() else { return };
    let sweep = "measure = \"200ms\"\nsweep = { mtu = [1400, 9000], offload = [\"on\", \"off\"] }";
    let bench = Bench::new(&scenario(sweep));
    let before = wire.both();
    let _receiving = Receiving::start(&wire, &bench, &["--adjust", "wire"]);
    let run = Running::start(wire.command("a", &bench, &RUN)).end();
    assert_eq!(run.code, 0, "{}\n{}", run.stdout, run.stderr);
    assert_eq!(wire.both(), before, "all is as it was found");

    let record = open(&bench.path("r.wsr"));
    let wanted = [(1400, true), (1400, false), (9000, true), (9000, false)];
    for (step, (mtu, offload)) in (0u32..).zip(wanted) {
        for machine in ["far/sender", "far/receiver"] {
            let source = record.sources().iter().find(|source| source.name == machine);
            let source = source.unwrap_or_else(|| panic!("{machine} is a source")).id;
            let value = |name: &str, part: Option<&str>| {
                let counters = record.counters(Some(step)).expect("they are readable");
                let one = counters.iter().find(|one| {
                    one.source == source && one.kind.name() == name && one.part.as_deref() == part
                });
                one.unwrap_or_else(|| panic!("{machine} has no {name} in step {step}")).value
            };
            assert_eq!(value("interface-mtu", None), f64::from(mtu), "{machine}, step {step}");
            let told = [value("offload", Some(TSO)), value("offload", Some("rx-gro"))];
            assert_eq!(told, [f64::from(u8::from(offload)); 2], "{machine}, step {step}");
        }
    }
    let told = |code: &str| record.events().iter().filter(|event| event.code == code).count();
    // Both ends in each of four steps.
    assert_eq!((told("interface-set"), told("interface-restored")), (8, 8));
}

/// Kills a run, or asks it to end, in the middle of a step; what it said, and where its record is.
#[track_caller]
fn ends_early(signal: Signal) -> Option<(Ended, Bench)> {
    let wire = Wire::up()?;
    let bench = Bench::new(&scenario(LONG));
    let before = wire.both();
    let _receiving = Receiving::start(&wire, &bench, &["--adjust", "wire"]);
    let loud: Vec<&str> = RUN.into_iter().filter(|arg| *arg != "--quiet").collect();
    let mut run = Running::start(wire.command("a", &bench, &loud));
    run.await_load();
    wire.await_both("a step sets both ends", as_asked);
    run.signal(signal);
    wire.await_both("they are put back", |both| *both == before);
    // The guardian holds standard error open until it has spoken.
    Some((run.end(), bench))
}

#[test]
fn a_killed_run_leaves_nothing_behind() {
    let Some((run, _)) = ends_early(Signal::KILL) else { return };
    let told = "wire: the run ended early; restored: MTU 9000 to 1500";
    assert!(run.stderr.contains(told), "{:?}", run.stderr);
}

#[test]
fn a_run_that_is_stopped_puts_back_what_it_found() {
    let Some((run, bench)) = ends_early(Signal::INT) else { return };
    let record = open(&bench.path("r.wsr"));
    let restored = record.events().iter().filter(|event| event.code == "interface-restored");
    assert_eq!(restored.count(), 2, "both ends, in the record: {}", run.stderr);
    assert!(!run.stderr.contains("the run ended early"), "{}", run.stderr);
}

/// Kills a receiver, or asks it to end, in the middle of a step.
#[track_caller]
fn receiver_ends(signal: Signal) {
    let Some(wire) = Wire::up() else { return };
    let bench = Bench::new(&scenario(LONG));
    let before = wire.both();
    let receiving = Receiving::start(&wire, &bench, &["--adjust", "wire"]);
    let run = Running::start(wire.command("a", &bench, &RUN));
    wire.await_both("a step sets both ends", as_asked);
    kill_process(Pid::from_child(&receiving.0), signal).expect("it is there");
    wire.await_both("they are put back", |both| *both == before);
    assert_eq!(run.end().code, 3);
}

#[test]
fn a_killed_receiver_leaves_nothing_behind() {
    receiver_ends(Signal::KILL);
}

#[test]
fn a_receiver_that_is_stopped_puts_back_what_it_found() {
    receiver_ends(Signal::TERM);
}

/// A run that must not change anything, and says why.
#[track_caller]
fn refused(wire: &Wire, bench: &Bench, run: Command, hint: &str) {
    // The one before left its record, and none is ever overwritten.
    let _ = std::fs::remove_file(bench.path("r.wsr"));
    let before = wire.both();
    let run = Running::start(run).end();
    assert_eq!(run.code, 3, "{}\n{}", run.stdout, run.stderr);
    assert!(run.stderr.contains(hint), "{hint:?} is not in {}", run.stderr);
    assert_eq!(wire.both(), before, "{hint}");
}

#[test]
fn nothing_is_changed_that_must_not_be() {
    let Some(wire) = Wire::up() else { return };
    let bench = Bench::new(&scenario("measure = \"200ms\"\nmtu = 9000"));
    let command = || wire.command("a", &bench, &RUN);
    {
        let _receiving = Receiving::start(&wire, &bench, &[]);
        let hint = "this receiver changes no interface; start it with `--adjust wire`";
        refused(&wire, &bench, command(), hint);
    }
    {
        // Its loopback may be changed, which nobody comes in by.
        let _receiving = Receiving::start(&wire, &bench, &["--adjust", "lo"]);
        refused(&wire, &bench, command(), "comes in by wire, and only lo may be changed here");
    }
    let _receiving = Receiving::start(&wire, &bench, &["--adjust", "wire"]);
    // Root of another user namespace, which the network namespace does not belong to.
    let inside = ["unshare", "--user", "--map-root-user", env!("CARGO_BIN_EXE_wirespeed")];
    let mut without = Command::new("ip");
    without.args(["netns", "exec", &wire.namespace("a")]).args(inside).args(RUN);
    without.current_dir(bench.path("")).env("WIRESPEED_NET_TOKEN", TOKEN).stdin(Stdio::null());
    without.stdout(Stdio::piped()).stderr(Stdio::piped());
    refused(&wire, &bench, without, "wire: no permission to change it; run it as root");

    let mut small = RUN.to_vec();
    small.extend(["--set", "plan.mtu=1000"]);
    let small = wire.command("a", &bench, &small);
    refused(
        &wire,
        &bench,
        small,
        "with an MTU of 1000 B the kernel would take its IPv6 addresses away",
    );
}

#[test]
fn a_receiver_says_at_once_what_it_cannot_adjust() {
    let Some(wire) = Wire::up() else { return };
    let bench = Bench::new("");
    let receive = ["net", "receive", "--listen", "192.0.2.2:5301", "--adjust", "eth77"];
    let mut command = wire.command("b", &bench, &receive);
    let told = ended(command.output().expect("ip starts it"));
    assert_eq!(told.code, 3, "{}", told.stderr);
    assert!(told.stderr.contains("eth77: there is no such interface here"), "{}", told.stderr);
}
