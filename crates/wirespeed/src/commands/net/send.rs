//! `wirespeed net send`: one test a size of message, and what both ends counted.

use super::{failure, json, text, token};
use crate::cli::{NetFormat, NetSend, Preset};
use crate::exit::{Exit, Failure};
use crate::out;
use clock::Ns;
use net::{
    Carriage, End, Heading, Interval, Network, Report, SendConfig, Sockets, Spec, Stop, xml,
};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sends.
pub fn send(args: &NetSend) -> Result<Exit, Failure> {
    let config = config(args)?;
    let specs = specs(args)?;
    specs.iter().try_for_each(|spec| spec.check().map_err(failure))?;
    let stop = stop_on_signals()?;
    let mut reports = Vec::new();
    for spec in &specs {
        if !args.quiet {
            eprintln!("{}: {}", args.target, text::title(spec));
        }
        let mut progress = |interval: &Interval| {
            if !args.quiet {
                eprintln!("{}", text::progress(interval));
            }
        };
        let report = net::send(&config, spec, &stop, &mut progress).map_err(failure)?;
        if let Some(dir) = &args.ntttcp {
            write_xml(dir, &report, specs.len() > 1)?;
        }
        if args.format == NetFormat::Text {
            out::result(&text::report(&report))?;
        }
        reports.push(report);
    }
    if args.format == NetFormat::Json {
        out::result(&json::reports(&reports))?;
    }
    Ok(if reports.iter().any(broken) { Exit::Incomplete } else { Exit::Met })
}

/// Whether a stream broke off, or transactions failed.
fn broken(report: &Report) -> bool {
    let sides = [&report.sender, &report.receiver];
    sides.iter().any(|side| side.streams.iter().any(|stream| stream.error.is_some()))
}

fn config(args: &NetSend) -> Result<SendConfig, Failure> {
    let (host, port) = target(&args.target)?;
    let sockets = &args.sockets;
    let ipv6 = match (sockets.ipv4, sockets.ipv6) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    };
    Ok(SendConfig {
        host,
        port,
        ipv6,
        source: sockets.source,
        source_port: sockets.source_port,
        token: token(args.token_file.as_deref())?,
    })
}

/// `HOST`, `HOST:PORT`, `ADDR` of either family, `[ADDR]:PORT`.
fn target(text: &str) -> Result<(String, u16), Failure> {
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

/// A test for each size of message.
fn specs(args: &NetSend) -> Result<Vec<Spec>, Failure> {
    let response = small("--response", args.response.0)?;
    let load = match (args.udp, args.requests, args.connects) {
        (true, true, _) => Carriage::DatagramExchange { response },
        (true, ..) => Carriage::Udp { segmented: args.segmented },
        (_, true, _) => Carriage::Exchange { response },
        (.., true) => Carriage::Connects { response },
        _ => Carriage::Tcp,
    };
    let mut base = Spec::new(load);
    if args.preset == Some(Preset::Ntttcp) {
        let (edge, measure) = (Ns::secs(30), Ns::secs(60));
        base = Spec { warmup: edge, measure, cooldown: edge, ..base };
        if load == Carriage::Tcp {
            base.network.message = 64 << 10;
        }
    }
    base.network = network(args, base.network)?;
    let times = &args.times;
    base.warmup = times.warmup.map_or(base.warmup, Ns::from);
    base.measure = times.time.map_or(base.measure, Ns::from);
    base.cooldown = times.cooldown.map_or(base.cooldown, Ns::from);
    base.interval = times.interval.into();
    if args.message.is_empty() {
        return Ok(vec![base]);
    }
    let sized = |size: &units::Bytes| {
        let message = small("--message", size.0)?;
        Ok(Spec { network: Network { message, ..base.network.clone() }, ..base.clone() })
    };
    args.message.iter().map(sized).collect()
}

/// What is asked for, on top of what is usual.
fn network(args: &NetSend, usual: Network) -> Result<Network, Failure> {
    Ok(Network {
        streams: args.streams,
        heading: match (args.reverse, args.both) {
            (true, _) => Heading::Receive,
            (_, true) => Heading::Both,
            _ => Heading::Send,
        },
        threads: args.threads.unwrap_or(0),
        cpus: args.cpus.clone().unwrap_or_default().0,
        batch: args.batch,
        rate: args.rate.map(|rate| rate.0 as u64),
        sockets: sockets(args, &usual.sockets)?,
        discard: args.sockets.discard,
        ..usual
    })
}

fn sockets(args: &NetSend, defaults: &Sockets) -> Result<Sockets, Failure> {
    let given = &args.sockets;
    let size = |name, size: Option<units::Bytes>| size.map(|size| small(name, size.0)).transpose();
    Ok(Sockets {
        no_delay: given.no_delay || defaults.no_delay,
        send_buffer: size("--send-buffer", given.send_buffer)?,
        receive_buffer: size("--receive-buffer", given.receive_buffer)?,
        congestion: given.congestion.clone(),
        dscp: given.dscp,
        zero_copy: given.zero_copy,
        sendfile: given.sendfile,
        multipath: given.multipath,
    })
}

fn small(option: &str, size: u64) -> Result<u32, Failure> {
    u32::try_from(size)
        .map_err(|_| Failure::usage(format!("{option}: {size} B are more than 4 GiB")))
}

fn write_xml(dir: &Path, report: &Report, several: bool) -> Result<(), Failure> {
    let size = if several { format!("-{}", report.spec.network.message) } else { String::new() };
    let failed = |e| Failure::incomplete(format!("{}: {e}", dir.display()));
    std::fs::create_dir_all(dir).map_err(failed)?;
    for (end, name) in [(End::Sender, "ntttcps"), (End::Receiver, "ntttcpr")] {
        std::fs::write(dir.join(format!("{name}{size}.xml")), xml(report, end)).map_err(failed)?;
    }
    Ok(())
}

/// The first Ctrl-C (or SIGTERM) ends the test in order, the second ends the process.
fn stop_on_signals() -> Result<Stop, Failure> {
    let (stop, again) = (Stop::default(), AtomicBool::new(false));
    let asks = stop.clone();
    let handler = move || {
        if again.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        asks.ask();
    };
    ctrlc::set_handler(handler)
        .map_err(|e| Failure::incomplete(format!("cannot catch signals: {e}")))?;
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let found = target(text).expect("it is one");
            assert_eq!(found, (host.to_owned(), port), "{text}");
        }
        for wrong in ["", ":1", "a:", "a:b", "a:65536", "[::1", "[::1]7", "[]:1", "tcp://a", "a b"]
        {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }
}
