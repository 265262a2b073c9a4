//! Net-SNMP's agent over v2c and v3: its IF-MIB against `snmpget` and the kernel's own figures, a table of FCMGMT-MIB that the
//! test writes, counters that go back and jump, an agent that dies and returns.

use crate::support::{self, Running, has, look, output, places, start};
use clock::Ns;
use hop::HopKind;
use probe::credentials::Credentials;
use probe::snmp::Snmp;
use probe::source::Place;
use probe::watch::Watch;
use record::CounterId;
use std::fs;
use std::path::Path;
use std::process::Command;

const UNIT: &str = "16.0.0.5.30.52.53.54";

struct Agent {
    dir: tempfile::TempDir,
    port: u16,
    running: Option<Running>,
}

impl Agent {
    /// `None` where the programs are missing.
    fn start() -> Option<Agent> {
        Agent::start_with("")
    }

    /// The same with more lines of its configuration.
    fn start_with(more: &str) -> Option<Agent> {
        if !["snmpd", "snmpget", "python3"].iter().all(|program| has(program)) {
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let port = support::udp_port();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/agents/pass.py");
        let (table, script) = (dir.path().join("table"), script.display().to_string());
        let configuration = format!(
            "rocommunity public 127.0.0.1\ncreateUser probe SHA-256 \"authentic-1\" AES \"private-12\"\n\
             rouser probe auth\nsysServices 2\npass_persist .1.3.6.1.3.94 /usr/bin/env python3 {script} {}\n{more}",
            table.display()
        );
        fs::write(dir.path().join("agent.conf"), configuration).expect("a configuration");
        let mut agent = Agent { dir, port, running: None };
        agent.write(1_000, 2_000, 5);
        agent.run();
        Some(agent)
    }

    fn run(&mut self) {
        let path = |name: &str| self.dir.path().join(name);
        let mut command = Command::new("snmpd");
        command.args(["-f", "-C", "-Lf"]).arg(path("log")).arg("-c").arg(path("agent.conf"));
        command.arg("-p").arg(path("pid")).arg(format!("udp:127.0.0.1:{}", self.port));
        command.env("SNMP_PERSISTENT_DIR", path("state")).env("MIBS", "");
        self.running = Some(start(&mut command));
    }

    /// Writes the table of port 1: bytes received and sent, times without credit.
    fn write(&self, received: u64, sent: u64, no_credit: u64) {
        let octets = |value: u64| {
            value.to_be_bytes().iter().map(|b| format!("{b:02X}")).collect::<Vec<_>>().join(" ")
        };
        let rows = format!(
            "1.10.1.10.{UNIT}.1 octet 20 01 00 05 1E 34 35 36\n1.10.1.15.{UNIT}.1 integer 1700000\n\
             1.10.1.17.{UNIT}.1 string slot0 port1\n4.5.1.6.{UNIT}.1 octet {}\n4.5.1.7.{UNIT}.1 octet {}\n\
             4.5.1.8.{UNIT}.1 octet {}\n5.2.1.1.4.{UNIT}.1.1.4.0 octet 10 00 00 00 C9 01 02 03\n",
            octets(sent),
            octets(received),
            octets(no_credit)
        );
        let part = self.dir.path().join("table.part");
        fs::write(&part, rows).expect("a table");
        fs::rename(part, self.dir.path().join("table")).expect("a table at once");
    }

    fn watch(&self, credentials: &str) -> Watch {
        let credentials = Credentials::parse(credentials).expect("credentials");
        let address = format!("127.0.0.1:{}", self.port);
        let source = Snmp::new(&address, &credentials).expect("a source");
        Watch::start("switch1", Box::new(source)).expect("a thread")
    }
}

const V2C: &str = "community = public";
const V3: &str = "user = probe\nauthentication = sha256\nauthentication-password = authentic-1\n\
                  privacy = aes\nprivacy-password = private-12";

fn fc_port(places: &[Place]) -> usize {
    places.iter().position(|place| place.is("20:01:00:05:1e:34:35:36")).expect("the FC port")
}

fn value(of: &probe::accrual::Totals, place: usize, id: CounterId) -> f64 {
    of.places[place].iter().find(|entry| entry.0 == id).expect("a counter").1
}

#[test]
fn both_versions_find_the_same_ports_and_what_is_behind_them() {
    let Some(agent) = Agent::start() else { return };
    let found = places(&agent.watch(V2C));
    let at = fc_port(&found);
    assert_eq!(
        (found[at].name.as_str(), found[at].kind),
        ("slot0 port1", Some(HopKind::SwitchPort))
    );
    assert_eq!(found[at].beyond.iter().collect::<Vec<_>>(), ["wwn.10000000c9010203"]);
    assert!(found.iter().any(|place| place.name == "lo"));
    for user in [V3, "user = probe\nauthentication = sha256\nauthentication-password = authentic-1"]
    {
        let names = |all: &[Place]| all.iter().map(|place| place.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&places(&agent.watch(user))), names(&found));
    }
    for wrong in [V3.replace("authentic-1", "authentic-2"), V2C.replace("public", "private")] {
        support::trouble(&agent.watch(&wrong), Ns::secs(20));
    }
}

/// The loopback interface of the agent's machine has the address of the FC port: one port in both MIBs.
#[test]
fn a_port_in_both_mibs_is_one_and_no_counter_of_it_is_added_up() {
    let Some(agent) =
        Agent::start_with("override .1.3.6.1.2.1.2.2.1.6.1 octet_str 0x200100051E343536\n")
    else {
        return;
    };
    let watch = agent.watch(V2C);
    let found = places(&watch);
    let at = fc_port(&found);
    assert_eq!(found.iter().filter(|place| place.is("20:01:00:05:1e:34:35:36")).count(), 1);
    assert!(found[at].name == "lo" && found[at].is("slot0 port1"), "{:?}", found[at]);
    let by = found[at].facts.iter().find(|fact| fact.0 == "counted-by").expect("who counts");
    assert!(by.1.contains("read-bytes") && by.1.contains("credit-zero from FCMGMT-MIB"), "{by:?}");
    let first = look(&watch).expect("a look");
    // FCMGMT's bytes jump; those of IF-MIB are recorded, and only credits are FCMGMT's.
    agent.write(1_000 + 5_000_000_000_000, 2_000, 9);
    let second = look(&watch).expect("a look");
    let moved = |id| value(&second, at, id) - value(&first, at, id);
    assert_eq!(moved(CounterId::CreditZero), 4.0);
    assert!(moved(CounterId::ReadBytes) < 1e12, "{}", moved(CounterId::ReadBytes));
}

#[test]
fn counters_are_those_that_snmpget_reads() {
    let Some(agent) = Agent::start() else { return };
    let (watch, address) = (agent.watch(V2C), format!("127.0.0.1:{}", agent.port));
    let found = places(&watch);
    let at = fc_port(&found);
    let first = look(&watch).expect("a look");
    assert_eq!(value(&first, at, CounterId::PortRate), 1.7e9);
    agent.write(1_000 + 5_000_000, 2_000 + 70_000, 9);
    let second = look(&watch).expect("a look");
    assert!(second.at > first.at);
    let moved = |id| value(&second, at, id) - value(&first, at, id);
    let all = [CounterId::ReadBytes, CounterId::WriteBytes, CounterId::CreditZero].map(moved);
    assert_eq!(all, [5_000_000.0, 70_000.0, 4.0]);
    // Nothing has moved: nothing new is told, and the last look stays.
    assert_eq!(look(&watch).expect("the last look").at, second.at);
    // The peer's own tool reads what was counted.
    let oid = format!("1.3.6.1.3.94.4.5.1.7.{UNIT}.1");
    let told =
        output("snmpget", &["-v2c", "-c", "public", "-Ox", "-Oqv", "-m", "", &address, &oid]);
    let hex: String = told.chars().filter(char::is_ascii_hexdigit).collect();
    assert_eq!(u64::from_str_radix(&hex, 16), Ok(5_001_000), "{told}");
}

#[test]
fn what_goes_back_or_jumps_is_said_and_never_counted() {
    let Some(agent) = Agent::start() else { return };
    let watch = agent.watch(V2C);
    let at = fc_port(&places(&watch));
    look(&watch).expect("a look");
    agent.write(400, 3_000, 5);
    let reset = look(&watch).expect("a look");
    assert!(value(&reset, at, CounterId::ReadBytes).is_nan());
    assert_eq!(value(&reset, at, CounterId::WriteBytes), 1_000.0);
    agent.write(400 + (1 << 50), 4_000, 5);
    let lie = look(&watch).expect("a look");
    assert!(value(&lie, at, CounterId::ReadBytes).is_nan());
    agent.write(500 + (1 << 50), 5_000, 5);
    assert_eq!(value(&look(&watch).expect("a look"), at, CounterId::ReadBytes), 100.0);
    let codes: Vec<&str> = watch.news().into_iter().map(|news| news.code).collect();
    assert_eq!(codes, ["counter-reset", "counter-impossible"]);
}

#[test]
fn an_agent_that_dies_leaves_a_gap_and_returns_with_a_new_life() {
    let Some(mut agent) = Agent::start() else { return };
    for user in [V2C, V3] {
        let watch = agent.watch(user);
        let at = fc_port(&places(&watch));
        // Long enough that its age shows that it has begun anew.
        clock::sleep_until(clock::now().plus(Ns::secs(2)));
        look(&watch).expect("a look");
        agent.running = None;
        assert_eq!(look(&watch), None);
        agent.run();
        agent.write(9_000_000, 9_000, 5);
        let end = clock::now().plus(Ns::secs(20));
        while look(&watch).is_none() {
            assert!(clock::now() < end, "{user}: {:?}", watch.news());
        }
        let back = look(&watch).expect("a look");
        agent.write(9_000_100, 9_000, 6);
        let next = look(&watch).expect("a look");
        assert!(
            value(&back, at, CounterId::ReadBytes).is_nan()
                || value(&back, at, CounterId::ReadBytes) == 0.0
        );
        assert_eq!(value(&next, at, CounterId::ReadBytes), 100.0);
        let codes: Vec<&str> = watch.news().into_iter().map(|news| news.code).collect();
        assert_eq!(codes[..2], ["counters-lost", "counter-reset"], "{codes:?}");
        agent.write(1_000, 2_000, 5);
    }
}
