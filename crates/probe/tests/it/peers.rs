//! What this machine's counters say against other programs' figures: `ip`, `tc`, `ss`, and node_exporter.

use crate::support::{has, look, output, places, skipped, start, tcp_port};
use clock::Ns;
use probe::credentials::Credentials;
use probe::interface::interfaces;
use probe::scrape::Exporter;
use probe::source::Source as _;
use probe::tcp::established;
use probe::watch::Watch;
use record::CounterId;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;

/// The number after a key of JSON, behind a first text.
fn number(json: &str, behind: &str, keys: &[&str]) -> Option<u64> {
    let mut rest = &json[json.find(behind)?..];
    for key in keys {
        rest = &rest[rest.find(&format!("\"{key}\":"))? + key.len() + 3..];
    }
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[test]
fn bytes_of_loopback_are_those_that_ip_shows() {
    if !has("ip") {
        return;
    }
    let shown = || {
        let json = output("ip", &["-s", "-j", "link", "show", "dev", "lo"]);
        let of = |side| number(&json, "\"stats64\"", &[side, "bytes"]).expect("a number");
        [of("rx"), of("tx")]
    };
    let before = shown();
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    sender.send_to(&[7; 1000], sender.local_addr().expect("an address")).expect("a datagram");
    let lo = interfaces().expect("netlink").into_iter().find(|link| link.name == "lo").expect("lo");
    let after = shown();
    for side in [0, 1] {
        assert!(before[side] + 1000 <= lo.bytes[side] && lo.bytes[side] <= after[side]);
    }
}

#[test]
fn a_connection_is_as_ss_shows_it() {
    if !has("ss") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let portal = listener.local_addr().expect("an address");
    let mut near = TcpStream::connect(portal).expect("a connection");
    let mut far = listener.accept().expect("its other end").0;
    near.write_all(&[1; 70_000]).expect("bytes");
    far.read_exact(&mut vec![0; 70_000]).expect("the same");
    far.write_all(&[2; 30_000]).expect("bytes");
    near.read_exact(&mut vec![0; 30_000]).expect("the same");
    // The last acknowledgement may be on its way still.
    let end = clock::now().plus(Ns::secs(5));
    let session = loop {
        let all = established().expect("inet_diag");
        let of = all.into_iter().find(|(to, _)| *to == portal).expect("the connection").1;
        if of.acked >= 70_000 || clock::now() > end {
            break of;
        }
    };
    let shown = output("ss", &["-tinH", "dst", &portal.to_string()]);
    let of = |key: &str| -> u64 {
        let word = shown.split_whitespace().find_map(|word| word.strip_prefix(&format!("{key}:")));
        word.and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{key} in {shown}"))
    };
    assert_eq!((session.received, session.acked), (of("bytes_received"), of("bytes_acked")));
    assert_eq!(session.retransmits, 0);
}

/// What the child counts within its namespace, of an interface that is held to 1 Mbit/s.
const INSIDE: &str = "WIRESPEED_TEST_NAMESPACE";

#[test]
fn a_queue_backlog_and_its_drops_are_those_that_tc_shows() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    if !has("ip") || !has("tc") {
        return;
    }
    let name = format!("ws-probe-{}", std::process::id());
    let ip = |args: &[&str]| {
        Command::new("ip").args(args).output().is_ok_and(|out| out.status.success())
    };
    if !ip(&["netns", "add", &name]) {
        skipped("network namespaces need root");
        return;
    }
    let within = |args: &[&str]| ip(&[&["netns", "exec", &name], args].concat());
    // With IPv6 the kernel sends packets of its own whenever it likes, to find neighbours and groups.
    within(&["sh", "-c", "echo 1 | tee /proc/sys/net/ipv6/conf/*/disable_ipv6"]);
    let ready = within(&["ip", "link", "add", "near", "type", "veth", "peer", "name", "far"])
        && within(&["ip", "addr", "add", "192.0.2.1/24", "dev", "near"])
        && within(&["ip", "link", "set", "near", "up"])
        && within(&["ip", "link", "set", "far", "up"])
        && within(&[
            "ip",
            "neigh",
            "add",
            "192.0.2.2",
            "lladdr",
            "02:00:00:00:00:02",
            "dev",
            "near",
        ])
        && within(&[
            "tc", "qdisc", "add", "dev", "near", "root", "tbf", "rate", "1mbit", "burst", "2kb",
            "limit", "20kb",
        ]);
    let own = std::env::current_exe().expect("this program");
    let test = "peers::a_queue_backlog_and_its_drops_are_those_that_tc_shows";
    let ran = ready.then(|| {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &name]).arg(own).args(["--exact", test, "--nocapture"]);
        command.env(INSIDE, "1").output().expect("the child")
    });
    assert!(ip(&["netns", "del", &name]), "the namespace is removed");
    match ran {
        None => {
            skipped("veth or tbf is missing in this kernel");
        }
        Some(out) => assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr)),
    }
}

fn inside() {
    let socket = UdpSocket::bind("192.0.2.1:0").expect("a socket");
    let of = |name: &str| {
        let all = interfaces().expect("netlink");
        all.into_iter().find(|link| link.name == name).expect("an interface")
    };
    let mut near = of("near");
    // A machine that is busy with other things may send no faster than the queue drains.
    let is_full = |of: &[u32; 2]| of[0] > 10_000 && of[1] > 100;
    for _ in 0..50 {
        if near.queue.as_ref().is_some_and(is_full) {
            break;
        }
        for _ in 0..200 {
            let _ = socket.send_to(&[0; 1400], ("192.0.2.2", 9));
        }
        near = of("near");
    }
    let [backlog, drops] = near.queue.expect("a queue");
    let json = output("tc", &["-s", "-j", "qdisc", "show", "dev", "near"]);
    // Nothing more is sent: drops stand still, and the queue only drains.
    assert_eq!(number(&json, "tbf", &["drops"]), Some(u64::from(drops)));
    assert!(drops > 100, "{drops}");
    assert!(backlog > 10_000, "{backlog}");
    let left = number(&json, "tbf", &["backlog"]);
    assert!(left.is_some_and(|left| left <= u64::from(backlog)), "{left:?} of {backlog}");
    assert_eq!(near.dropped[1], 0);
    assert!(of("far").bytes[0] > 0);
}

#[test]
fn node_exporter_says_of_its_machine_what_the_kernel_does() {
    if !has("prometheus-node-exporter") {
        return;
    }
    let port = tcp_port();
    let mut command = Command::new("prometheus-node-exporter");
    command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    let _running = start(&mut command);
    let source =
        Exporter::new(&format!("127.0.0.1:{port}"), &Credentials::default()).expect("a source");
    let watch = Watch::start("node", Box::new(source)).expect("a thread");
    let found = places(&watch);
    let cpu = found.iter().position(|place| place.name == "cpu").expect("processors");
    let first = look(&watch).expect("a look");
    let before = probe::cpu::look().stat.expect("processors");
    clock::sleep_until(clock::now().plus(Ns::secs(2)));
    let after = probe::cpu::look().stat.expect("processors");
    let second = look(&watch).expect("a look");
    let value = |of: &probe::accrual::Totals, id| {
        of.places[cpu].iter().find(|entry| entry.0 == id).expect("a counter").1
    };
    let told = value(&second, CounterId::CpuBusy) - value(&first, CounterId::CpuBusy);
    let own = after.busy.since(before.busy).0 as f64;
    let seconds = second.at.since(first.at).as_secs_f64();
    // Both looks of the page enclose ours; what lies between takes no more than all processors can.
    let beside = (seconds - 2.0).max(0.0) + 0.3;
    let most = own + beside * f64::from(after.processors) * 1e9;
    assert!(told >= own - 0.3 * f64::from(after.processors) * 1e9 && told <= most, "{told} {own}");
    assert_eq!(value(&second, CounterId::CpuCount), f64::from(after.processors));
}

/// An authority, and a certificate of a host that it has signed: `NAME.pem`, `NAME.key`.
fn certificates(dir: &Path, names: [&str; 2], host: &str) {
    let [authority, name] = names;
    let new = |name: &str| {
        let key = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2";
        format!("req {key} -keyout {name}.key -out {name}.pem -subj /CN={name}")
    };
    let signed = format!(
        "-CA {authority}.pem -CAkey {authority}.key -addext basicConstraints=critical,CA:FALSE"
    );
    for args in [new(authority), format!("{} {signed} -addext subjectAltName={host}", new(name))] {
        let made = Command::new("openssl").args(args.split(' ')).current_dir(dir).output();
        let made = made.expect("openssl runs");
        assert!(made.status.success(), "{args}: {}", String::from_utf8_lossy(&made.stderr));
    }
}

#[test]
fn an_exporter_over_tls_is_believed_if_its_authority_is() {
    if !has("prometheus-node-exporter") || !has("openssl") {
        return;
    }
    let dir = tempfile::tempdir().expect("a place");
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    certificates(dir.path(), ["ours", "host"], "IP:127.0.0.1");
    certificates(dir.path(), ["theirs", "elsewhere"], "DNS:elsewhere.example");
    let running = |name: &str| {
        let (port, file) = (tcp_port(), at(&format!("{name}.yml")));
        let pair = format!("  cert_file: {name}.pem\n  key_file: {name}.key\n");
        std::fs::write(&file, format!("tls_server_config:\n{pair}")).expect("room");
        let mut command = Command::new("prometheus-node-exporter");
        command.arg(format!("--web.listen-address=127.0.0.1:{port}"));
        (format!("127.0.0.1:{port}"), start(command.arg(format!("--web.config.file={file}"))))
    };
    let (host, _host) = running("host");
    let (elsewhere, _elsewhere) = running("elsewhere");
    let ca = |name: &str| {
        Credentials::parse(&format!("ca = {}", at(&format!("{name}.pem")))).expect("credentials")
    };
    let source = Exporter::over_tls(&host, &ca("ours")).expect("a source");
    assert!(places(&Watch::start("node", Box::new(source)).expect("a thread")).len() > 1);
    // Another authority, another host's certificate, the authorities of this machine, and no TLS at all.
    for (address, credentials, says) in [
        (&host, ca("theirs"), "no authority that is trusted"),
        (&elsewhere, ca("theirs"), "not valid for name"),
        (&host, Credentials::default(), "no authority that is trusted"),
    ] {
        let mut source = Exporter::over_tls(address, &credentials).expect("a source");
        let why = source.discover().expect_err("it is not believed").to_string();
        assert!(why.contains(says), "{says}: {why}");
    }
    let mut plain = Exporter::new(&host, &Credentials::default()).expect("a source");
    assert!(plain.discover().is_err(), "it answers no plain request");
    assert!(Exporter::new(&host, &ca("ours")).is_err(), "an authority for what is not TLS");
    assert!(Exporter::over_tls(&host, &ca("host.yml")).is_err(), "no file of certificates");
}
