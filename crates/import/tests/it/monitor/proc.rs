//! Linux's own counters, as `cat` and `grep -H .` print them.

use super::{MS, cut_anywhere, fed, figure, near, options};
use import::monitor::{Flow, Leg, Measure, MonitorFormat, Options, read};

/// A look: 2,000 reads of 8 KiB a minute more each time, which took 3 ms each.
fn look(minute: u64) -> String {
    let n = 2000 * minute;
    let (sectors, ms, busy) = (n * 16, n * 3, minute * 15_000);
    format!(
        "# time {}\ncpu  {} 0 0 {} 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\ncpu1 1 0 0 1 0 0 0 0 0 0\nintr 1 2 3\nctxt 5\n\
         \x20  7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n   8       0 sda {} 5 {} {} 10 0 80 20 0 {busy} {ms} 0 0 0 0\n\
         \x20  8       1 sda1 {} 5 {} {} 10 0 80 20 0 {busy} {ms}\n\
         Inter-|   Receive                                                |  Transmit\n\
         \x20face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n\
         \x20   lo: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n  eth0: {} 1 0 0 0 0 0 0 {} 1 0 0 0 0 0 0\n\
         /sys/class/fc_host/host3/port_name:0x500143801234abcd\n/sys/class/fc_host/host3/speed:8 Gbit\n\
         /sys/class/fc_host/host3/statistics/rx_words:{:#x}\n/sys/class/fc_host/host3/statistics/tx_words:0xffffffffffffffff\n\
         /sys/block/sda/device/wwid:naa.600508b4000971fa0000a00000a20000\n/sys/class/net/eth0/address:52:54:00:00:00:01\n\
         /sys/class/net/eth0/speed:10000\n",
        1_700_000_000 + 60 * minute,
        minute * 3000,
        minute * 9000,
        n + 100,
        sectors + 900,
        ms + 7,
        n + 100,
        sectors + 900,
        ms + 7,
        minute * 600_000_000,
        minute * 60_000_000,
        minute * 600_000_000,
    )
}

#[test]
fn looks_at_proc_and_sys_are_differences() {
    let text = format!("Linux db1 6.1.0-27-amd64 #1 SMP\n{}{}{}", look(0), look(1), look(2));
    let feed = fed(text.as_bytes());
    assert_eq!(feed.format, MonitorFormat::Proc);
    assert!(feed.places.iter().all(|place| place.device == "db1"), "{:?}", feed.places);
    assert_eq!(feed.rows.len(), 2);
    near(figure(&feed, "sda", Measure::Ops(Flow::Read)), 2000.0 / 60.0);
    near(figure(&feed, "sda", Measure::Ops(Flow::Write)), 0.0);
    near(figure(&feed, "sda", Measure::Bytes(Flow::Read)), 2000.0 / 60.0 * 8192.0);
    near(figure(&feed, "sda", Measure::Time(Leg::All, Flow::Read)), 3.0 * MS);
    near(figure(&feed, "sda", Measure::Busy), 0.25);
    near(figure(&feed, "sda", Measure::InFlight), 0.1);
    near(figure(&feed, "host.cpu", Measure::Cpu), 0.25);
    near(figure(&feed, "host.cpu", Measure::Processors), 2.0);
    near(figure(&feed, "eth0", Measure::Bytes(Flow::Read)), 1e7);
    near(figure(&feed, "eth0", Measure::Bytes(Flow::Write)), 1e6);
    near(figure(&feed, "eth0", Measure::Speed), 1.25e9);
    near(figure(&feed, "host3", Measure::Bytes(Flow::Read)), 4e7);
    near(figure(&feed, "host3", Measure::Speed), 850e6);
    let named = |name: &str| feed.places.iter().find(|p| p.name == name).expect("a place");
    assert_eq!(named("host3").ids, ["wwn.500143801234abcd"]);
    assert_eq!(named("sda").ids, ["naa.600508b4000971fa0000a00000a20000"]);
    assert_eq!(named("eth0").ids, ["mac.525400000001"]);
    assert!(named("sda1").within && !named("sda").within);
    // A counter that the driver does not have, a disk never used and a loopback are nowhere.
    let host3 = feed.places.iter().position(|p| p.name == "host3").expect("a port");
    assert!(feed.find(host3, Measure::Bytes(Flow::Write)).is_none());
    assert!(!feed.places.iter().any(|p| p.name == "lo" || p.name == "loop0"));
    cut_anywhere(look(0).as_bytes(), MonitorFormat::Proc);
    cut_anywhere(text.as_bytes(), MonitorFormat::Proc);
}

fn disk(at: u64, reads: u64, ms: u64) -> String {
    format!("# time {at}\n   8       0 sda {reads} 0 {} {ms} 0 0 0 0 0 0 {ms}\n", reads * 8)
}

#[test]
fn times_of_disks_wrap_at_32_bits_and_counters_that_fall_were_reset() {
    // A minute: 64 in flight for all of it cannot have wrapped more than once.
    let text = disk(1_700_000_000, 1_000_000, 4_294_967_000) + &disk(1_700_000_060, 1_000_100, 204);
    let feed = fed(text.as_bytes());
    near(figure(&feed, "sda", Measure::Time(Leg::All, Flow::Read)), 5.0 * MS);
    near(figure(&feed, "sda", Measure::InFlight), 0.5 / 60.0);
    // Two hours: it may have.
    let text = disk(1_700_000_000, 1_000_000, 4_294_967_000) + &disk(1_700_007_200, 1_000_100, 204);
    let feed = fed(text.as_bytes());
    near(figure(&feed, "sda", Measure::Ops(Flow::Read)), 100.0 / 7200.0);
    assert!(figure(&feed, "sda", Measure::Time(Leg::All, Flow::Read)).is_nan());
    assert!(figure(&feed, "sda", Measure::InFlight).is_nan());
    // The machine was started again: nothing is said of the interval, neither rates nor times.
    let text = disk(1_700_000_000, 1_000_000, 4_294_967_000)
        + &disk(1_700_000_060, 50, 204)
        + &disk(1_700_000_120, 650, 804);
    let feed = fed(text.as_bytes());
    assert!(feed.notes.iter().any(|note| note.code == "counter-reset"));
    let of = |measure, row| feed.find(0, measure).and_then(|column| column.at(row));
    assert_eq!(of(Measure::Ops(Flow::Read), 0), None);
    assert_eq!(of(Measure::Time(Leg::All, Flow::Read), 0), None);
    near(of(Measure::Ops(Flow::Read), 1).expect("known"), 10.0);
    near(of(Measure::Time(Leg::All, Flow::Read), 1).expect("known"), 1.0 * MS);
}

#[test]
fn looks_without_dates_need_their_interval_and_what_is_foreign_is_pointed_at() {
    let bare = |reads: u64| format!("   8       0 sda {reads} 0 8 5 0 0 0 0 0 0 5\n");
    let text = bare(100) + &bare(700);
    let error = read("f", MonitorFormat::Proc, text.as_bytes(), &options()).unwrap_err();
    assert!(error.to_string().contains("--interval"), "{error}");
    let minute = Options { interval: Some(60_000_000_000), ..options() };
    let feed = read("f", MonitorFormat::Proc, text.as_bytes(), &minute).expect("two looks");
    near(figure(&feed, "sda", Measure::Ops(Flow::Read)), 10.0);
    let foreign = disk(1_700_000_000, 100, 5) + "what is this\n";
    let error = read("f", MonitorFormat::Proc, foreign.as_bytes(), &options()).unwrap_err();
    assert!(error.line == 3 && error.to_string().contains("what is this"), "{error}");
}
