//! What limits a direction of a network load, with its evidence.
//!
//! Every limit that there may be is checked against its threshold, and each check is kept with its figure, so that a
//! reader can disagree. A check whose counter is missing is unknown: it never counts as crossed, nor as not crossed.
//! The first crossed check in the order of [`NetLimit`] names the limit, because earlier checks explain later ones: a
//! full link makes queues, queues make losses, and a receiver without processor time closes its window.

use super::direction::Direction;
use super::machine::Machine;
use super::planned::Carries;
use super::wire::{percent, rate};
use serde::Serialize;
use workload::Network;

/// From this share of the configured rate the load reached it. Pacing is exact to the kernel's timer.
pub const RATE_FROM: f64 = 0.97;
/// From this share of what the wire carries it is full; the rest is acknowledgements, probes and other frames.
pub const LINK_FROM: f64 = 0.95;
/// Beyond this share no wire carries it: it is not the wire that the scenario or the interface names.
pub const LINK_TO: f64 = 1.05;
/// From this share of one processor's time a thread has no more to give.
pub const THREAD_FROM: f64 = 0.90;
/// The share of a host's processors up to which their counters are taken for what they say.
const BUSY_MAX: f64 = 1.05;
/// From this share of all processors' time a host has no more to give.
pub const HOST_FROM: f64 = 0.90;
/// From this share of the time with data under way the receiver's window is what the sender waits for.
pub const WINDOW_FROM: f64 = 0.50;
/// The same for the send buffer.
pub const BUFFER_FROM: f64 = 0.50;
/// From this share of packets sent again congestion control holds the sender back: at one in a thousand, Mathis' formula
/// leaves a window of about 40 segments.
pub const AGAIN_FROM: f64 = 0.001;
/// From this share of datagrams lost the loss explains what was not received.
pub const LOST_FROM: f64 = 0.01;
/// From this share of the streams' time spent waiting for answers, round trips are the limit.
pub const ROUND_TRIP_FROM: f64 = 0.90;
/// From this share of the measured time without data under way the sending program is what was waited for.
pub const IDLE_FROM: f64 = 0.50;

/// What limits a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NetLimit {
    /// The rate that the workload sets.
    Rate,
    /// The wire between both hosts.
    Link,
    /// A thread of the receiving end.
    ReceivingThread,
    /// A thread of the sending end.
    SendingThread,
    /// The receiving host's processors.
    ReceivingHost,
    /// The sending host's processors.
    SendingHost,
    /// The processors of the machine that both ends are on.
    OneHost,
    /// The receiver's window: its buffer is too small, or it reads too slowly.
    ReceiverWindow,
    /// The sender's buffer.
    SendBuffer,
    /// Losses, to which congestion control answers.
    Congestion,
    /// Datagrams that were lost.
    Loss,
    /// The time that an answer takes, with as many streams as there were.
    RoundTrip,
    /// The sending program, which left its sockets without data.
    Sender,
    /// No threshold was crossed.
    NotFound,
    /// Not determined: a counter is missing.
    Unknown,
}

/// One limit that there may be, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// The limit.
    pub by: NetLimit,
    /// The figure, as a share; `None` where it is not known.
    pub share: Option<f64>,
    /// The share from which it limits.
    pub from: f64,
    /// Whether it does; `None` where that is not known.
    pub crossed: Option<bool>,
    /// The same in words.
    pub text: String,
}

/// What limits a direction, and why that is believed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limited {
    /// The limit.
    pub by: NetLimit,
    /// The limit and its evidence, in words.
    pub text: String,
    /// Every check.
    pub checks: Vec<Check>,
}

impl Default for Limited {
    fn default() -> Limited {
        Limited { by: NetLimit::Unknown, text: String::new(), checks: Vec::new() }
    }
}

impl NetLimit {
    /// What it is called where room is short.
    pub fn word(self) -> &'static str {
        match self {
            NetLimit::Rate => "rate",
            NetLimit::Link => "link",
            NetLimit::ReceivingThread => "recv thread",
            NetLimit::SendingThread => "send thread",
            NetLimit::ReceivingHost => "recv host",
            NetLimit::SendingHost => "send host",
            NetLimit::OneHost => "host",
            NetLimit::ReceiverWindow => "window",
            NetLimit::SendBuffer => "send buffer",
            NetLimit::Congestion => "congestion",
            NetLimit::Loss => "loss",
            NetLimit::RoundTrip => "round trip",
            NetLimit::Sender => "sender idle",
            NetLimit::NotFound => "none found",
            NetLimit::Unknown => "unknown",
        }
    }

    /// What it is called in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            NetLimit::Rate => "the configured rate",
            NetLimit::Link => "the link",
            NetLimit::ReceivingThread => "a thread of the receiving end",
            NetLimit::SendingThread => "a thread of the sending end",
            NetLimit::ReceivingHost => "the receiving host's processors",
            NetLimit::SendingHost => "the sending host's processors",
            NetLimit::OneHost => "the processors of both ends' machine",
            NetLimit::ReceiverWindow => "the receiver's window",
            NetLimit::SendBuffer => "the send buffer",
            NetLimit::Congestion => "congestion control, after losses",
            NetLimit::Loss => "lost datagrams",
            NetLimit::RoundTrip => "the round trip",
            NetLimit::Sender => "the sending program",
            NetLimit::NotFound => "no limit found",
            NetLimit::Unknown => "not determined",
        }
    }
}

/// The hosts of a direction.
pub(super) struct Hosts<'a> {
    pub sending: &'a Machine,
    pub receiving: &'a Machine,
    /// Both ends are on one machine.
    pub one: bool,
}

/// Judges a direction whose other figures are complete.
pub(super) fn judge(
    direction: &Direction,
    load: Option<&Network>,
    hosts: &Hosts<'_>,
    seconds: f64,
) -> Limited {
    let mut checks = Vec::new();
    checks.extend(load.and_then(|load| configured(direction, load)));
    checks.push(link(direction));
    checks.push(thread(NetLimit::ReceivingThread, hosts.receiving));
    checks.push(thread(NetLimit::SendingThread, hosts.sending));
    // Of two full ends, the fuller one comes first.
    if checks[checks.len() - 2].share < checks[checks.len() - 1].share {
        let last = checks.len() - 1;
        checks.swap(last - 1, last);
    }
    if hosts.one {
        checks.push(host(NetLimit::OneHost, hosts.sending));
    } else {
        checks.push(host(NetLimit::ReceivingHost, hosts.receiving));
        checks.push(host(NetLimit::SendingHost, hosts.sending));
    }
    match direction.carries {
        Carries::Tcp => checks.extend(of_tcp(direction, seconds)),
        Carries::Udp => checks.push(loss(direction)),
        Carries::Requests | Carries::UdpRequests | Carries::Connects => {
            checks.push(round_trip(direction, seconds));
        }
    }
    decide(direction, checks)
}

fn decide(direction: &Direction, checks: Vec<Check>) -> Limited {
    if direction.received.bytes == 0 && direction.sent.bytes == 0 {
        let text = "not determined: nothing was carried".to_owned();
        return Limited { by: NetLimit::Unknown, text, checks };
    }
    let mut crossed = checks.iter().filter(|check| check.crossed == Some(true));
    let unknown: Vec<&str> =
        checks.iter().filter(|c| c.crossed.is_none()).map(|c| c.text.as_str()).collect();
    let (by, mut text) = match crossed.next() {
        Some(first) => {
            let more: Vec<&str> = crossed.map(|check| check.text.as_str()).collect();
            let more =
                if more.is_empty() { String::new() } else { format!("; also {}", more.join("; ")) };
            (first.by, format!("limited by {}: {}{more}", first.by.title(), first.text))
        }
        None if unknown.is_empty() => {
            let all: Vec<&str> = checks.iter().map(|check| check.text.as_str()).collect();
            (NetLimit::NotFound, format!("no limit found: {}", all.join("; ")))
        }
        None => (NetLimit::Unknown, "limit not determined".to_owned()),
    };
    if !unknown.is_empty() {
        let before = if by == NetLimit::Unknown { "; not known:" } else { "; not determined:" };
        text.push_str(&format!("{before} {}", unknown.join("; ")));
    }
    Limited { by, text, checks }
}

fn check(by: NetLimit, from: f64, found: Result<(f64, String), String>) -> Check {
    match found {
        Ok((share, text)) => {
            let text = format!("{text} (from {})", percent(from));
            Check { by, share: Some(share), from, crossed: Some(share >= from), text }
        }
        Err(text) => Check { by, share: None, from, crossed: None, text },
    }
}

fn configured(direction: &Direction, load: &Network) -> Option<Check> {
    let asked = load.rate? as f64 * direction.streams.len() as f64;
    let sent = direction.sent.bytes_per_s;
    let share = if asked > 0.0 { sent / asked } else { 0.0 };
    let text =
        format!("it sent {} of the configured {}, {}", rate(sent), rate(asked), percent(share));
    Some(check(NetLimit::Rate, RATE_FROM, Ok((share, text))))
}

fn link(direction: &Direction) -> Check {
    let wire = &direction.wire;
    let found = match (wire.fill, &wire.unknown) {
        (Some(fill), None) if fill > LINK_TO => Err(format!(
            "the share of the wire (what was sent would be {} of the one that is named, so it is another)",
            percent(fill)
        )),
        (Some(fill), None) => {
            let what = wire.cable.as_deref().unwrap_or("the wire");
            Ok((fill, format!("{what} was {} full", percent(fill))))
        }
        (_, why) => {
            Err(format!("the share of the wire ({})", why.as_deref().unwrap_or("no speed")))
        }
    };
    check(NetLimit::Link, LINK_FROM, found)
}

fn thread(by: NetLimit, machine: &Machine) -> Check {
    let found = match machine.threads.first() {
        Some(busiest) => {
            let share = percent(busiest.share);
            let text = format!(
                "thread {} of {} used {share} of a processor",
                busiest.name,
                machine.title()
            );
            Ok((busiest.share, text))
        }
        None => Err(format!(
            "the processor time of threads (no counter `thread-cpu/…` of {})",
            machine.hop
        )),
    };
    check(by, THREAD_FROM, found)
}

fn host(by: NetLimit, machine: &Machine) -> Check {
    let found = match machine.host_share {
        // CPU time and the measured time are cut apart by a little; more than that is no figure.
        Some(share) if share > BUSY_MAX => Err(format!(
            "how busy the host was (its counters add up to {} of its processors)",
            percent(share)
        )),
        Some(share) => {
            let share = share.min(1.0);
            Ok((share, format!("{} was {} busy", machine.title(), percent(share))))
        }
        None => Err(format!("how busy the host was (no counters `host-…` of {})", machine.hop)),
    };
    check(by, HOST_FROM, found)
}

/// The checks of TCP's own figures, over all streams of the direction.
fn of_tcp(direction: &Direction, seconds: f64) -> Vec<Check> {
    let sum = |of: fn(&super::stream::Tcp) -> Option<f64>| -> Option<f64> {
        direction.streams.iter().map(|stream| of(stream.tcp.as_ref()?)).sum()
    };
    let busy = sum(|tcp| tcp.busy_ns);
    let part = |of: Option<f64>, name: &str, says: &str| match (of, busy) {
        (Some(_), Some(busy)) if busy <= 0.0 => Err(format!("{says} (no data was under way)")),
        (Some(part), Some(busy)) => {
            let share = part / busy;
            Ok((share, format!("{says} for {} of the time with data under way", percent(share))))
        }
        (None, _) => Err(format!("whether {says} (no counter `{name}`)")),
        (_, None) => Err(format!("whether {says} (no counter `tcp-busy`)")),
    };
    let window = part(
        sum(|tcp| tcp.receiver_limited_ns),
        "receiver-limited",
        "the receiver's window was shut",
    );
    let buffer =
        part(sum(|tcp| tcp.buffer_limited_ns), "buffer-limited", "the send buffer was full");
    let again =
        match direction.retransmitted_share {
            Some(share) => Ok((share, format!("{:.2}% of packets were sent again", share * 100.0))),
            None => Err("how many packets were sent again (no counter `retransmits` or `packets`)"
                .to_owned()),
        };
    let all = seconds * 1e9 * direction.streams.len() as f64;
    let idle = match busy {
        Some(busy) if all > 0.0 => {
            let share = (1.0 - busy / all).max(0.0);
            Ok((share, format!("no data was under way for {} of the time", percent(share))))
        }
        _ => Err("whether sockets were left without data (no counter `tcp-busy`)".to_owned()),
    };
    vec![
        check(NetLimit::ReceiverWindow, WINDOW_FROM, window),
        check(NetLimit::SendBuffer, BUFFER_FROM, buffer),
        check(NetLimit::Congestion, AGAIN_FROM, again),
        check(NetLimit::Sender, IDLE_FROM, idle),
    ]
}

fn loss(direction: &Direction) -> Check {
    let share = direction.datagrams.and_then(|datagrams| datagrams.lost_share());
    let found = match share {
        Some(share) => Ok((share, format!("{} of datagrams were lost", percent(share)))),
        None => Err("how many datagrams were lost (no counters `datagrams-…`)".to_owned()),
    };
    check(NetLimit::Loss, LOST_FROM, found)
}

fn round_trip(direction: &Direction, seconds: f64) -> Check {
    let all = seconds * direction.streams.len() as f64;
    let found = match &direction.transactions {
        Some(times) if all > 0.0 => {
            let share = times.mean_ns * times.count as f64 / 1e9 / all;
            let text = format!(
                "streams waited for answers {} of the time, one transaction after the other",
                percent(share)
            );
            Ok((share, text))
        }
        _ => Err("how long transactions took (no times were recorded)".to_owned()),
    };
    check(NetLimit::RoundTrip, ROUND_TRIP_FROM, found)
}
