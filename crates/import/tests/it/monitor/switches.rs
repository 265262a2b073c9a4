//! Switches, SNMP, Prometheus, results and mapped CSV: counters that wrap and are reset, rounding, maps.

use super::{MS, cut_anywhere, fed, figure, near, options};
use import::monitor::{Detected, Flow, Leg, Map, Measure, MonitorFormat, Options, detect, read};

#[test]
fn words_of_32_bits_count_only_where_they_cannot_have_wrapped() {
    let shot = |at: &str, tx: u64, credit: u64| {
        format!(
            "{at}\nsw1:admin> portstatsshow 4\nstat_wtx            {tx}   4-byte words transmitted\ntim_txcrd_z         {credit}  Time TX Credit Zero (2.5Us ticks)\ner_crc              0           Frames with CRC errors\n\n"
        )
    };
    let text = |seconds: u32, from: u64, to: u64| {
        shot("2024-05-07 09:00:00", from, 0)
            + &shot(&format!("2024-05-07 09:00:{seconds:02}"), to, 400_000)
    };
    // One second: 2^32 words are more than any port sends in it.
    let feed = fed(text(1, 4_294_967_000, 1_000_000).as_bytes());
    near(figure(&feed, "port 4", Measure::Bytes(Flow::Read)), (1_000_000.0 + 296.0) * 4.0);
    near(figure(&feed, "port 4", Measure::CreditWait), 1.0);
    // Twenty seconds: it may have wrapped any number of times.
    let feed = fed(text(20, 4_294_967_000, 1_000_000).as_bytes());
    assert!(figure(&feed, "port 4", Measure::Bytes(Flow::Read)).is_nan());
    assert!(feed.notes.iter().any(|note| note.code == "counter-reset"));
}

#[test]
fn counters_of_64_bits_come_in_halves() {
    let shot = |at: &str, low: u64| {
        format!(
            "{at}\nsw1:admin> portstats64show 7\nstat64_wrx      1           top_int : 4-byte words received\n                {low}   bottom_int : 4-byte words received\n\n"
        )
    };
    let text = shot("2024-05-07 09:00:00", 100) + &shot("2024-05-07 09:01:00", 60_000_100);
    near(figure(&fed(text.as_bytes()), "port 7", Measure::Bytes(Flow::Write)), 4e6);
    cut_anywhere(text.as_bytes(), MonitorFormat::Brocade);
}

#[test]
fn rates_of_portperfshow_are_of_their_ports() {
    let text = "sw1:admin> portperfshow\n  0      1      2      Total\n========================\n302.2k 1.7m   0      2.0m\n  0      1      2      Total\n302.2k 1.7m   0      2.0m\n";
    let feed = fed(text.as_bytes());
    near(figure(&feed, "port 1", Measure::Bytes(Flow::Any)), 1.7e6);
    assert_eq!(feed.places.len(), 3, "the total is no port");
}

#[test]
fn mds_counts_bytes_and_credit_by_differences() {
    let shot = |at: &str, bytes: u64, wait: u64| {
        format!(
            "{at}\nfc1/1\n    5 minutes input rate 191985848 bits/sec, 23998231 bytes/sec, 17284 frames/sec\n    71000 frames input, {bytes} bytes\n      0 discards, 0 errors\n    9 frames output, 500 bytes\n    {wait} 2.5us TxWait due to lack of transmit credits\n\n"
        )
    };
    let text =
        shot("2024-05-07 09:00:00", 1000, 0) + &shot("2024-05-07 09:00:10", 5_000_001_000, 800_000);
    let feed = fed(text.as_bytes());
    near(figure(&feed, "fc1/1", Measure::Bytes(Flow::Write)), 5e8);
    near(figure(&feed, "fc1/1", Measure::CreditWait), 0.2);
    cut_anywhere(text.as_bytes(), MonitorFormat::Mds);
}

#[test]
fn walks_are_read_by_name_and_by_number() {
    let walk = |ticks: u32, bytes: u64| {
        format!(
            "SNMPv2-MIB::sysUpTime.0 = Timeticks: ({ticks}) 0:00:01.00\nSNMPv2-MIB::sysName.0 = STRING: sw1\nIF-MIB::ifName.3 = STRING: \"fc1/3\"\nIF-MIB::ifHCOutOctets.3 = Counter64: {bytes}\nIF-MIB::ifHighSpeed.3 = Gauge32: 8000\n"
        )
    };
    let text = walk(100, 18_446_744_073_000_000_000) + &walk(1100, 18_446_744_073_500_000_000);
    let feed = fed(text.as_bytes());
    near(figure(&feed, "fc1/3", Measure::Bytes(Flow::Read)), 5e7);
    near(figure(&feed, "fc1/3", Measure::Speed), 1e9);
    let numbers = text
        .replace("SNMPv2-MIB::sysUpTime", ".1.3.6.1.2.1.1.3")
        .replace("SNMPv2-MIB::sysName", ".1.3.6.1.2.1.1.5")
        .replace("IF-MIB::ifName", ".1.3.6.1.2.1.31.1.1.1.1")
        .replace("IF-MIB::ifHCOutOctets", ".1.3.6.1.2.1.31.1.1.1.10")
        .replace("IF-MIB::ifHighSpeed", ".1.3.6.1.2.1.31.1.1.1.15");
    near(figure(&fed(numbers.as_bytes()), "fc1/3", Measure::Bytes(Flow::Read)), 5e7);
    let fc = |ticks: u32, hex: &str| {
        format!("1.3.6.1.2.1.1.3.0|Timeticks|{ticks}\n1.3.6.1.3.94.4.5.1.7.1.2|Hex-STRING|{hex}\n")
    };
    let text = fc(0, "00 00 00 00 00 00 00 00") + &fc(1000, "00 00 00 00 05 F5 E1 00");
    near(figure(&fed(text.as_bytes()), "port 1.2", Measure::Bytes(Flow::Write)), 1e7);
}

#[test]
fn a_walk_of_a_host_is_no_switchs() {
    let walk = |services: u32, at: u64| {
        format!(
            "SNMPv2-MIB::sysUpTime.0 = Timeticks: ({}) 0:00:01.00\nSNMPv2-MIB::sysName.0 = STRING: db1\nSNMPv2-MIB::sysServices.0 = INTEGER: {services}\nIF-MIB::ifDescr.1 = STRING: lo\nIF-MIB::ifHCInOctets.1 = Counter64: {at}\nIF-MIB::ifDescr.2 = STRING: eth0\nIF-MIB::ifPhysAddress.2 = STRING: 0:c:29:3:4:5\nIF-MIB::ifHCInOctets.2 = Counter64: {}\nIF-MIB::ifHCOutOctets.2 = Counter64: {}\n",
            at * 1000,
            at * 1_000_000_000,
            at * 10_000_000
        )
    };
    let of = |services: u32, more: &str| {
        let walks = walk(services, 1) + more + &walk(services, 2) + more;
        let feed = fed(walks.as_bytes());
        let at = feed.places.iter().position(|place| place.name == "eth0").unwrap();
        (feed.places[at].kind, figure(&feed, "eth0", Measure::Bytes(Flow::Read)), feed.places.len())
    };
    // Applications and end-to-end transport, as net-snmp says; what it receives is read.
    assert_eq!(of(72, ""), (record::HopKind::InitiatorPort, 1e8, 1));
    for bridge in [2, 6, 79] {
        assert_eq!(of(bridge, ""), (record::HopKind::SwitchPort, 1e6, 1), "{bridge}");
    }
    // Agents are set to say 79 on hosts as well: what else they have tells.
    for computer in [
        "HOST-RESOURCES-MIB::hrSystemProcesses.0 = Gauge32: 211\n",
        "UCD-SNMP-MIB::memTotalReal.0 = INTEGER: 16313072 kB\n",
        "SNMPv2-MIB::sysObjectID.0 = OID: NET-SNMP-MIB::netSnmpAgentOIDs.10\n",
    ] {
        assert_eq!(of(79, computer), (record::HopKind::InitiatorPort, 1e8, 1), "{computer}");
        let bridge = format!("{computer}BRIDGE-MIB::dot1dBaseNumPorts.0 = INTEGER: 52 ports\n");
        assert_eq!(of(79, &bridge), (record::HopKind::SwitchPort, 1e6, 1), "{bridge}");
        assert_eq!(of(6, computer), (record::HopKind::SwitchPort, 1e6, 1), "{computer}");
    }
}

#[test]
fn ports_of_fcmgmt_have_their_wwn_and_are_counted_once() {
    let walk = |at: u64, both: bool| {
        let interface = format!(
            "IF-MIB::ifName.9 = STRING: fc1/2\nIF-MIB::ifPhysAddress.9 = STRING: 20:1:0:d:ec:2d:1a:40\nIF-MIB::ifHCOutOctets.9 = Counter64: {}\n",
            at * 100_000_000
        );
        format!(
            "1.3.6.1.2.1.1.3.0|Timeticks|{}\n1.3.6.1.3.94.1.10.1.10.1.2|Hex-STRING|20 01 00 0D EC 2D 1A 40\n1.3.6.1.3.94.1.10.1.17.1.2|STRING|\"slot0 port2\"\n1.3.6.1.3.94.1.10.1.10.1.3|Hex-STRING|00 00 00 00 00 00 00 00\n1.3.6.1.3.94.4.5.1.6.1.2|Hex-STRING|{}\n1.3.6.1.3.94.4.5.1.6.1.3|Hex-STRING|{}\n{}",
            at * 100,
            bytes(at * 100_000_000),
            bytes(at),
            if both { &interface } else { "" }
        )
    };
    let feed = fed((walk(1, false) + &walk(2, false)).as_bytes());
    near(figure(&feed, "slot0 port2", Measure::Bytes(Flow::Read)), 1e8);
    let ids: Vec<&[String]> = feed.places.iter().map(|place| &place.ids[..]).collect();
    assert_eq!(ids, [&["wwn.2001000dec2d1a40".to_owned()][..], &[]]);
    let feed = fed((walk(1, true) + &walk(2, true)).as_bytes());
    near(figure(&feed, "fc1/2", Measure::Bytes(Flow::Read)), 1e8);
    let names: Vec<&str> = feed.places.iter().map(|place| place.name.as_str()).collect();
    assert_eq!(names, ["port 1.3", "fc1/2"], "and none that is the same port by another name");
}

/// A number as 8 bytes in hexadecimal.
fn bytes(number: u64) -> String {
    number.to_be_bytes().map(|byte| format!("{byte:02X}")).join(" ")
}

#[test]
fn exporters_are_read_from_pages_and_from_queries() {
    let page = |at: u32, n: f64| {
        format!(
            "# time {at}\n# TYPE node_disk_reads_completed_total counter\nnode_disk_reads_completed_total{{device=\"sda\"}} {}\nnode_disk_read_time_seconds_total{{device=\"sda\"}} {}\nnode_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {}\nnode_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} 5\n",
            1000.0 * n,
            n,
            5.0 * n
        )
    };
    let text = page(1_700_000_000, 1.0) + &page(1_700_000_010, 2.0);
    let feed = fed(text.as_bytes());
    near(figure(&feed, "sda", Measure::Ops(Flow::Read)), 100.0);
    near(figure(&feed, "sda", Measure::Time(Leg::All, Flow::Read)), 1.0 * MS);
    near(figure(&feed, "host.cpu", Measure::Cpu), 0.5);
    let query = r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"node_disk_reads_completed_total","device":"sda","instance":"db1:9100"},"values":[[1700000000,"1000"],[1700000010,"2000"]]}]}}"#;
    near(figure(&fed(query.as_bytes()), "sda", Measure::Ops(Flow::Read)), 100.0);
    let rate = query.replace("\"__name__\":\"node_disk_reads_completed_total\",", "");
    let error = read("f", MonitorFormat::Prometheus, rate.as_bytes(), &options()).unwrap_err();
    assert!(error.text.contains("raw counters"), "{error}");
}

#[test]
fn exports_of_arrays_are_read_by_their_maps() {
    let nar = "Object Name,Poll Time,Utilization (%),Queue Length,Response Time (ms),Total Throughput (IO/s)\nBus 0 Disk 1,05/13/2024 09:00:00,80.0,2.0,8.0,250.0\nBus 0 Disk 1,05/13/2024 09:05:00,80.0,2.0,8.0,250.0\n";
    let feed = fed(nar.as_bytes());
    near(figure(&feed, "Bus 0 Disk 1", Measure::Busy), 0.8);
    near(figure(&feed, "Bus 0 Disk 1", Measure::Time(Leg::All, Flow::Any)), 8.0 * MS);
    assert_eq!(feed.rows[0].seconds(), 300.0);
    let pure = "Name,Time,B/s (read),B/s (write),op/s (read),op/s (write),us/op (read),us/op (write)\nvol1,2023-01-21 22:20:02 +03,86.04M,568.49M,3.42K,5K,688,234\nvol1,2023-01-21 22:20:32 +03,86.04M,568.49M,3.42K,5K,688,234\n";
    let feed = fed(pure.as_bytes());
    near(figure(&feed, "vol1", Measure::Ops(Flow::Read)), 3420.0);
    near(figure(&feed, "vol1", Measure::Time(Leg::All, Flow::Write)), 0.234 * MS);
    // ONTAP's averages are sums: their difference over that of their operations; a decrease is nothing.
    let ontap = "timestamp,instance_name,instance_uuid,read_ops,avg_read_latency\n2024-05-07 09:00:00,v1,u,1000,1000000us\n2024-05-07 09:00:10,v1,u,2000,3000000us\n2024-05-07 09:00:20,v1,u,10,500us\n";
    let feed = fed(ontap.as_bytes());
    near(figure(&feed, "v1", Measure::Time(Leg::All, Flow::Read)), 2.0 * MS);
    near(figure(&feed, "v1", Measure::Ops(Flow::Read)), 100.0);
    assert!(feed.notes.iter().any(|note| note.code == "counter-reset"));
    cut_anywhere(nar.as_bytes(), MonitorFormat::Mapped);
}

#[test]
fn a_map_of_the_user_names_columns_and_its_mistakes_name_keys() {
    let map = "kind = \"controller\"\ntime = \"T\"\nplace = \"Who\"\nzone = \"Europe/Berlin\"\n[column]\n\"Load\" = { measure = \"busy\", unit = \"%\" }\n";
    let options = Options { maps: vec![Map::parse("mine", map).unwrap()], ..Options::default() };
    let text = "T;Who;Load\n07.05.2024 11:00:00;A;33,5\n07.05.2024 11:01:00;A;33,5\n";
    let feed = read("f", MonitorFormat::Mapped, text.as_bytes(), &options).unwrap();
    near(figure(&feed, "A", Measure::Busy), 0.335);
    assert_eq!(feed.rows[1].to, 1_715_072_460_000_000_000);
    for (wrong, what) in [
        (map.replace("busy", "bussy"), "\"bussy\" is not known"),
        (map.replace("unit = \"%\"", "unit = \"percent\""), "\"percent\" is not known"),
        (map.replace("zone", "zones"), "unknown key `zones`"),
        (map.replace("controller", "control"), "no kind of hop"),
        (map.replace("time = \"T\"\n", ""), "which column is the `time`"),
    ] {
        let error = Map::parse("mine", &wrong).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn results_of_generators_are_means_over_their_runs() {
    let fio = r#"note
{"fio version":"fio-3.33","timestamp":1700000010,"jobs":[{"jobname":"a","eta":5,"read":{"total_ios":1,"runtime":1000}}]}
{"fio version":"fio-3.33","timestamp_ms":1700000010000,"jobs":[{"jobname":"a","eta":0,"read":{"total_ios":10000,"io_bytes":40960000,"runtime":10000,"lat_ns":{"mean":2000000.0}},"write":{"total_ios":0,"io_bytes":0,"runtime":0},"usr_cpu":1.0,"sys_cpu":2.0}],"disk_util":[{"name":"sda","read_ios":9000,"write_ios":0,"read_ticks":18000,"in_queue":18000,"util":99.0}]}"#;
    let feed = fed(fio.as_bytes());
    assert_eq!(feed.rows.len(), 1, "the state while it ran is no result");
    near(figure(&feed, "a", Measure::Ops(Flow::Read)), 1000.0);
    near(figure(&feed, "a", Measure::Time(Leg::All, Flow::Read)), 2.0 * MS);
    near(figure(&feed, "sda", Measure::InFlight), 1.8);
    let iperf = r#"{"start":{"timestamp":{"timesecs":1700000000},"connected":[{"local_host":"a","remote_host":"b"}],"test_start":{"reverse":0}},"intervals":[{"sum":{"start":0,"end":1,"bytes":5,"omitted":true}},{"sum":{"start":0,"end":1,"bytes":1000000,"omitted":false,"retransmits":3}}],"end":{"sum_sent":{"bytes":1000000},"sum_received":{"bytes":900000}}}"#;
    let feed = fed(iperf.as_bytes());
    assert_eq!(feed.rows.len(), 1, "omitted intervals are left out");
    near(figure(&feed, "a-b", Measure::Bytes(Flow::Write)), 900_000.0);
    cut_anywhere(iperf.as_bytes(), MonitorFormat::Iperf3);
}

/// Three looks at ports, as a session of a terminal logs them.
fn session(of: impl Fn(u64) -> String) -> String {
    (1..=3)
        .map(|at| format!("SW1:FID128:admin> date\nTue Nov 24 10:0{at}:00 UTC 2026\n{}", of(at)))
        .collect()
}

#[test]
fn sessions_of_brocade_are_read_with_all_that_stands_in_them() {
    // All counters of a port, each port with a date of its own, halves of counters that are not used between.
    let port = |at: u64, port: &str, second: u64| {
        let words = 100_000_000_000 + at * 3_000_000_000;
        format!(
            "SW1:FID128:admin> date\nTue Nov 24 10:0{at}:0{second} CET 2026\nSW1:FID128:admin> portstats64show {port}\n\
             stat64_wtx              {}           top_int : 4-byte words transmitted\n                        {}  bottom_int : 4-byte words transmitted\n\
             stat64_ftx              0           top_int : Frames transmitted\n                        1000000000  bottom_int : Frames transmitted\n\
             tim64_txcrd_z           0           top_int : Time TX Credit Zero (2.5Us ticks)\n                        {}  bottom_int : Time TX Credit Zero (2.5Us ticks)\n\
             tim64_txcrd_z_vc  0- 3:  0              0              0              7\n\
             phy_stats_clear_ts      10-05-2021 UTC Tue 15:02:18     Timestamp of phy_port stats clear\n\n",
            words >> 32,
            words & 0xffff_ffff,
            at * 12_000_000,
        )
    };
    let text: String = (1..=3).flat_map(|at| [port(at, "1/3", 1), port(at, "1/4", 3)]).collect();
    let feed = fed(text.as_bytes());
    assert_eq!(feed.rows.len(), 2, "ports that are looked at one after the other are one look");
    for port in ["port 1/3", "port 1/4"] {
        near(figure(&feed, port, Measure::Bytes(Flow::Read)), 2e8);
        near(figure(&feed, port, Measure::CreditWait), 0.5);
    }
    assert_eq!(feed.places[0].device, "SW1");
    // Errors with the table's head at each look; a rounded number says no difference.
    let errors = |at: u64| {
        format!(
            "SW1:FID128:admin> porterrshow\nCURRENT CONTEXT -- 2 , 128\n          frames      enc    crc    crc    too    too    bad    enc   disc   link   loss   loss   frjt   fbsy  c3timeout    pcs    uncor\n       tx     rx      in    err    g_eof  shrt   long   eof     out   c3    fail    sync   sig                  tx    rx     err    err\n  0:    1.1g   2.1g   0      {}      0      0      0      0      0      {}      0      0      1      0      0      0      0      0      0\n  1:  933.1m 302.2k   0      1.2k   0      0      0      0      5      0      0      0      1      0      0      0      0      0      0\n",
            at * 60,
            at * 120
        )
    };
    let feed = fed(session(errors).as_bytes());
    near(figure(&feed, "port 0", Measure::Errors), 1.0);
    near(figure(&feed, "port 0", Measure::Discards), 2.0);
    assert!(feed.notes.iter().any(|note| note.code == "rounded"));
    // The table of old releases lacks a column.
    let old = |at: u64| {
        format!(
            "SW1:FID128:admin> porterrshow\n        frames  enc  crc  too  too  bad  enc disc link loss loss frjt fbsy\n       tx   rx   in  err shrt long  eof  out   c3 fail sync  sig\n     =====\n  0: 665k 7.0k    0    0    0    0    0    6  {}    0    1    2    0    0\n",
            at * 60
        )
    };
    near(figure(&fed(session(old).as_bytes()), "port 0", Measure::Discards), 1.0);
    cut_anywhere(session(old).as_bytes(), MonitorFormat::Brocade);
}

#[test]
fn rates_of_one_moment_are_of_one_interval() {
    let look = |second: u32, port: u32, rate: &str| {
        format!(
            "2024-05-07 09:00:{second:02}\nsw:admin> portperfshow {port}\n     {port}\n  {rate}\n"
        )
    };
    let looks = [(0, "1.0k"), (0, "2.0k"), (5, "3.0k"), (4, "9.0k")];
    let text = looks.map(|(second, rate)| look(second, 6, rate)).concat();
    let feed = fed(text.as_bytes());
    assert!(feed.notes.iter().any(|note| note.text.contains("time goes back 1 times")));
    let spans: Vec<i64> = feed.rows.iter().map(|row| (row.to - row.from) / 1_000_000_000).collect();
    assert_eq!(spans, [5, 5]);
    let column = &feed.columns[0];
    assert_eq!([column.at(0), column.at(1)], [Some(2e3), Some(3e3)]);
}

#[test]
fn rates_of_portperfshow_are_read_by_slot_by_direction_and_of_one_port() {
    let slots = "sw:admin> portperfshow\n          0      1      2\n   slot 1:  0   43.8m  1.0k\n          0      1      2\n   slot 2:  5.0m   0   0   48.8m\n";
    let feed = fed(slots.as_bytes());
    near(figure(&feed, "port 1/1", Measure::Bytes(Flow::Any)), 43.8e6);
    near(figure(&feed, "port 2/0", Measure::Bytes(Flow::Any)), 5e6);
    assert_eq!(feed.places.len(), 6, "the sum of all is no port");
    let sides = "sw:admin> portperfshow -tx -rx\n        0      1\n==========\nTX    302.2k  1.7m\nRX    1.2m  1.7m\n\n        0      1\n==========\nTX    302.2k  1.7m\nRX    1.2m  1.7m\n";
    let feed = fed(sides.as_bytes());
    assert_eq!(feed.rows.len(), 2);
    near(figure(&feed, "port 0", Measure::Bytes(Flow::Read)), 302_200.0);
    near(figure(&feed, "port 0", Measure::Bytes(Flow::Write)), 1.2e6);
    let one = "sw:admin> portperfshow 6\n     6\n  Bps\n  2.1g\n  2.0g\n";
    near(figure(&fed(one.as_bytes()), "port 6", Measure::Bytes(Flow::Any)), 2.05e9);
}

#[test]
fn interfaces_of_mds_are_told_apart_and_described() {
    let look = |at: u64| {
        format!(
            "mds1# show clock\n10:0{at}:00.123 UTC Tue Nov 24 2026\nmds1# show interface\nfc1/1 is trunking\n    Port WWN is 20:01:00:0d:ec:2d:1a:40\n    Speed is 16 Gbps\n    5 minutes input rate 191985848 bits/sec, 23998231 bytes/sec, 11642 frames/sec\n      {} frames input, {} bytes\n        0 discards, 0 errors\n        {} invalid CRC/FCS, 0 unknown class\n      0 input OLS, 0 LRR, 0 NOS, 0 loop inits\n    Interface last changed at Tue Nov 24 09:00:00 2026\n\nmgmt0 is up\n    12345 packets input, {} bytes\n\nport-channel 10 is trunking\n    {} frames input, {} bytes\n",
            at * 1000,
            at * 12_000_000_000,
            at * 60,
            at * 777,
            at * 1000,
            at * 12_000_000_000
        )
    };
    let text: String = (1..=3).map(look).collect();
    let feed = fed(text.as_bytes());
    near(figure(&feed, "fc1/1", Measure::Bytes(Flow::Write)), 2e8);
    near(figure(&feed, "fc1/1", Measure::Errors), 1.0);
    near(figure(&feed, "fc1/1", Measure::Speed), 1.7e9);
    assert_eq!(feed.places[0].ids, ["wwn.2001000dec2d1a40"]);
    assert_eq!((feed.places[0].device.as_str(), feed.places.len()), ("mds1", 2));
    assert!(feed.places[1].within, "a port channel is made of ports");
}

/// How a program prints an object of this name, number, type and value.
type Form<'a> = dyn Fn(&str, &str, &str, String) -> String + 'a;

#[test]
fn walks_are_read_in_each_form_of_snmpwalk() {
    let walk = |at: u64, line: &Form| {
        [
            line("ifName", "1.3.6.1.2.1.31.1.1.1.1", "STRING", "port1".to_owned()),
            line("ifPhysAddress", "1.3.6.1.2.1.2.2.1.6", "STRING", "0:c:29:3:4:5".to_owned()),
            line(
                "ifHCInOctets",
                "1.3.6.1.2.1.31.1.1.1.6",
                "Counter64",
                (at * 6_000_000_000).to_string(),
            ),
            line("ifHighSpeed", "1.3.6.1.2.1.31.1.1.1.15", "Gauge32", "8000".to_owned()),
        ]
        .iter()
        .fold(format!("Tue Nov 24 10:0{at}:00 UTC 2026\n"), |text, line| text + line + "\n")
    };
    let full = ".iso.org.dod.internet.mgmt.mib-2.ifMIB.ifMIBObjects.ifXTable.ifXEntry";
    let forms: [&Form; 6] = [
        &|_, oid, kind, value| format!(".{oid}.1 = {kind}: {value}"),
        &|_, oid, kind, value| format!("iso.{}.1 = {kind}: {value}", &oid[2..]),
        &|name, _, kind, value| format!("{full}.{name}.1 = {kind}: {value}"),
        &|name, _, _, value| format!("IF-MIB::{name}.1 = {value}"),
        &|name, _, _, value| format!("{name}.1 = {value}"),
        &|name, _, _, value| format!("IF-MIB::{name}.1 {value}"),
    ];
    for (nth, form) in forms.iter().enumerate() {
        let text = walk(1, form) + &walk(2, form);
        let feed = fed(text.as_bytes());
        near(figure(&feed, "port1", Measure::Bytes(Flow::Write)), 1e8);
        near(figure(&feed, "port1", Measure::Speed), 1e9);
        assert_eq!(feed.places[0].ids, ["mac.000c29030405"], "form {nth}");
    }
}

#[test]
fn pages_of_exporters_are_dated_by_their_own_clock_and_name_their_node() {
    let page = |at: u64| {
        format!(
            "node_disk_reads_completed_total{{device=\"sda\"}} {}\nnode_uname_info{{nodename=\"db1\",sysname=\"Linux\"}} 1\nnode_time_seconds 1.70000{at:03}e+09\n",
            at * 1000
        )
    };
    let feed = fed((page(0) + &page(10) + &page(20)).as_bytes());
    near(figure(&feed, "sda", Measure::Ops(Flow::Read)), 100.0);
    assert_eq!((feed.rows.len(), feed.places[0].device.as_str()), (2, "db1"));
    // Names before version 0.16, in milliseconds; and samples with times of their own.
    let old = |at: u64| {
        format!(
            "# time {}\nnode_disk_reads_completed{{device=\"sda\"}} {}\nnode_disk_read_time_ms{{device=\"sda\"}} {}\n",
            1_700_000_000 + at,
            at * 100,
            at * 200
        )
    };
    let feed = fed((old(0) + &old(10)).as_bytes());
    near(figure(&feed, "sda", Measure::Time(Leg::All, Flow::Read)), 2.0 * MS);
    let own: String = (0..3)
        .map(|at| {
            format!(
                "node_disk_reads_completed_total{{device=\"sda\"}} {} {}.5\n",
                at * 100,
                1_700_000_000 + at * 10
            )
        })
        .collect();
    near(figure(&fed((own + "# EOF\n").as_bytes()), "sda", Measure::Ops(Flow::Read)), 10.0);
    let error = r#"{"status":"error","errorType":"bad_data","error":"invalid parameter"}"#;
    let error = read("f", MonitorFormat::Prometheus, error.as_bytes(), &options()).unwrap_err();
    assert!(error.text.contains("invalid parameter"), "{error}");
}

#[test]
fn tables_of_text_are_read_by_maps_and_kinds_by_names() {
    let pure = "Time                     B/s (read)  B/s (write)  op/s (read)  op/s (write)  us/op (read)  us/op (write)\n2023-01-21 22:20:02 +03  86.04M      568.49M      3.42K        5.10K         688           234\n2023-01-21 22:20:32 +03  86.04M      568.49M      3.42K        5.10K         688           234\n";
    let feed = fed(pure.as_bytes());
    near(figure(&feed, "all", Measure::Ops(Flow::Read)), 3420.0);
    near(figure(&feed, "all", Measure::Time(Leg::All, Flow::Write)), 0.234 * MS);
    let nar = "Object Name,Poll Time,Utilization (%),Read Throughput (IO/s)\nSP A,05/13/2024 09:00:00,45,3000\nLUN 12,05/13/2024 09:00:00,,3000\nBus 0 Disk 1,05/13/2024 09:00:00,80,750\nSP A,05/13/2024 09:05:00,45,3000\nLUN 12,05/13/2024 09:05:00,,3000\nBus 0 Disk 1,05/13/2024 09:05:00,80,750\n";
    let feed = fed(nar.as_bytes());
    let of: Vec<(&str, bool)> = feed.places.iter().map(|p| (p.kind.word(), p.within)).collect();
    assert_eq!(of, [("controller", false), ("volume", false), ("disks", true)]);
}

#[test]
fn counters_in_hexadecimal_are_read_by_their_type() {
    let port = "1.3.6.1.3.94.4.5.1";
    let index = "16.0.0.5.30.1.2.3.4.0.0.0.0.0.0.0.0.1";
    let walk = |hundredths: u32, bytes: &str| {
        format!(
            "1.3.6.1.2.1.1.3.0|67|{hundredths}\n1.3.6.1.2.1.1.5.0|4|sw1\n{port}.6.{index}|4x|{bytes}\n{port}.7.{index}|4x|00000000000000ff\n"
        )
    };
    // 65,536 and 131,072 bytes in digits that could be decimal.
    let text = walk(1000, "0000000000010000") + &walk(2000, "0000000000020000");
    let feed = fed(text.as_bytes());
    assert_eq!((feed.format, feed.places.len()), (MonitorFormat::SnmpWalk, 1));
    let name = feed.places[0].name.clone();
    let both = [Flow::Read, Flow::Write].map(|flow| figure(&feed, &name, Measure::Bytes(flow)));
    near(both[0] + both[1], 65_536.0 / 10.0);
}

/// Looks at two ports of a switch by several commands, whose counters are the same things.
fn by_several(commands: &[&str], named: bool) -> String {
    let look = |minute: u32| {
        let words =
            |port: u32| (1000 + minute * 10_000_000 * port, 5000 + minute * 20_000_000 * port);
        let answer = |command: &str, port: u32| {
            let (sent, received) = words(port);
            let head = match named {
                true => format!("sw1:admin> {command} {port}\n"),
                false => format!("port:  {port}\n=========\n"),
            };
            head + &match command {
                "portstats64show" => format!(
                    "stat64_wtx  0  top_int : 4-byte words transmitted\n  {sent}  bottom_int : 4-byte words transmitted\nstat64_wrx  0  top_int : 4-byte words received\n  {received}  bottom_int : 4-byte words received\n"
                ),
                _ => format!(
                    "stat_wtx  {sent}  4-byte words transmitted\nstat_wrx  {received}  4-byte words received\ntim_txcrd_z  {}  Time TX Credit Zero (2.5Us ticks)\ner_crc  {}  Frames with CRC errors\n",
                    minute * 2_400_000,
                    minute * 60
                ),
            }
        };
        let errors = |port: u32| format!(" {port}: 1 1 0 {} 0 0 0 0 0 9 0 0 0 0 0\n", minute * 600);
        let answers: String = commands
            .iter()
            .map(|command| match *command {
                "porterrshow" => format!(
                    "sw1:admin> porterrshow\n   frames enc crc crc\n{}{}",
                    errors(8),
                    errors(9)
                ),
                command => answer(command, 8) + &answer(command, 9),
            })
            .collect();
        format!("sw1:admin> date\nTue Nov 24 10:0{minute}:00 UTC 2026\n{answers}")
    };
    (0..3).map(look).collect()
}

#[test]
fn what_several_commands_count_is_counted_once_by_the_best() {
    let all = ["portstats64show", "portstatsshow", "porterrshow"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
        for named in [true, false] {
            let feed = fed(by_several(&order.map(|at| all[at]), named).as_bytes());
            assert_eq!((feed.rows.len(), feed.places.len()), (2, 2), "{order:?} {:?}", feed.places);
            // What 64 bits count cannot have wrapped: of 32 bits a minute tells nothing.
            near(
                figure(&feed, "port 8", Measure::Bytes(Flow::Read)),
                10_000_000.0 * 8.0 * 4.0 / 60.0,
            );
            near(
                figure(&feed, "port 9", Measure::Bytes(Flow::Write)),
                20_000_000.0 * 9.0 * 4.0 / 60.0,
            );
            near(figure(&feed, "port 8", Measure::CreditWait), 0.1);
            near(figure(&feed, "port 9", Measure::Errors), 1.0);
        }
    }
}

#[test]
fn an_interface_of_mds_is_counted_once_where_two_commands_do() {
    let look = |minute: u64| {
        let bytes = minute * 6_000_000_000;
        let counters = format!(
            "    480849 frames input, {bytes} bytes\n      0 discards, 0 errors, 0 CRC/FCS\n    480932 frames output, {} bytes\n",
            bytes / 2
        );
        format!(
            "sw2# show clock\n10:0{minute}:00.123 UTC Tue Nov 24 2026\nsw2# show interface\nfc1/1 is up\n    Port WWN is 20:01:00:0d:ec:3c:06:00\n    Speed is 8 Gbps\n{counters}\nsw2# show interface counters\nfc1/1\n{counters}\n"
        )
    };
    let feed = fed((0..3).map(look).collect::<String>().as_bytes());
    assert_eq!((feed.format, feed.rows.len(), feed.places.len()), (MonitorFormat::Mds, 2, 1));
    near(figure(&feed, "fc1/1", Measure::Bytes(Flow::Write)), 100e6);
    near(figure(&feed, "fc1/1", Measure::Bytes(Flow::Read)), 50e6);
    assert!(figure(&feed, "fc1/1", Measure::Speed) > 0.0);
}

#[test]
fn narrow_counters_count_where_their_port_is_too_slow_to_wrap_them() {
    let walk = |at: u64, octets: u64, speed: u64| {
        format!(
            "DISMAN-EVENT-MIB::sysUpTimeInstance = Timeticks: ({}) 0:00:01.00\nIF-MIB::ifDescr[1] = STRING: Eth1\nIF-MIB::ifSpeed[1] = Gauge32: {speed}\nIF-MIB::ifInOctets[1] = Counter32: {octets}\nIF-MIB::ifHCOutOctets[1] = Counter64: {octets}\n",
            at * 100
        )
    };
    let text = walk(0, 4_000_000_000, 100_000_000) + &walk(60, 305_032_704, 100_000_000);
    let feed = fed(text.as_bytes());
    // It has wrapped once.
    near(figure(&feed, "Eth1", Measure::Bytes(Flow::Write)), 1e7);
    near(figure(&feed, "Eth1", Measure::Speed), 12.5e6);
    // A speed of all ones says that it does not fit: such a port may have wrapped it several times.
    let text = walk(0, 1000, u64::from(u32::MAX)) + &walk(60, 600_001_000, u64::from(u32::MAX));
    let feed = fed(text.as_bytes());
    assert!(figure(&feed, "Eth1", Measure::Bytes(Flow::Write)).is_nan());
    near(figure(&feed, "Eth1", Measure::Bytes(Flow::Read)), 1e7);
}

#[test]
fn what_does_not_change_may_be_walked_once() {
    let counters = |at: u64| {
        format!(
            "SNMPv2-MIB::sysUpTime.0 = Timeticks: ({}) 0:00:01.00\nIF-MIB::ifHCInOctets.1 = Counter64: {}\n",
            at * 100,
            at * 10_000_000
        )
    };
    // A name that ends in a zero byte is printed in hexadecimal.
    let names = "SNMPv2-MIB::sysName.0 = STRING: sw1\nIF-MIB::ifDescr.1 = Hex-STRING: 45 74 68 31 00\nIF-MIB::ifHighSpeed.1 = Gauge32: 1000\n";
    for text in
        [names.to_owned() + &counters(10) + &counters(20), counters(10) + names + &counters(20)]
    {
        let feed = fed(text.as_bytes());
        near(figure(&feed, "Eth1", Measure::Bytes(Flow::Write)), 1e7);
        near(figure(&feed, "Eth1", Measure::Speed), 125e6);
        assert_eq!(feed.places.iter().map(|p| p.device.as_str()).collect::<Vec<_>>(), ["sw1"]);
    }
}

#[test]
fn one_look_alone_is_said_to_be_one() {
    let cases = [
        "DISMAN-EVENT-MIB::sysUpTimeInstance = Timeticks: (100) 0:00:01.00\nIF-MIB::ifHCInOctets.1 = Counter64: 9\n",
        "node_disk_reads_completed_total{device=\"sda\"} 9\n",
        "8 0 sda 9 0 9 9 9 0 9 9 0 9 9\n",
        "fc1/1 is up\n    9 frames input,99 bytes\n",
    ];
    for text in cases {
        let Detected::Is(format) = detect(text.as_bytes()) else { panic!("{text}") };
        let error = read("f", format, text.as_bytes(), &options()).unwrap_err();
        assert!(error.text.contains(" alone: counters that only grow need two"), "{error}");
    }
}

/// Releases write their lines differently: with and without blanks behind commas, and with labels.
#[test]
fn every_form_of_show_interface_counts_the_same() {
    let look = |minute: u32, body: &str| {
        format!(
            "sw1# show clock\n10:0{minute}:00.000 UTC Sat Jan 15 2022\nsw1# show interface\nfc1/10 is up\n{body}"
        )
    };
    let full = |n: u64| {
        format!(
            "      5 frames input,{} bytes\n        0 discards,0 errors\n      6 frames output,{} bytes\n",
            n,
            2 * n
        )
    };
    let labels = |n: u64| {
        format!(
            "  Rx 5 min rate bit/sec:    77\n    Rx total frames:   13\n    Rx total bytes:    {}\n    Tx total bytes:   {}\n    TxWait 2.5us due to lack of transmit credits:    {}\n",
            n,
            2 * n,
            n / 10_000
        )
    };
    let spaced = |n: u64| full(n).replace(',', ", ");
    for (first, second) in [
        (full(7), full(6_000_000_007)),
        (spaced(7), spaced(6_000_000_007)),
        (labels(0), labels(6_000_000_000)),
    ] {
        let text = look(0, &first) + &look(1, &second);
        let feed = fed(text.as_bytes());
        near(figure(&feed, "fc1/10", Measure::Bytes(Flow::Write)), 1e8);
        near(figure(&feed, "fc1/10", Measure::Bytes(Flow::Read)), 2e8);
    }
    let text = look(0, &labels(0)) + &look(1, &labels(6_000_000_000));
    near(figure(&fed(text.as_bytes()), "fc1/10", Measure::CreditWait), 600_000.0 * 2.5e-6 / 60.0);
}
