//! `wirespeed net send`: a network load without a scenario file. The options become a scenario, so that the record and its
//! review are those of any other run.

use crate::cli::{NetSend, OnOff, PresetChoice, ResultFormat};
use crate::commands::plan;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::live::{self, LiveJob};
use crate::out;
use crate::present::{self, Presentation};
use crate::receivers::TOKEN_ENV;
use export::NtttcpEnd;
use findings::Analysis;
use record::Record;
use scenario::{ReceiverPlace, Source};
use std::fmt::{Display, Write as _};
use std::path::Path;
use std::time::Duration;

/// The receiver's name in the scenario.
const FAR: &str = "far";

/// The event that says that a stream broke off.
const STREAM_BROKE: &str = "stream-broke";

/// Sends.
pub fn send(args: &NetSend) -> Result<Exit, Failure> {
    let text = scenario_text(args, receiver_lines(args)?);
    let source = Source { name: "<command line>".to_owned(), text, ..Source::default() };
    let scenario = scenario::load(&source)?;
    if args.plan {
        return plan::show(&scenario, present::of_plan(args.output.format)?);
    }
    let out = files::record_path(args.recording.out.as_deref(), "net")?;
    let job = LiveJob {
        source,
        scenario,
        out,
        agent: args.recording.agent,
        metrics: args.recording.metrics,
        output: args.output.clone(),
        kept: None,
        facts: Vec::new(),
        control: live::control()?,
    };
    let mut broke = false;
    let exit = live::run_and_present(&job, |record, analysis| {
        broke = record.events().iter().any(|event| event.code == STREAM_BROKE);
        if let Some(dir) = &args.ntttcp {
            write_xml(dir, record, analysis)?;
        }
        match args.output.format {
            None | Some(ResultFormat::Text) => {
                out::result(&review::network_loads(&job.scenario, record, analysis))
            }
            format => present::print(record, analysis, Presentation::of(format)),
        }
    })?;
    // The others went on, so that the run is complete; what was asked for is not.
    Ok(if broke { Exit::Incomplete } else { exit })
}

/// The lines of the receiver that say where it is and what it asks for.
fn receiver_lines(args: &NetSend) -> Result<String, Failure> {
    let mut lines = String::new();
    let Some(target) = &args.target else { return Ok("embedded = true\n".to_owned()) };
    let (host, port) = address(target)?;
    let place = ReceiverPlace::At { host, port };
    lines += &format!("address = {}\n", quoted(&place.to_string()));
    if let Some(file) = &args.token_file {
        let file = file.to_str().ok_or_else(|| {
            Failure::usage(format!("--token-file {}: its name is not UTF-8", file.display()))
        })?;
        lines += &format!("token_file = {}\n", quoted(file));
    } else if !place.is_loopback() || std::env::var_os(TOKEN_ENV).is_some_and(|t| !t.is_empty()) {
        lines += &format!("token_env = {}\n", quoted(TOKEN_ENV));
    }
    Ok(lines)
}

/// `HOST`, `HOST:PORT`, `ADDR` of either family, `[ADDR]:PORT`.
fn address(text: &str) -> Result<(String, u16), Failure> {
    let wrong = || {
        Failure::usage(format!(
            "`{text}` names no receiver; expected HOST, HOST:PORT or [ADDR]:PORT"
        ))
    };
    let bare = |host: &str, port: u16| match host.is_empty() || host.contains(['/', '[', ']', ' '])
    {
        true => Err(wrong()),
        false => Ok((host.to_owned(), port)),
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
        return match rest.strip_prefix(':') {
            Some(port) => bare(host, port.parse().map_err(|_| wrong())?),
            None if rest.is_empty() => bare(host, net::PORT),
            None => Err(wrong()),
        };
    }
    match text.split_once(':') {
        // More than one colon: an IPv6 address without a port.
        Some((_, rest)) if rest.contains(':') => bare(text, net::PORT),
        Some((host, port)) => bare(host, port.parse().map_err(|_| wrong())?),
        None => bare(text, net::PORT),
    }
}

/// The options as a scenario; it stands in the record and can be kept as a file.
fn scenario_text(args: &NetSend, receiver: String) -> String {
    let mut text = format!("[scenario]\ntitle = {}\nseed = 1\n", quoted(&title(args)));
    text += &format!("\n[[receiver]]\nname = \"{FAR}\"\n{receiver}");
    text += &reach(args);
    text += "\n[workload.load]\nkind = \"net\"\n";
    text += &load(args);
    text += &sockets(args);
    text += &plan_lines(args);
    text
}

/// How the receiver is reached.
fn reach(args: &NetSend) -> String {
    let sockets = &args.sockets;
    let mut lines = Lines::default();
    lines.text(
        "family",
        (sockets.ipv4 || sockets.ipv6).then_some(match sockets.ipv6 {
            true => "ipv6",
            false => "ipv4",
        }),
    );
    lines.text("source", sockets.source);
    lines.bare("source_port", sockets.source_port);
    lines.text("adjust", args.frames.adjust.as_ref());
    lines.text("rate", args.frames.wire.as_ref());
    lines.0
}

fn load(args: &NetSend) -> String {
    let mut lines = Lines::default();
    lines.text("preset", args.preset.map(|PresetChoice::Ntttcp| "ntttcp"));
    lines.text(
        "load",
        Some(match (args.udp, args.requests, args.connects) {
            (true, true, _) => "udp-requests",
            (true, false, _) => "udp",
            (_, true, _) => "requests",
            (_, _, true) => "connects",
            _ => "tcp",
        }),
    );
    if let [size] = &args.message[..] {
        lines.text("message", Some(size));
    }
    lines.text("response", args.response);
    lines.bare("batch", (args.batch > 1).then_some(args.batch));
    lines.flag("segmented", args.segmented);
    lines.bare("streams", Some(args.streams));
    lines.text(
        "direction",
        match (args.reverse, args.both) {
            (true, _) => Some("receive"),
            (_, true) => Some("both"),
            _ => None,
        },
    );
    lines.bare("threads", args.threads);
    lines.text("rate", args.rate.map(|rate| format!("{} B/s", rate.0)));
    lines.flag("probe", args.probe);
    lines.bare("cpus", args.cpus.as_ref().map(|cpus| format!("{:?}", cpus.0)));
    lines.0
}

/// How sockets are set, at both ends.
fn sockets(args: &NetSend) -> String {
    let sockets = &args.sockets;
    let mut lines = Lines::default();
    lines.flag("no_delay", sockets.no_delay);
    lines.text("send_buffer", sockets.send_buffer);
    lines.text("receive_buffer", sockets.receive_buffer);
    lines.text("congestion", sockets.congestion.as_ref());
    lines.bare("dscp", sockets.dscp);
    lines.flag("zero_copy", sockets.zero_copy);
    lines.flag("sendfile", sockets.sendfile);
    lines.flag("discard", sockets.discard);
    lines.flag("multipath", sockets.multipath);
    lines.0
}

/// The plan. What a preset says of times is left to it.
fn plan_lines(args: &NetSend) -> String {
    let mut lines = Lines::default();
    lines.0 += "\n[plan]\nworkload = \"load\"\n";
    lines.text("on", Some(FAR));
    let times = &args.times;
    let ours = |ms: u64| args.preset.is_none().then_some(Duration::from_millis(ms));
    for (key, time) in [
        ("warmup", times.warmup.or(ours(1000))),
        ("measure", times.time.or(ours(10_000))),
        ("cooldown", times.cooldown.or(ours(500))),
    ] {
        lines.text(key, time.map(|time| format!("{}ns", time.as_nanos())));
    }
    lines.bare("repeat", times.repeat);
    lines.bare("mtu", args.frames.mtu);
    lines.text(
        "offload",
        args.frames.offload.map(|offload| match offload {
            OnOff::On => "on",
            OnOff::Off => "off",
        }),
    );
    if args.message.len() > 1 {
        let sizes: Vec<String> =
            args.message.iter().map(|size| quoted(&size.to_string())).collect();
        lines.bare("sweep", Some(format!("{{ message = [{}] }}", sizes.join(", "))));
    }
    lines.0
}

/// Lines of TOML.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn text(&mut self, key: &str, value: Option<impl ToString>) {
        self.bare(key, value.map(|value| quoted(&value.to_string())));
    }

    fn bare(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            // A string takes every line.
            let _ = writeln!(self.0, "{key} = {value}");
        }
    }

    fn flag(&mut self, key: &str, set: bool) {
        self.bare(key, set.then_some(true));
    }
}

/// A TOML basic string: a JSON string is one, whatever it holds.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn title(args: &NetSend) -> String {
    let load = match (args.udp, args.requests, args.connects) {
        (true, true, _) => "requests and responses in datagrams",
        (true, false, _) => "UDP",
        (_, true, _) => "requests and responses on TCP",
        (_, _, true) => "connections",
        _ => "TCP",
    };
    let streams = match args.streams {
        1 => "1 stream".to_owned(),
        n => format!("{n} streams"),
    };
    let (ways, target) = (
        match (args.reverse, args.both) {
            (true, _) => "from",
            (_, true) => "each way to and from",
            _ => "to",
        },
        args.target.as_deref().unwrap_or("an embedded receiver"),
    );
    format!("{load}, {streams} {ways} {target}")
}

/// Both ends of each step as NTttcp's XML, with the step's settings in the names where there are several.
fn write_xml(dir: &Path, record: &Record, analysis: &Analysis) -> Result<(), Failure> {
    let failed = |e| Failure::incomplete(format!("{}: {e}", dir.display()));
    std::fs::create_dir_all(dir).map_err(failed)?;
    let several = analysis.steps.len() > 1;
    for step in analysis.steps.iter().filter(|step| !step.network.is_empty()) {
        let mut marks: Vec<String> = step.settings.iter().map(|(_, value)| value.clone()).collect();
        marks.extend((step.repetition > 0).then(|| (step.repetition + 1).to_string()));
        let mark = if several { marks.join("-") } else { String::new() };
        let mark = if mark.is_empty() { mark } else { format!("-{mark}") };
        for (end, name) in [(NtttcpEnd::Sender, "ntttcps"), (NtttcpEnd::Receiver, "ntttcpr")] {
            let xml = export::ntttcp(record, analysis, Some(step.index), end);
            let xml = xml.map_err(Failure::incomplete)?;
            std::fs::write(dir.join(format!("{name}{mark}.xml")), xml).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command, NetAction};
    use clap::Parser;
    use scenario::{Scenario, Step};
    use workload::{Carriage, Heading};

    #[test]
    fn receivers_are_named() {
        for (text, host, port) in [
            ("a.example", "a.example", net::PORT),
            ("a.example:7", "a.example", 7),
            ("192.0.2.1:65535", "192.0.2.1", 65_535),
            ("::1", "::1", net::PORT),
            ("[::1]", "::1", net::PORT),
            ("[2001:db8::1]:9", "2001:db8::1", 9),
        ] {
            let found = address(text).expect("it is one");
            assert_eq!(found, (host.to_owned(), port), "{text}");
        }
        for wrong in ["", ":1", "a:", "a:b", "a:65536", "[::1", "[::1]7", "[]:1", "tcp://a", "a b"]
        {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[track_caller]
    fn loads(args: &[&str]) -> Scenario {
        let all = ["wirespeed", "net", "send"].iter().chain(args).copied();
        let cli = Cli::try_parse_from(all).unwrap_or_else(|e| panic!("{e}"));
        let Command::Net(net) = cli.command else { panic!("another command") };
        let NetAction::Send(args) = net.action else { panic!("another action") };
        let text = scenario_text(&args, receiver_lines(&args).expect("a receiver"));
        let source = Source { name: "x".into(), text: text.clone(), ..Source::default() };
        scenario::load(&source).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    #[track_caller]
    fn step(args: &[&str]) -> Step {
        loads(args).steps().remove(0)
    }

    #[track_caller]
    fn network(args: &[&str]) -> workload::Network {
        let step = step(args);
        let load = step.net_loads().next().expect("a load");
        load.workload.network.clone()
    }

    #[test]
    fn every_kind_of_load_is_a_scenario() {
        let carriage = |args: &[&str]| network(args).carriage;
        assert_eq!(carriage(&["::1"]), Carriage::Tcp);
        assert_eq!(carriage(&["::1", "--udp"]), Carriage::Udp { segmented: false });
        let segmented = ["::1", "--udp", "--segmented", "--batch", "8"];
        assert_eq!(carriage(&segmented), Carriage::Udp { segmented: true });
        let asks = ["::1", "--requests", "--response", "4KiB"];
        assert_eq!(carriage(&asks), Carriage::Exchange { response: 4096 });
        let datagrams = ["::1", "--udp", "--requests"];
        assert_eq!(carriage(&datagrams), Carriage::DatagramExchange { response: 64 });
        assert_eq!(carriage(&["::1", "--connects"]), Carriage::Connects { response: 64 });
        let both = network(&["::1", "--both", "--streams", "3", "--threads", "2", "--probe"]);
        assert_eq!((both.heading, both.streams, both.threads), (Heading::Both, 3, 2));
        assert!(both.probe && network(&["::1"]).sockets == workload::Sockets::default());
        assert_eq!(network(&["::1", "--reverse"]).heading, Heading::Receive);
        assert_eq!(network(&["::1", "--rate", "12.5MB/s"]).rate, Some(12_500_000));
        assert_eq!(network(&["::1", "--cpus", "0,1"]).cpus, [0, 1]);
    }

    #[test]
    fn every_option_of_sockets_reaches_the_load() {
        let set = network(&[
            "::1",
            "--no-delay",
            "--send-buffer=256KiB",
            "--receive-buffer=512KiB",
            "--congestion=cubic",
            "--dscp=46",
            "--zero-copy",
            "--multipath",
            "--discard",
        ]);
        let sockets = &set.sockets;
        assert!(sockets.no_delay && sockets.zero_copy && sockets.multipath && set.discard);
        assert_eq!(sockets.send_buffer.zip(sockets.receive_buffer), Some((256 << 10, 512 << 10)));
        assert_eq!((sockets.congestion.as_deref(), sockets.dscp), (Some("cubic"), Some(46)));
        assert!(network(&["::1", "--sendfile"]).sockets.sendfile);
    }

    #[test]
    fn how_long_how_often_and_what_sizes() {
        let times = |args: &[&str]| {
            let step = step(args);
            (step.warmup.as_millis(), step.measure.as_millis(), step.cooldown.as_millis())
        };
        assert_eq!(times(&["::1"]), (1000, 10_000, 500));
        assert_eq!(times(&["::1", "--preset", "ntttcp"]), (30_000, 60_000, 30_000));
        assert_eq!(times(&["::1", "--preset", "ntttcp", "--time", "2s"]), (30_000, 2000, 30_000));
        assert_eq!(network(&["::1", "--preset", "ntttcp"]).message, 64 << 10);
        let sizes = loads(&["::1", "--message", "4KiB,64KiB", "--repeat", "2"]).steps();
        let message = |s: &Step| s.net_loads().next().expect("a load").workload.network.message;
        let sizes: Vec<u32> = sizes.iter().map(message).collect();
        assert_eq!(sizes, [4096, 65_536, 4096, 65_536], "the ladder as a whole is repeated");
    }

    #[test]
    fn a_receiver_is_reached_as_it_is_said() {
        let receiver = |args: &[&str]| loads(args).lab.receivers.remove(0);
        assert_eq!(receiver(&["--embedded"]).place, ReceiverPlace::Embedded);
        let far = receiver(&[
            "192.0.2.2:6000",
            "-4",
            "--source=192.0.2.1",
            "--source-port=7000",
            "--token-file=a \"token\"",
            "--wire=10gbe",
        ]);
        let host = "192.0.2.2".to_owned();
        assert_eq!(far.place, ReceiverPlace::At { host, port: 6000 });
        assert_eq!(far.family, Some(scenario::AddressFamily::Ipv4));
        assert_eq!(far.source_port, Some(7000));
        assert_eq!(far.token, Some(scenario::TokenFrom::File("a \"token\"".into())));
        // Off loopback a token is asked for, so it is looked for.
        let token = receiver(&["far.example"]).token;
        assert_eq!(token, Some(scenario::TokenFrom::Env(TOKEN_ENV.into())));
        let adjusted = loads(&["::1", "--adjust=eth1", "--mtu=9000", "--offload=off"]);
        assert_eq!(adjusted.lab.receivers[0].adjust.as_deref(), Some("eth1"));
        let frames = adjusted.steps()[0].frames;
        assert_eq!((frames.mtu, frames.offload), (Some(9000), Some(false)));
    }
}
