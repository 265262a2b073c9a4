//! A receiver's result of a test as text: a heading, then a line a fact, with the unit in each.

use clock::Ns;
use net::{HostReport, SideReport, StreamReport, TestSpec};
use review::{both_units, fact};
use std::fmt::Write as _;
use std::time::Duration;
use units::duration;

/// What a test is, in a line.
pub fn title(spec: &TestSpec) -> String {
    format!("{}; {} measured", review::load_line(&spec.network), time(spec.measure))
}

/// What CPU time is set against.
enum CpuPer {
    Bytes(u64),
    Transactions(u64),
}

fn cpu(machine: &HostReport, work: &CpuPer) -> String {
    let wall = machine.wall.as_secs_f64().max(1e-9);
    let share = |ns: Ns| units::percent(ns.as_secs_f64() / wall * 100.0);
    let used = machine.user.plus(machine.system);
    let cost = match *work {
        CpuPer::Bytes(0) | CpuPer::Transactions(0) => "nothing came through".to_owned(),
        CpuPer::Bytes(n) => format!("{:.3} s a GB", used.as_secs_f64() / (n as f64 / 1e9)),
        CpuPer::Transactions(n) => format!("{} a transaction", time(Ns(used.0 / n))),
    };
    let mut text = format!(
        "{} of one processor ({} user, {} kernel); {cost}",
        share(used),
        share(machine.user),
        share(machine.system),
    );
    if let Some(softirq) = machine.host_softirq {
        let _ = write!(text, "; softirqs of the host {}", share(softirq));
    }
    text
}

fn errors(out: &mut String, name: &str, side: &SideReport) {
    for stream in side.streams.iter().filter(|stream| stream.error.is_some()) {
        let why = stream.error.as_deref().unwrap_or_default();
        fact(out, "failed", &format!("{name}, stream {}: {why}", stream.index));
    }
}

/// The result of a test.
pub fn received(peer: &str, spec: &TestSpec, side: &SideReport) -> String {
    let mut out = format!("{peer} ({})\n", title(spec));
    for (writes, name) in [(false, "received"), (true, "sent")] {
        let mine = side.streams.iter().filter(|s| s.writes == writes);
        let (bytes, speed, items) = mine.fold((0, 0.0, 0), |(bytes, speed, items), s| {
            (bytes + s.measured.bytes, speed + s.rate(), items + s.measured.items)
        });
        if spec.is_transactions() && items > 0 {
            fact(&mut out, "answered", &format!("{items} requests"));
        } else if bytes > 0 {
            fact(&mut out, name, &format!("{}, {}", both_units(speed), size(bytes)));
        }
    }
    let sum = |of: fn(&StreamReport) -> u64| side.streams.iter().map(of).sum();
    let work = match spec.is_transactions() {
        true => CpuPer::Transactions(sum(|s| s.measured.items)),
        false => CpuPer::Bytes(sum(|s| s.measured.bytes)),
    };
    fact(&mut out, "CPU", &cpu(&side.machine, &work));
    errors(&mut out, "receiver", side);
    out
}

fn size(bytes: u64) -> String {
    units::binary_bytes(bytes)
}

fn time(ns: Ns) -> String {
    duration(Duration::from(ns))
}
