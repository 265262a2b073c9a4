//! The five commands of docs/fleet.md, as they are written there, on three machines: namespaces with a wire between them.

use super::check_record;
use super::servers::{Keeper, wait_for};
use crate::prelude::*;
use crate::program::support::{Bench, program};

/// The machines of the page and their addresses; the first is where `nats-server` listens.
const MACHINES: [(&str, &str); 3] =
    [("server", "10.9.0.1/24"), ("esx1", "10.9.0.11/24"), ("esx2", "10.9.0.12/24")];

/// Three namespaces whose names only this process uses, on one bridge.
pub struct Machines(pub Vec<String>);

fn ip(args: &str) -> bool {
    let ended = Command::new("ip").args(args.split(' ')).stderr(Stdio::null()).status();
    ended.is_ok_and(|status| status.success())
}

impl Machines {
    pub fn new() -> Option<Machines> {
        let id = std::process::id();
        let machines = Machines(MACHINES.map(|(name, _)| format!("ws{id}-{name}")).to_vec());
        let made = machines.0.iter().all(|machine| ip(&format!("netns add {machine}")));
        if !made {
            assert!(std::env::var_os("CI").is_none(), "no right to make network namespaces");
            println!("skipped: there is no right to make network namespaces here");
            return None;
        }
        let hub = &machines.0[0];
        let all = |args: String| assert!(ip(&args), "ip {args}");
        all(format!("-n {hub} link add br0 type bridge"));
        all(format!("-n {hub} link set br0 up"));
        for (n, (machine, (_, address))) in machines.0.iter().zip(MACHINES).enumerate() {
            all(format!("-n {machine} link set lo up"));
            if n == 0 {
                all(format!("-n {machine} addr add {address} dev br0"));
                continue;
            }
            all(format!("-n {hub} link add port{n} type veth peer name eth0 netns {machine}"));
            all(format!("-n {hub} link set port{n} master br0 up"));
            all(format!("-n {machine} addr add {address} dev eth0"));
            all(format!("-n {machine} link set eth0 up"));
        }
        Some(machines)
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for machine in &self.0 {
            ip(&format!("netns del {machine}"));
        }
    }
}

/// What stands between two fences of a page, after a heading.
fn block<'a>(page: &'a str, heading: &str, fence: &str) -> &'a str {
    let from = page.find(heading).unwrap_or_else(|| panic!("no `{heading}`"));
    let text = &page[from..];
    let from = text.find(fence).expect("a fence") + fence.len();
    let text = &text[from..];
    &text[..text.find("\n```").expect("its end") + 1]
}

#[test]
fn three_machines_to_a_review_in_five_commands() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fleet.md");
    let page = fs::read_to_string(page).expect("the page");
    let heading = "## Three machines to a review, in five commands";
    let bench = Bench::new("");
    fs::write(bench.path("lab.toml"), block(&page, heading, "```toml\n")).expect("a file");
    let there = Command::new("nats-server").arg("--version").stdout(Stdio::null()).status();
    if there.is_err() {
        assert!(std::env::var_os("CI").is_none(), "there is no nats-server here");
        println!("skipped: there is no nats-server here");
        return;
    }
    let Some(machines) = Machines::new() else { return };
    let commands: Vec<(&str, &str)> = block(&page, heading, "```\n")
        .lines()
        .map(|line| line.split_once("$ ").expect("a machine and a command"))
        .collect();
    assert_eq!(commands.len(), 5);
    let bin = program();
    let path = format!(
        "{}:{}",
        bin.parent().expect("a directory").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut services = Vec::new();
    for (n, (machine, command)) in commands.into_iter().enumerate() {
        let place = MACHINES.iter().position(|(name, _)| *name == machine.trim());
        let machine = &machines.0[place.expect("a machine of the page")];
        fs::create_dir_all(bench.path(machine)).expect("a scratch directory");
        let mut run = Command::new("ip");
        bench.surround(run.args(["netns", "exec", machine, "sh", "-c"]));
        run.arg(format!("exec {command}")).env("PATH", &path);
        let log = bench.path(&format!("{n}.log"));
        let out = File::create(&log).expect("a log");
        run.stdout(out.try_clone().expect("a descriptor")).stderr(out);
        let said = || fs::read_to_string(&log).unwrap_or_default();
        if command.starts_with("nats-server") || command.contains(" agent --join") {
            // What serves is ready once it says so.
            services.push(Keeper(run.spawn().expect("it starts")));
            wait_for(command, || {
                ["Server is ready", "waits at"]
                    .iter()
                    .any(|word| said().contains(word))
                    .then_some(())
            });
            continue;
        }
        let ended = run.status().expect("it runs");
        assert_eq!(ended.code(), Some(0), "{command}: {}", said());
    }
    check_record(&bench.path("lab.wsr"), 2, &[]);
    let review = fs::read_to_string(bench.path("lab.html")).expect("a review");
    assert!(review.contains("Two machines of site a") && review.contains("esx2"));
}
