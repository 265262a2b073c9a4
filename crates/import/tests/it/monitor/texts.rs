//! iostat and sadf: one second of one disk, as every version prints it.

use super::{MS, cut_anywhere, fed, figure, near, options};
use import::monitor::{Detected, Flow, Leg, Measure, MonitorFormat, detect, read};

/// Two reports: the one since boot, and one of 100 reads a second of 8 KiB in 2 ms and 50 writes of 16 KiB in 4 ms.
fn iostat(stamps: [&str; 2], header: &str, boot: &str, row: &str) -> String {
    let cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          10.00    0.00    5.00   5.00    0.00   80.00\n";
    let banner = "Linux 6.1.0 (db1) \t10/24/2018 \t_x86_64_\t(4 CPU)\n\n";
    let report = |stamp: &str, row: &str| {
        format!("{stamp}{}{cpu}\n{header}\n{row}\n\n", if stamp.is_empty() { "" } else { "\n" })
    };
    format!("{banner}{}{}", report(stamps[0], boot), report(stamps[1], row))
}

const NEW: &str = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util";
const NEW_ROW: &str = "sda 100.00 800.00 0.00 0.00 2.00 8.00 50.00 800.00 3.00 5.66 4.00 16.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.40 37.50";
const NEW_BOOT: &str = "sda 1.00 8.00 0.00 0.00 9.00 8.00 1.00 16.00 0.00 0.00 9.00 16.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.01 1.00";

#[track_caller]
fn is_the_disk(text: &[u8]) {
    let feed = fed(text);
    assert_eq!(feed.rows.len(), 1, "the report since boot is left out");
    near(figure(&feed, "sda", Measure::Ops(Flow::Read)), 100.0);
    near(figure(&feed, "sda", Measure::Ops(Flow::Write)), 50.0);
    near(figure(&feed, "sda", Measure::Bytes(Flow::Read)), 819_200.0);
    near(figure(&feed, "sda", Measure::InFlight), 0.4);
    near(figure(&feed, "sda", Measure::Busy), 0.375);
    near(figure(&feed, "host.cpu", Measure::Cpu), 0.15);
    near(figure(&feed, "host.cpu", Measure::Processors), 4.0);
}

#[test]
fn every_version_of_iostat_shows_the_same_disk() {
    let stamps = ["10/24/2018 10:49:12 AM", "10/24/2018 10:49:13 AM"];
    is_the_disk(iostat(stamps, NEW, NEW_BOOT, NEW_ROW).as_bytes());
    // sysstat 11: sizes in sectors, both directions.
    let header = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util";
    let row = "sda 0.00 3.00 100.00 50.00 800.00 800.00 21.33 0.40 2.67 2.00 4.00 2.50 37.50";
    is_the_disk(iostat(stamps, header, row, row).as_bytes());
    // sysstat 9: sectors, one await.
    let header = "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util";
    let row = "sda 0.00 3.00 100.00 50.00 1600.00 1600.00 21.33 0.40 2.67 2.50 37.50";
    let text = iostat(stamps, header, row, row);
    is_the_disk(text.as_bytes());
    near(figure(&fed(text.as_bytes()), "sda", Measure::Time(Leg::All, Flow::Any)), 2.67 * MS);
    // `-m`, and `-h` with the device behind its figures.
    let header = "     r/s     rMB/s   r_await     w/s     wMB/s   w_await  aqu-sz  %util Device";
    let row = "100.00 0.78125 2.00 50.00 0.78125 4.00 0.40 37.50% sda";
    is_the_disk(iostat(stamps, header, row, row).as_bytes());
}

#[test]
fn every_locale_of_iostat_shows_the_same_disk() {
    for stamps in [
        ["24.10.2018 10:49:12", "24.10.2018 10:49:13"],
        ["2018-10-24T10:49:12+0200", "2018-10-24T10:49:13+0200"],
        ["2018年10月24日 10時49分12秒", "2018年10月24日 10時49分13秒"],
        ["24/10/18 22:59:59", "24/10/18 23:00:00"],
        ["10/24/2018 11:59:59 AM", "10/24/2018 12:00:00 PM"],
        ["Wed 24 Oct 2018 10:49:12 AM UTC", "Wed 24 Oct 2018 10:49:13 AM UTC"],
    ] {
        let text = iostat(stamps, NEW, NEW_BOOT, NEW_ROW);
        is_the_disk(text.as_bytes());
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        is_the_disk(&[vec![0xff, 0xfe], wide].concat());
        let (banner, rest) = text.split_once("\n\n").unwrap();
        let commas = format!(
            "{banner}\n\n{}",
            rest.replace(".00", ",00").replace(".40", ",40").replace(".50", ",50")
        );
        is_the_disk(commas.as_bytes());
    }
}

#[test]
fn without_time_stamps_the_length_is_assumed_and_said() {
    let text = iostat(["", ""], NEW, NEW_BOOT, NEW_ROW);
    is_the_disk(text.as_bytes());
    assert!(fed(text.as_bytes()).assumed.iter().any(|(what, _)| what == "interval"));
}

#[test]
fn a_wrong_rate_is_noticed() {
    let wrong = NEW_ROW.replace("50.00 800.00 3.00", "50.00 8.00 3.00");
    let feed = fed(iostat(["", ""], NEW, NEW_BOOT, &wrong).as_bytes());
    assert!(feed.notes.iter().any(|note| note.code == "identity-failed"), "{:?}", feed.notes);
    let right = fed(iostat(["", ""], NEW, NEW_BOOT, NEW_ROW).as_bytes());
    assert!(right.notes.is_empty(), "{:?}", right.notes);
}

#[test]
fn mistakes_have_a_place() {
    let text = iostat(["", ""], NEW, NEW_BOOT, NEW_ROW);
    for (from, to, line, what) in [
        ("sda 100.00", "sda 1o0.00", 13, "`1o0.00` is no number (r/s)"),
        ("sda 100.00 800.00", "sda 100.00", 13, "22 values for 23 columns"),
    ] {
        let wrong = text.replace(from, to) + "sdb\n";
        let error = read("f", MonitorFormat::Iostat, wrong.as_bytes(), &options()).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.text.contains(what), "{error}");
    }
}

#[test]
fn iostats_json_is_read_also_where_it_is_broken() {
    let report = |reads: &str| {
        format!(
            "{{\"avg-cpu\": {{\"user\": 10.00, \"nice\": 0.00, \"system\": 5.00, \"iowait\": 5.00, \"steal\": 0.00, \"idle\": 80.00}},\n\"disk\": [\n{{\"disk_device\": \"sda\", \"r/s\": {reads}, \"w/s\": 50.00, \"rkB/s\": 800.00, \"wkB/s\": 800.00, \"r_await\": 2.00, \"w_await\": 4.00, \"aqu-sz\": 0.40, \"util\": 37.50}}\n]}}"
        )
    };
    let document = |between: &str| {
        format!(
            "{{\"sysstat\": {{\"hosts\": [{{\"nodename\": \"db1\", \"number-of-cpus\": 4, \"statistics\": [{}{between}{}]}}]}}}}",
            report("1.00"),
            report("100.00")
        )
    };
    let whole = document(",\n");
    is_the_disk(whole.as_bytes());
    is_the_disk(document("\n").as_bytes());
    is_the_disk(whole.replace("100.00", "100,00").as_bytes());
    is_the_disk(whole.replace("37.50}", "37.50,}").as_bytes());
    cut_anywhere(whole.as_bytes(), MonitorFormat::IostatJson);
}

#[test]
fn sadf_shows_the_same_disk_in_json_and_in_xml() {
    let json = r#"{"sysstat": {"sysdata-version": 3.9, "hosts": [{"nodename": "db1", "number-of-cpus": 4, "statistics": [
{"timestamp": {"date": "2018-10-24", "time": "10:49:13", "utc": 1, "interval": 1},
"cpu-load": [{"cpu": "all", "user": 10.00, "nice": 0.00, "system": 5.00, "iowait": 5.00, "steal": 0.00, "idle": 80.00}, {"cpu": "0", "idle": 1.0}],
"disk": [{"disk-device": "sda", "tps": 150.00, "rkB": 800.00, "wkB": 800.00, "aqu-sz": 0.40, "await": 2.67, "util-percent": 37.50}],
"network": {"net-dev": [{"iface": "lo", "rxkB": 5.0}, {"iface": "eth0", "rxkB": 10.00, "txkB": 20.00, "ifutil-percent": 0.00}]}}]}]}}"#;
    let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<sysstat xmlns="http://pagesperso-orange.fr/sebastien.godard/sysstat"><host nodename="db1"><number-of-cpus>4</number-of-cpus><statistics>
<timestamp date="2018-10-24" time="10:49:13" utc="1" interval="1">
<cpu-load><cpu number="all" user="10.00" nice="0.00" system="5.00" iowait="5.00" steal="0.00" idle="80.00"/></cpu-load>
<disk per="second"><disk-device dev="sda" tps="150.00" rkB="800.00" wkB="800.00" aqu-sz="0.40" await="2.67" util-percent="37.50"/><disk-device dev="sdb" tps="0.00" rkB="0.00" wkB="0.00" aqu-sz="0.00" await="0.00" util-percent="0.00"/></disk>
<network per="second"><net-dev iface="eth0" rxkB="10.00" txkB="20.00" ifutil-percent="0.00"/></network>
</timestamp></statistics></host></sysstat>"#;
    for text in [json, xml] {
        let feed = fed(text.as_bytes());
        near(figure(&feed, "sda", Measure::Ops(Flow::Any)), 150.0);
        near(figure(&feed, "sda", Measure::Bytes(Flow::Write)), 819_200.0);
        near(figure(&feed, "sda", Measure::Time(Leg::All, Flow::Any)), 2.67 * MS);
        near(figure(&feed, "host.cpu", Measure::Cpu), 0.15);
        near(figure(&feed, "eth0", Measure::Bytes(Flow::Write)), 20_480.0);
        assert!(feed.is_divided(), "tps is of both directions");
        assert!((feed.rows[0].seconds() - 1.0).abs() < 1e-9);
    }
    cut_anywhere(json.as_bytes(), MonitorFormat::SadfJson);
    cut_anywhere(xml.as_bytes(), MonitorFormat::SadfXml);
}

/// Intervals of `sadf -j` that a file of any length would hold, read as they come.
#[test]
fn sadf_is_read_an_interval_at_a_time() {
    let head = "{\"sysstat\": {\"hosts\": [{\"nodename\": \"db[1]\", \"number-of-cpus\": 2, \"statistics\": [\n";
    let of = |n: usize| {
        format!(
            "{{\"timestamp\": {{\"date\": \"2024-05-07\", \"time\": \"{:02}:{:02}:{:02}\", \"utc\": 1, \"interval\": 1}},\n \"note\": \"a }} within \\\" quotes\",\n \"disk\": [{{\"disk-device\": \"sda\", \"tps\": {n}.0}}]}}",
            n / 3600,
            n / 60 % 60,
            n % 60
        )
    };
    let all: Vec<String> = (0..2000).map(of).collect();
    let whole = format!("{head}{}\n]}}]}}}}\n", all.join(",\n"));
    // Pieces of seven bytes: no interval is within one.
    let from = std::io::BufReader::with_capacity(7, whole.as_bytes());
    let feed = read("file", MonitorFormat::SadfJson, from, &options()).unwrap();
    assert_eq!((feed.rows.len(), feed.notes.len()), (2000, 0), "{:?}", feed.notes);
    assert_eq!(feed.places[0].device, "db[1]");
    near(figure(&feed, "sda", Measure::Ops(Flow::Any)), 999.5);
    // Cut off within the third interval, two whole ones are left; a comma between them is missing.
    let cut = format!("{head}{}\n{},\n{}", all[0], all[1], &all[2][..40]);
    let feed = read("file", MonitorFormat::SadfJson, cut.as_bytes(), &options()).unwrap();
    assert_eq!(feed.rows.len(), 2);
    let note = feed.notes.iter().find(|note| note.code == "json-mended").unwrap();
    assert!(note.text.contains("comma") && note.text.contains("cut off at line"), "{}", note.text);
    // A mistake within an interval has its place in the file.
    let wrong = whole.replacen("00:00:03", "0x:0y", 1);
    let error = read("file", MonitorFormat::SadfJson, wrong.as_bytes(), &options()).unwrap_err();
    assert!(error.line > 10 && error.text.contains("0x:0y"), "{error}");
}

/// The same of `sadf -x`: what an interval holds is forgotten before the next.
#[test]
fn sadf_in_xml_is_read_an_interval_at_a_time() {
    let head = "<?xml version=\"1.0\"?>\n<sysstat><host nodename=\"db1\"><number-of-cpus>2</number-of-cpus><statistics>\n";
    let of = |n: usize| {
        format!(
            "<timestamp date=\"2024-05-07\" time=\"{:02}:{:02}:{:02}\" tz=\"UTC\" interval=\"1\">\n<disk per=\"second\"><disk-device dev=\"sda\" tps=\"{n}.0\"/></disk></timestamp>",
            n / 3600,
            n / 60 % 60,
            n % 60
        )
    };
    let all: Vec<String> = (0..2000).map(of).collect();
    let whole = format!("{head}{}\n</statistics></host></sysstat>\n", all.join("\n"));
    let from = std::io::BufReader::with_capacity(7, whole.as_bytes());
    let feed = read("file", MonitorFormat::SadfXml, from, &options()).unwrap();
    assert_eq!((feed.rows.len(), feed.notes.len()), (2000, 0), "{:?}", feed.notes);
    assert_eq!(feed.places[0].device, "db1");
    near(figure(&feed, "sda", Measure::Ops(Flow::Any)), 999.5);
    // A file that never ends is read without growing: what would not fit is refused where it is.
    let endless = std::io::Read::chain(
        head.as_bytes(),
        std::io::BufReader::new(Endless::new(format!("<a x=\"{}\"/>\n", "1".repeat(100_000)))),
    );
    let error = read("file", MonitorFormat::SadfXml, std::io::BufReader::new(endless), &options());
    assert!(error.unwrap_err().text.contains("64 MiB"));
    // Cut off within the third interval.
    let cut = format!("{head}{}\n{}\n{}", all[0], all[1], &all[2][..40]);
    let feed = read("file", MonitorFormat::SadfXml, cut.as_bytes(), &options()).unwrap();
    assert_eq!(feed.rows.len(), 2);
    let note = feed.notes.iter().find(|note| note.code == "cut-off").unwrap();
    assert!(note.text.contains("line 7"), "{}", note.text);
}

/// A text that comes again and again.
struct Endless {
    text: Vec<u8>,
    at: usize,
}

impl Endless {
    fn new(text: String) -> Endless {
        Endless { text: text.into_bytes(), at: 0 }
    }
}

impl std::io::Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.text[self.at..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.at = (self.at + count) % self.text.len();
        Ok(count)
    }
}

#[test]
fn layouts_of_iostat_with_several_tables_a_report_are_one_report() {
    let pretty = |reads: &str, writes: &str| {
        format!(
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 10.00 0.00 5.00 5.00 0.00 80.00\n\n     r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz Device\n{reads} 800.00 0.00 0.00 2.00 8.00 sda\n\n     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz Device\n{writes} 800.00 3.00 5.66 4.00 16.00 sda\n\n     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz Device\n0.00 0.00 0.00 0.00 0.00 0.00 sda\n\n     f/s f_await  aqu-sz  %util Device\n0.00 0.00 0.40 37.50 sda\n\n\n"
        )
    };
    let banner = "Linux 6.1.0 (db1) \t10/24/2018 \t_x86_64_\t(4 CPU)\n\n";
    is_the_disk(
        format!("{banner}{}{}", pretty("1.00", "1.00"), pretty("100.00", "50.00")).as_bytes(),
    );
    // Sums of groups, and both directions together, of a file that counts no processors.
    let short = "Device tps kB/s rqm/s await areq-sz aqu-sz %util\nsda 150.00 1600.00 3.00 2.67 10.67 0.40 37.50\n disks 150.00 1600.00 3.00 2.67 10.67 0.40 37.50\n\n";
    let feed = fed(format!("{banner}{short}{short}").as_bytes());
    assert_eq!((feed.rows.len(), feed.places.len()), (1, 1), "a group is no disk");
    near(figure(&feed, "sda", Measure::Bytes(Flow::Any)), 1_638_400.0);
    near(figure(&feed, "sda", Measure::Time(Leg::All, Flow::Any)), 2.67 * MS);
}

#[test]
fn what_sysstat_says_in_full_as_json_is_asked_for_so() {
    for text in [
        "Linux 6.1.0 (db1) \t04/18/19 \t_x86_64_\t(9 CPU)\n\n13:20:09          tps     rkB/s DEV\n13:20:19         0.00      0.00 sda\n",
        "# hostname;interval;timestamp;CPU;%usr\nh;31;2019-04-18 13:20:19 UTC;-1;2.15\n",
        "h\t31\t2019-04-18 13:20:19 UTC\tall\t%usr\t2.15\n",
    ] {
        match detect(text.as_bytes()) {
            Detected::Refused(why) => assert!(why.contains("sadf -j"), "{why}"),
            other => panic!("{other:?} for {text}"),
        }
    }
}

#[test]
fn texts_of_programs_that_count_no_device_name_one_that_does() {
    for (text, what) in [
        (
            "{\"sysstat\": {\n\t\"hosts\": [\n\t\t{\n\t\t\t\"nodename\": \"db1\",\n\t\t\t\"statistics\": [\n\t\t\t\t{\n\t\t\t\t\t\"timestamp\": \"11:52:55\",\n\t\t\t\t\t\"cpu-load\": [\n{\"cpu\": \"all\", \"usr\": 1.00, \"idle\": 98.00}]}]}]}}\n",
            "mpstat",
        ),
        (
            "procs -----------memory---------- ---swap-- -----io----\n r  b   swpd   free\n",
            "vmstat",
        ),
        ("AAA,progname,nmon_linux\nAAA,command,nmon -f\n", "nmon"),
    ] {
        match detect(text.as_bytes()) {
            Detected::Refused(why) => {
                assert!(why.starts_with(what) || why.contains(&format!("of {what}")), "{why}");
                assert!(why.contains("iostat -xt"), "{why}");
            }
            other => panic!("{other:?} for {text}"),
        }
    }
    let solaris = "                    extended device statistics              \n    r/s    w/s   kr/s   kw/s wait actv wsvc_t asvc_t  %w  %b device\n";
    let Detected::Refused(why) = detect(solaris.as_bytes()) else { panic!("{solaris}") };
    assert!(why.contains("Maps of columns"), "{why}");
    // sadf counts processors too, with a date.
    let sadf = "{\"sysstat\": {\"hosts\": [{\"statistics\": [{\"timestamp\": {\"date\": \"2026-11-28\", \"time\": \"10:00:01\"}, \"cpu-load\": []}]}]}}";
    assert_eq!(detect(sadf.as_bytes()), Detected::Is(MonitorFormat::SadfJson));
}

#[test]
fn a_text_may_be_cut_off_anywhere() {
    let text = iostat(["24.10.2018 10:49:12", "24.10.2018 10:49:13"], NEW, NEW_BOOT, NEW_ROW);
    cut_anywhere(text.as_bytes(), MonitorFormat::Iostat);
}

#[test]
fn formats_that_need_another_program_name_its_command() {
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    for (bytes, command) in [
        (vec![0x96, 0xd5, 0, 0], "sadf -j"),
        ([vec![0xd0, 0xcf, 0x11, 0xe0], vec![0; 90]].concat(), "relog"),
        ([vec![0, 1, 2, 3], wide("Performance Logs")].concat(), "relog"),
        (b"BZh9".to_vec(), "bunzip2"),
    ] {
        match detect(&bytes) {
            Detected::Refused(why) => assert!(why.contains(command), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(detect(b"[global]\nrw=read\n"), Detected::Unknown);
}

/// What the programs of this machine print, where they are installed.
#[test]
fn real_iostat_and_sadf_are_read() {
    let run = |command: &str| {
        let out = std::process::Command::new("sh").args(["-c", command]).output().expect("a shell");
        out.status.success().then_some(out.stdout)
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sa").display().to_string();
    for (command, rows) in [
        ("iostat -xt 1 2".to_owned(), 1),
        ("S_TIME_FORMAT=ISO iostat -xm 1 2".to_owned(), 1),
        ("iostat -xt -o JSON 1 2".to_owned(), 1),
        (format!("sar -o {file} 1 2 > {file}.log && sadf -j {file} -- -A"), 2),
        (format!("sadf -x {file} -- -A"), 2),
    ] {
        let Some(text) = run(&command) else {
            eprintln!("skipped: `{command}` needs sysstat (Debian: sysstat)");
            return;
        };
        let feed = fed(&text);
        // Two reports of a busy machine may be of one second, as sysstat rounds it.
        assert!((1..=rows).contains(&feed.rows.len()), "{command}: {} rows", feed.rows.len());
        let cpu = figure(&feed, "host.cpu", Measure::Cpu);
        assert!((0.0..=1.0).contains(&cpu), "{command}: {cpu}");
    }
}

/// What people paste holds prompts and commands, and long names on lines of their own.
#[test]
fn a_pasted_session_is_read() {
    let stamps = ["", ""];
    let text = iostat(stamps, NEW, NEW_BOOT, NEW_ROW);
    is_the_disk(text.as_bytes());
    for before in [
        "[root@db1 ~]# iostat -x 1\n",
        "root@db1:~# iostat -x 1\n",
        "# iostat -xdm 1\n",
        "shell> iostat -dmx 1\n",
        "$ iostat -x 1\n",
        "iostat -x 1\n",
    ] {
        let text = before.to_owned() + &text;
        is_the_disk(text.as_bytes());
        // The report before the next prompt is whole.
        is_the_disk((text.clone() + "[root@db1 ~]# \n").as_bytes());
        is_the_disk((text + "db1:~$ ").as_bytes());
    }
    let long = text.replace("sda 100.00", "cciss/c0d0\n      100.00");
    let feed = fed(long.as_bytes());
    near(figure(&feed, "cciss/c0d0", Measure::Ops(Flow::Read)), 100.0);
    // Old versions do not say the host's name.
    let text = text.replace(" (db1)", "");
    assert!(fed(text.as_bytes()).places.iter().all(|place| place.device.is_empty()));
}
