//! Places of several files that are one by identity, what is not joined, and what contradicts itself.

use super::{fed, options, recorded};
use import::monitor::{Feed, Map, MonitorFormat, Options, Topology, read, topology};
use record::{CounterId, Record};

/// A table of one place: a row every 20 s, of so many bytes a second and other columns.
fn table(
    head: &str,
    kind: &str,
    (place, device, id): (&str, &str, &str),
    columns: &[(&str, f64)],
) -> Feed {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut text = format!("time,place,device,id,{}\n", names.join(","));
    for at in 0..=12 {
        let values: Vec<String> = columns.iter().map(|(_, value)| value.to_string()).collect();
        text += &format!(
            "2024-05-07 09:{:02}:{:02},{place},{device},{id},{}\n",
            at * 20 / 60,
            at * 20 % 60,
            values.join(",")
        );
    }
    let map = format!(
        "kind = \"{kind}\"\ntime = \"time\"\nplace = \"place\"\ndevice-column = \"device\"\nidentity = \"id\"\n[column]\n{}",
        names
            .iter()
            .map(|name| format!("{name} = {{ measure = \"{name}\" }}\n"))
            .collect::<String>()
    );
    let maps = vec![Map::parse("map", &map).unwrap()];
    read(head, MonitorFormat::Mapped, text.as_bytes(), &Options { maps, ..options() }).unwrap()
}

struct Said {
    hops: Vec<String>,
    events: Vec<String>,
    joined: Vec<(String, String)>,
    record: Record,
    _dir: tempfile::TempDir,
}

fn written(feeds: &[Feed], known: &str) -> Said {
    let rate = |text: &str| {
        text.trim_end_matches(" MB/s").parse::<f64>().map(|mb| mb * 1e6).map_err(|e| e.to_string())
    };
    let known =
        if known.is_empty() { Topology::default() } else { topology(known, &rate).unwrap() };
    let (dir, record) = recorded(feeds, &known);
    let hops =
        record.sources().iter().filter(|s| s.hop().is_some()).map(|s| s.name.clone()).collect();
    let events = record.events().iter().map(|e| format!("{}: {}", e.code, e.text)).collect();
    let joined = record
        .facts()
        .iter()
        .filter(|f| f.key == "joined")
        .map(|f| (f.subject.clone(), f.value.clone()))
        .collect();
    Said { hops, events, joined, record, _dir: dir }
}

const WWPN: &str = "50:06:01:60:41:e0:00:01";

/// One port of an array, of which its own export counts bytes and a switch's counts errors.
#[test]
fn a_port_that_two_files_name_by_its_wwpn_is_one_hop_with_the_counters_of_both() {
    let array = table(
        "array",
        "target-port",
        ("CT0.FC0", "array1", WWPN),
        &[("read-bytes", 1e8), ("operations", 1e4)],
    );
    let fabric = table(
        "fabric",
        "switch-port",
        ("fc1/7", "", &WWPN.replace(':', "")),
        &[("errors", 2.0), ("read-bytes", 1.01e8)],
    );
    let said = written(&[array, fabric], "");
    assert_eq!(said.hops, ["CT0.FC0"], "{:?}", said.joined);
    assert_eq!(said.joined.len(), 1);
    assert!(
        said.joined[0].1.contains("wwn.5006016041e00001")
            && said.joined[0].1.contains("array and fabric"),
        "{:?}",
        said.joined
    );
    let counters = said.record.counters(Some(0)).unwrap();
    let sum =
        |id| counters.iter().filter(|c| c.kind.id() == Some(id)).map(|c| c.value).sum::<f64>();
    // 260 s of each, and bytes from the first file alone.
    assert!((sum(CounterId::Errors) - 520.0).abs() < 1e-3);
    assert!((sum(CounterId::ReadBytes) / 2.6e10 - 1.0).abs() < 1e-6);
    assert!(!said.events.iter().any(|e| e.contains("conflict")), "{:?}", said.events);
}

#[test]
fn figures_that_contradict_each_other_are_said() {
    let a =
        table("a", "target-port", ("p", "array1", WWPN), &[("read-bytes", 1e8), ("speed", 8e8)]);
    let b =
        table("b", "target-port", ("q", "array1", WWPN), &[("read-bytes", 6e7), ("speed", 8e8)]);
    let said = written(&[a, b], "");
    assert_eq!(said.hops.len(), 1);
    assert!(
        said.events.iter().any(|e| e.starts_with("figures-conflict") && e.contains("bytes read")),
        "{:?}",
        said.events
    );
}

#[test]
fn a_lun_is_one_disk_of_each_host_and_one_volume_of_the_array() {
    const NAA: &str = "naa.600508b4000971fa0000a00000a20000";
    let host = |name: &str, kind: &str, place: &str| {
        table(name, kind, (place, name, NAA), &[("read-bytes", 1e7), ("reads", 100.0)])
    };
    let array = table(
        "array",
        "volume",
        ("lun 7", "array1", NAA),
        &[("read-bytes", 2e7), ("reads", 200.0)],
    );
    let said = written(&[host("h1", "lun-queue", NAA), host("h2", "lun-queue", NAA), array], "");
    assert_eq!(said.hops.len(), 3, "{:?}", said.hops);
    assert!(said.joined.is_empty());
    // Of one host two programs count one disk, under two names.
    let said = written(
        &[
            host("h1", "block-device", "sdc"),
            table("x", "block-device", ("dm-3", "h1", NAA), &[("busy", 0.5)]),
        ],
        "",
    );
    assert_eq!((said.hops.as_slice(), said.joined.len()), (["sdc".to_owned()].as_slice(), 1));
}

#[test]
fn names_join_only_with_their_device_and_never_by_likeness() {
    let port = |file: &str, device: &str, name: &str| {
        table(file, "initiator-port", (name, device, ""), &[("read-bytes", 1e7)])
    };
    let hops = |feeds: &[Feed], known: &str| written(feeds, known).hops.len();
    assert_eq!(
        hops(&[port("a", "db1", "eth0"), port("b", "DB1", "eth0")], ""),
        1,
        "host names have no case"
    );
    assert_eq!(hops(&[port("a", "db1", "eth0"), port("b", "db2", "eth0")], ""), 2);
    assert_eq!(hops(&[port("a", "db1", "eth0"), port("b", "db1.example.org", "eth0")], ""), 2);
    assert_eq!(hops(&[port("a", "db1", "eth0"), port("b", "db1", "eth00")], ""), 2);
    let same = "[[device]]\nnames = [\"db1\", \"10.0.0.5\"]\n";
    assert_eq!(hops(&[port("a", "db1", "eth0"), port("b", "10.0.0.5", "eth0")], same), 1);
    let hop = "[[hop]]\nname = \"db1/eth0\"\nsame = [\"sw/1\"]\nrate = \"100 MB/s\"\n";
    let said = written(&[port("a", "db1", "eth0"), port("b", "sw", "1")], hop);
    assert_eq!(said.hops, ["db1/eth0"]);
    let speeds = said.record.counters(Some(0)).unwrap();
    assert_eq!(speeds.iter().filter(|c| c.kind.id() == Some(CounterId::PortRate)).count(), 1);
}

#[test]
fn identities_that_contradict_themselves_join_nothing_and_are_said() {
    let port = |file: &str, name: &str, id: &str| {
        table(file, "initiator-port", (name, "db1", id), &[("read-bytes", 1e7)])
    };
    // One name with two addresses.
    let said = written(
        &[port("a", "eth0", "52:54:00:00:00:01"), port("b", "eth0", "52:54:00:00:00:02")],
        "",
    );
    assert_eq!(said.hops.len(), 2);
    assert!(
        said.events
            .iter()
            .any(|e| e.starts_with("identity-conflict") && e.contains("mac.525400000001")),
        "{:?}",
        said.events
    );
    // The topology says that two WWPNs are one port: which entry does, and what to do.
    let same = "[[hop]]\nname = \"db1/hba0\"\nsame = [\"sw/1\"]\n";
    let fibre = |file: &str, (name, device): (&str, &str), id: &str| {
        table(file, "initiator-port", (name, device, id), &[("read-bytes", 1e7)])
    };
    let said = written(
        &[
            fibre("a", ("hba0", "db1"), "50:01:43:80:00:00:00:01"),
            fibre("b", ("1", "sw"), "50:01:43:80:00:00:00:02"),
        ],
        same,
    );
    assert_eq!(said.hops.len(), 2);
    let text = said.events.iter().find(|e| e.starts_with("identity-conflict")).expect("it is said");
    assert!(text.contains("the topology's entry 1 (db1/hba0) is wwn.5001438000000001"), "{text}");
    assert!(text.ends_with("leave one of them out of its `same`"), "{text}");
    // A bond and its member have one address.
    let mut twice = port("a", "bond0", "52:54:00:00:00:01");
    let member = import::monitor::Place::new(record::HopKind::InitiatorPort, "eth1", "db1")
        .known_as("52:54:00:00:00:01");
    let at = twice.place(member);
    (0..twice.rows.len()).for_each(|row| twice.put(row, at, import::monitor::Measure::Errors, 1.0));
    let said = written(&[twice, port("b", "eth7", "52:54:00:00:00:01")], "");
    assert_eq!(said.hops.len(), 3, "{:?}", said.joined);
    assert!(said.events.iter().any(|e| e.contains("bond0 and eth1")), "{:?}", said.events);
}

/// Prometheus knows a host by its address and says its name; sadf by its name.
#[test]
fn a_host_under_its_address_and_under_its_name_is_one() {
    let mut page = String::new();
    for at in 0..4 {
        page += &format!(
            "# time {}\nnode_uname_info{{instance=\"10.0.0.5:9100\",nodename=\"db1\"}} 1\nnode_network_info{{instance=\"10.0.0.5:9100\",device=\"eth0\",address=\"52:54:00:00:00:01\"}} 1\nnode_network_receive_bytes_total{{instance=\"10.0.0.5:9100\",device=\"eth0\"}} {}\n",
            1_715_072_400 + at * 20,
            u64::from(at as u32) * 200_000_000
        );
    }
    let prometheus = fed(page.as_bytes());
    assert!(prometheus.places[0].ids.contains(&"mac.525400000001".to_owned()));
    let named = table(
        "sar",
        "initiator-port",
        ("eth0", "db1", ""),
        &[("read-bytes", 1e7), ("errors", 1.0)],
    );
    let said = written(&[prometheus, named], "");
    assert_eq!((said.hops.len(), said.joined.len()), (1, 1), "{:?}", said.hops);
}

/// One host as its exporter, its agent of SNMP, its own counters and iostat count it, under three names and none.
fn one_host(exporter: &str, agent: &str, shared: &str) -> [Feed; 4] {
    let (mut page, mut walk, mut own, mut iostat) =
        (String::new(), String::new(), String::new(), String::new());
    iostat += &format!("Linux 5.15.0 ({agent}) \t2024-05-07 \t_x86_64_\t(2 CPU)\n\n");
    for at in 0..7_u64 {
        let (time, n) = (1_715_072_400 + at * 20, at * 20);
        page += &format!(
            "# time {time}\nnode_uname_info{{nodename=\"{exporter}\"}} 1\nnode_network_info{{device=\"eth0\",address=\"{shared}\"}} 1\nnode_network_receive_bytes_total{{device=\"eth0\"}} {}\nnode_network_transmit_bytes_total{{device=\"eth0\"}} {}\nnode_disk_reads_completed_total{{device=\"sda\"}} {}\nnode_disk_read_bytes_total{{device=\"sda\"}} {}\n",
            n * 1_000_000,
            n * 200_000,
            n * 100,
            n * 819_200
        );
        walk += &format!(
            "Tue May 7 09:{:02}:{:02} UTC 2024\nSNMPv2-MIB::sysName.0 = STRING: {agent}\nIF-MIB::ifDescr.2 = STRING: net1\nIF-MIB::ifPhysAddress.2 = STRING: {shared}\nIF-MIB::ifHCInOctets.2 = Counter64: {}\nIF-MIB::ifHCOutOctets.2 = Counter64: {}\nIF-MIB::ifInErrors.2 = Counter32: {n}\n",
            n / 60,
            n % 60,
            n * 1_000_000,
            n * 200_000
        );
        own += &format!(
            "# time {time}\n   8       0 sda {} 0 {} 0 0 0 0 0 0 {} 0\n/sys/class/net/eth0/address:{shared}\n",
            5 + n * 100,
            n * 1600,
            n * 500
        );
        iostat += &format!(
            "2024-05-07 09:{:02}:{:02}\nDevice r/s rkB/s r_await w/s wkB/s w_await %util\nsda 100.00 800.00 5.00 0.00 0.00 0.00 50.00\n\n",
            n / 60,
            n % 60
        );
    }
    [page, walk, own, iostat].map(|text| {
        let mut feed = fed(text.as_bytes());
        feed.name = format!("{:?}.txt", feed.format);
        feed
    })
}

#[test]
fn a_host_that_files_count_under_several_names_is_one_and_never_summed_twice() {
    let mut feeds = one_host("db1", "db1.example.org", "52:54:00:00:00:01");
    import::monitor::settle(&mut feeds, &Topology::default());
    let said = written(&feeds, "");
    assert_eq!(said.hops, ["eth0", "sda"], "{:?}", said.events);
    // 120 s of 100 reads and 1 MB a second, read by the host, whichever way the switch's tables look.
    let counters = said.record.counters(Some(0)).unwrap();
    let sum =
        |id| counters.iter().filter(|c| c.kind.id() == Some(id)).map(|c| c.value).sum::<f64>();
    assert!((sum(CounterId::ReadOps) - 12_000.0).abs() < 1.0, "{}", sum(CounterId::ReadOps));
    let bytes = 120.0 * (1e6 + 819_200.0);
    assert!((sum(CounterId::ReadBytes) / bytes - 1.0).abs() < 1e-6);
    assert!(!said.events.iter().any(|e| e.contains("conflict")), "{:?}", said.events);
    // Which file each counter is taken from.
    let facts = said.record.facts();
    let from = |subject: &str, file: MonitorFormat| {
        let name = &feeds.iter().find(|feed| feed.format == file).unwrap().name;
        let key = format!("counters-from/{name}");
        facts.iter().find(|f| f.subject == subject && f.key == key).map(|f| f.value.clone())
    };
    assert!(from("eth0", MonitorFormat::SnmpWalk).is_some_and(|ids| ids.contains("errors")));
}

#[test]
fn hosts_of_like_names_are_asked_about_and_the_user_joins_them() {
    // The agent of another machine: nothing is shared but a name's first part.
    let [page, _, mut own, iostat] = one_host("db1", "db1.example.org", "52:54:00:00:00:01");
    "own.txt".clone_into(&mut own.name);
    own.places.iter_mut().for_each(|place| place.ids.clear());
    let mut feeds = [page, own, iostat];
    import::monitor::settle(&mut feeds, &Topology::default());
    let said = written(&feeds, "");
    assert_eq!(said.hops.iter().filter(|hop| hop.contains("sda")).count(), 3, "{:?}", said.hops);
    let asked = said.events.iter().filter(|e| e.starts_with("perhaps-one-host")).count();
    assert_eq!(asked, 3, "{:?}", said.events);
    let text = "[[device]]\nnames = [\"db1\", \"db1.example.org\", \"own.txt\"]\n";
    let known = topology(text, &|_: &str| Err(String::new())).unwrap();
    import::monitor::settle(&mut feeds, &known);
    let said = written(&feeds, text);
    assert_eq!(said.hops.iter().filter(|hop| hop.contains("sda")).count(), 1, "{:?}", said.hops);
    assert!(!said.events.iter().any(|e| e.starts_with("perhaps")), "{:?}", said.events);
}
