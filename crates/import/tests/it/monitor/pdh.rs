//! PDH-CSV: encodings, decimal commas, glued cells, and what esxtop and perfmon count.

use super::{Feed, MS, cut_anywhere, fed, figure, near, options};
use import::monitor::{Flow, Leg, Measure, MonitorFormat, read};

const LUN: &str = "naa.600508b4000971fa0000a00000a20000";

fn esxtop(separator: &str, rows: &[&[&str]]) -> String {
    let counters = [
        "Commands/sec",
        "Reads/sec",
        "Writes/sec",
        "MBytes Read/sec",
        "Average Driver MilliSec/Command",
        "Average Kernel MilliSec/Command",
        "Device Q Depth",
    ];
    let named =
        counters.iter().map(|c| format!("\"\\\\esx1\\Physical Disk SCSI Device({LUN})\\{c}\""));
    let others = [
        "\"\\\\esx1\\Memory\\Free MBytes\"",
        "\"\\\\esx1\\Virtual Disk(vm1)\\Reads/sec\"",
        "\"\\\\esx1\\Virtual Disk(vm1:scsi0:0)\\Reads/sec\"",
    ];
    let head = std::iter::once("\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned())
        .chain(named)
        .chain(others.iter().map(|o| (*o).to_owned()));
    let mut out = head.collect::<Vec<_>>().join(separator) + "\n";
    for row in rows {
        out += &(row.iter().map(|cell| format!("\"{cell}\"")).collect::<Vec<_>>().join(separator)
            + "\n");
    }
    out
}

const ROWS: &[&[&str]] = &[
    &["05/07/2024 09:00:00", "0.00", "0.00", "0.00", "0.00", "0.00", "0.00", "32", "9", "1", "1"],
    &[
        "05/07/2024 09:00:20",
        "1000.50",
        "700.50",
        "300.00",
        "5.50",
        "4.00",
        "0.50",
        "32",
        "9",
        "700.50",
        "700.50",
    ],
    &[
        "05/07/2024 09:00:40",
        "1000.50",
        "700.50",
        "300.00",
        "5.50",
        "4.00",
        "0.50",
        "32",
        "9",
        "700.50",
        "700.50",
    ],
];

#[track_caller]
fn is_the_lun(bytes: &[u8]) {
    let feed = fed(bytes);
    assert_eq!((feed.rows.len(), feed.rows[0].seconds()), (2, 20.0), "the first row is left out");
    near(figure(&feed, LUN, Measure::Ops(Flow::Read)), 700.5);
    near(figure(&feed, LUN, Measure::Bytes(Flow::Read)), 5.5 * 1024.0 * 1024.0);
    near(figure(&feed, LUN, Measure::Time(Leg::Device, Flow::Any)), 4.0 * MS);
    near(figure(&feed, LUN, Measure::Time(Leg::Kernel, Flow::Any)), 0.5 * MS);
    near(figure(&feed, LUN, Measure::Slots), 32.0);
    let vm: Vec<&str> =
        feed.places.iter().map(|p| p.name.as_str()).filter(|n| n.starts_with("vm1")).collect();
    assert_eq!(vm, ["vm1:scsi0:0"], "the sum of a VM's disks is not a disk");
    let known = feed.places.iter().find(|p| p.name == LUN).unwrap();
    assert_eq!(known.ids, [LUN]);
}

#[test]
fn a_lun_is_the_same_in_every_encoding() {
    let text = esxtop(",", ROWS);
    is_the_lun(text.as_bytes());
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    is_the_lun(&[vec![0xff, 0xfe], wide].concat());
    is_the_lun(text.replace('\n', "\r\n").as_bytes());
    let commas: Vec<Vec<String>> =
        ROWS.iter().map(|row| row.iter().map(|c| c.replace('.', ",")).collect()).collect();
    let commas: Vec<Vec<&str>> =
        commas.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let commas: Vec<&[&str]> = commas.iter().map(Vec::as_slice).collect();
    is_the_lun(esxtop(";", &commas).as_bytes());
    is_the_lun(esxtop(",", &commas).as_bytes());
}

#[test]
fn glued_cells_are_cut_apart() {
    let glued = esxtop(",", ROWS).replacen("\"300.00\",\"5.50\"", "\"300.00\"5.50\"", 1);
    is_the_lun(glued.as_bytes());
    assert!(fed(glued.as_bytes()).notes.iter().any(|note| note.code == "cells-glued"));
}

#[test]
fn a_row_that_is_not_whole_has_its_place() {
    let text = esxtop(",", ROWS);
    let wrong = text.replacen("\"700.50\",", "", 1);
    let error = read("f", MonitorFormat::Pdh, wrong.as_bytes(), &options()).unwrap_err();
    assert_eq!(error.line, 3, "{error}");
    assert!(error.text.contains("10 cells in a row of 11 columns"), "{error}");
    let wrong = text.replacen("700.50", "7oo", 1);
    let error = read("f", MonitorFormat::Pdh, wrong.as_bytes(), &options()).unwrap_err();
    assert_eq!((error.line, error.column), (3, 33), "{error}");
    cut_anywhere(text.as_bytes(), MonitorFormat::Pdh);
}

#[test]
fn perfmon_is_read_in_german_with_its_bias() {
    let text = "\"(PDH-CSV 4.0) (Mitteleuropäische Zeit)(-60)\";\"\\\\SRV\\Physikalischer Datenträger(0 C:)\\Lesevorgänge/s\";\"\\\\SRV\\Physikalischer Datenträger(0 C:)\\Mittlere Sek./Lesevorgänge\";\"\\\\SRV\\Physikalischer Datenträger(0 C:)\\Leerlaufzeit (%)\"\r\n\"05/07/2024 10:00:00.000\";\" \";\" \";\" \"\r\n\"05/07/2024 10:00:15.000\";\"120,5\";\"0,004\";\"75\"\r\n";
    let feed = fed(text.as_bytes());
    near(figure(&feed, "0 C:", Measure::Ops(Flow::Read)), 120.5);
    near(figure(&feed, "0 C:", Measure::Time(Leg::All, Flow::Read)), 4.0 * MS);
    near(figure(&feed, "0 C:", Measure::Busy), 0.25);
    assert_eq!(feed.rows.len(), 1);
    // The file's bias says its zone; the user's is for files without one.
    let own = read("f", MonitorFormat::Pdh, text.as_bytes(), &import::monitor::Options::default())
        .unwrap();
    assert_eq!(feed.rows[0].to, own.rows[0].to);
    let without = text.replace("(-60)", "()");
    assert_eq!(fed(without.as_bytes()).rows[0].to - own.rows[0].to, 3_600_000_000_000);
    let page: Vec<u8> = text.chars().map(|c| c as u8).collect();
    near(figure(&fed(&page), "0 C:", Measure::Ops(Flow::Read)), 120.5);
    // typeperf on a console.
    let console = |c: char| if c == 'ä' { 0x84 } else { c as u8 };
    let page: Vec<u8> = text.chars().map(console).collect();
    near(figure(&fed(&page), "0 C:", Measure::Ops(Flow::Read)), 120.5);
}

/// Names as Windows has them; of Russian ones also in the code pages of files and of consoles.
#[test]
fn perfmon_is_read_in_other_languages() {
    let text = |object: &str, [reads, bytes, time, idle]: [&str; 4]| {
        let name = |counter: &str| format!(",\"\\\\SRV\\{object}(1 D:)\\{counter}\"");
        let names: String = [reads, bytes, time, idle].into_iter().map(name).collect();
        format!(
            "\"(PDH-CSV 4.0) (Russia TZ 4 Standard Time)(-300)\"{names}\r\n\"08/13/2026 21:23:46.194\",\" \",\" \",\" \",\" \"\r\n\"08/13/2026 21:23:51.198\",\"120.5\",\"4194304\",\"0.004\",\"75\"\r\n"
        )
    };
    let is_it = |bytes: &[u8]| {
        let feed = fed(bytes);
        near(figure(&feed, "1 D:", Measure::Ops(Flow::Read)), 120.5);
        near(figure(&feed, "1 D:", Measure::Bytes(Flow::Read)), 4_194_304.0);
        near(figure(&feed, "1 D:", Measure::Time(Leg::All, Flow::Write)), 4.0 * MS);
        near(figure(&feed, "1 D:", Measure::Busy), 0.25);
    };
    let italian = [
        "Letture disco/sec",
        "Byte letti da disco/sec",
        "Media scritture disco/sec",
        "% Tempo inattività",
    ];
    is_it(text("Disco fisico", italian).as_bytes());
    let portuguese = [
        "Leituras de Disco/s",
        "Bytes de leitura de disco/s",
        "Média de disco s/gravação",
        "% Tempo Ocioso",
    ];
    is_it(text("PhysicalDisk", portuguese).as_bytes());
    let russian = [
        "Обращений чтения с диска/с",
        "Скорость чтения с диска (байт/с)",
        "Среднее время записи на диск (с)",
        "Процент времени бездействия",
    ];
    let russian = text("Физический диск", russian);
    is_it(russian.as_bytes());
    let letter = |c: char| u32::from(c).checked_sub(0x410).filter(|n| *n < 64).map(|n| n as u8);
    let windows = |c: char| letter(c).map_or(c as u8, |n| 0xc0 + n);
    is_it(&russian.chars().map(windows).collect::<Vec<u8>>());
    let console = |n: u8| if n < 48 { 0x80 + n } else { 0xb0 + n };
    let console = |c: char| letter(c).map_or(c as u8, console);
    is_it(&russian.chars().map(console).collect::<Vec<u8>>());
    // Another one is named, with what to do.
    let dutch = text("Fysieke schijf", ["Leesbewerkingen", "b", "c", "d"]);
    let error = read("f", MonitorFormat::Pdh, dutch.as_bytes(), &options()).unwrap_err();
    assert!(error.text.contains("`Fysieke schijf`"), "{error}");
    assert!(error.text.contains("Portuguese or Russian"), "{error}");
}

#[test]
fn shares_of_nfs_and_processors_in_use_are_what_esxtop_counts() {
    let head = |names: &[&str]| {
        let cells = names.iter().map(|name| format!(",\"\\\\esx1\\{name}\""));
        format!("\"(PDH-CSV 4.0) (UTC)(0)\"{}\n", cells.collect::<String>())
    };
    let names = [
        "Physical Cpu(_Total)\\% Processor Time",
        "Physical Cpu(_Total)\\% Util Time",
        "Physical Disk NFS Volume(nfs1)\\Reads/sec",
        "Physical Disk NFS Volume(nfs1)\\MBytes Read/sec",
        "Physical Disk NFS Volume(nfs1)\\Average Guest MilliSec/Read",
    ];
    let row = |second: u32| {
        format!("\"12/11/2012 20:20:{second:02}\",\"140.0\",\"98.0\",\"400.0\",\"10.0\",\"5.0\"\n")
    };
    let feed = fed((head(&names) + &row(0) + &row(5) + &row(10)).as_bytes());
    near(figure(&feed, "host.cpu", Measure::Cpu), 0.98);
    near(figure(&feed, "nfs1", Measure::Time(Leg::All, Flow::Read)), 5.0 * MS);
    // Volumes of Windows are what their disks count, and are used where these are missing.
    let names = ["LogicalDisk(C:)\\Disk Reads/sec", "LogicalDisk(_Total)\\Disk Reads/sec"];
    let row = |second: u32| format!("\"12/11/2012 20:20:{second:02}\",\"7.0\",\"7.0\"\n");
    let feed = fed((head(&names) + &row(0) + &row(5) + &row(10)).as_bytes());
    near(figure(&feed, "C:", Measure::Ops(Flow::Read)), 7.0);
    assert!(feed.places.len() == 1 && feed.places[0].within);
}

#[test]
fn an_idle_time_that_is_not_known_is_no_busy_time() {
    let cells = ["20.0", "20.0", "-1", "40.0"];
    let row =
        |(at, idle): (usize, &&str)| format!("\"05/07/2024 09:00:0{at}.000\",\"5\",\"{idle}\"\r\n");
    let rows: String = cells.iter().enumerate().map(row).collect();
    let header = r#""(PDH-CSV 4.0) (UTC)(0)","\\w\PhysicalDisk(0 C:)\Disk Reads/sec","\\w\PhysicalDisk(0 C:)\% Idle Time""#;
    let feed = fed(format!("{header}\r\n{rows}").as_bytes());
    near(figure(&feed, "0 C:", Measure::Busy), 0.7);
}

#[test]
fn a_log_that_counts_both_directions_together_is_a_load() {
    let counters = [
        "Disk Transfers/sec",
        "Disk Bytes/sec",
        "Avg. Disk sec/Transfer",
        "Avg. Disk Queue Length",
    ];
    let header: String =
        counters.iter().map(|of| format!(",\"\\\\w\\PhysicalDisk(0 C:)\\{of}\"")).collect();
    let row = |at: u32| {
        format!("\"05/07/2024 09:00:0{at}.000\",\"500\",\"4096000\",\"0.004\",\"2.0\"\r\n")
    };
    let rows: String = (0..4).map(row).collect();
    let feed = fed(format!("\"(PDH-CSV 4.0) (UTC)(0)\"{header}\r\n{rows}").as_bytes());
    near(figure(&feed, "0 C:", Measure::Ops(Flow::Any)), 500.0);
    near(figure(&feed, "0 C:", Measure::Bytes(Flow::Any)), 4_096_000.0);
    near(figure(&feed, "0 C:", Measure::Time(Leg::All, Flow::Any)), 4.0 * MS);
    near(figure(&feed, "0 C:", Measure::InFlight), 2.0);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let order = import::monitor::Order {
        feeds: &[feed],
        windows: &[],
        facts: Vec::new(),
        topology: &import::monitor::Topology::default(),
        producer: "a test".to_owned(),
        title: "t".to_owned(),
    };
    import::monitor::write(&path, &order).unwrap();
    let total = record::Record::open(&path).unwrap().totals(0).unwrap().remove(0);
    let ops: u64 = [total.read, total.write].into_iter().flatten().map(|side| side.ops).sum();
    assert_eq!(ops, 1500, "500 a second over three seconds");
}

/// A log of Windows with one row of these columns.
fn windows(columns: &[(&str, f64)]) -> Feed {
    let names: String = columns.iter().map(|(name, _)| format!(",\"\\\\{name}\"")).collect();
    let cells: String = columns.iter().map(|(_, value)| format!(",\"{value}\"")).collect();
    let row = |second: u32| format!("\"05/07/2024 10:00:{second:02}.000\"{cells}\n");
    fed(format!("\"(PDH-CSV 4.0) (UTC)(0)\"{names}\n{}{}", row(0), row(15)).as_bytes())
}

#[test]
fn sums_of_windows_are_counted_where_nothing_else_is() {
    let feed = windows(&[
        ("s\\physicaldisk(0 c:)\\disk reads/sec", 100.0),
        ("s\\physicaldisk(_total)\\disk reads/sec", 100.0),
        ("S\\processor(_total)\\% processor time", 50.0),
    ]);
    let names: Vec<&str> = feed.places.iter().map(|place| place.name.as_str()).collect();
    assert_eq!(names, ["0 c:", "host.cpu"]);
    assert!(feed.places.iter().all(|place| place.device == "s"), "one host, however it is written");
    let feed = windows(&[
        ("s\\PhysicalDisk(_Total)\\Disk Reads/sec", 100.0),
        ("s\\PhysicalDisk(_Total)\\% Idle Time", 60.0),
    ]);
    near(figure(&feed, "all disks", Measure::Ops(Flow::Read)), 100.0);
    assert!(figure(&feed, "all disks", Measure::Busy).is_nan(), "of several disks none is known");
    // A root partition of Hyper-V sees its own share of the processors.
    let feed = windows(&[
        ("s\\Processor(_Total)\\% Processor Time", 4.0),
        ("s\\Hyper-V Hypervisor Logical Processor(_Total)\\% Total Run Time", 95.0),
    ]);
    near(figure(&feed, "host.cpu", Measure::Cpu), 0.95);
}

#[test]
fn teams_and_loopbacks_of_windows_are_no_ports() {
    let bytes = |name: &str| format!("s\\Network Interface({name})\\Bytes Total/sec");
    let all = [
        "Intel X710",
        "Intel X710 _2",
        "Microsoft Network Adapter Multiplexor Driver",
        "Hyper-V Virtual Ethernet Adapter",
        "Loopback Pseudo-Interface 1",
    ]
    .map(bytes);
    let feed = windows(&all.each_ref().map(|name| (name.as_str(), 2e8)));
    let wires = feed.places.iter().filter(|place| !place.within).map(|place| place.name.as_str());
    assert_eq!(wires.collect::<Vec<_>>(), ["Intel X710", "Intel X710 _2"]);
    near(figure(&feed, "Intel X710", Measure::Bytes(Flow::Any)), 2e8);
}

#[test]
fn a_vm_may_have_a_colon_and_latencies_that_contradict_are_said() {
    let feed = windows(&[
        ("h\\Virtual Disk(db:prod)\\Reads/sec", 100.0),
        ("h\\Virtual Disk(db:prod:scsi0:0)\\Reads/sec", 100.0),
    ]);
    let names: Vec<&str> = feed.places.iter().map(|place| place.name.as_str()).collect();
    assert_eq!((names, feed.places[0].guest.as_str()), (vec!["db:prod:scsi0:0"], "db:prod"));
    let device = |guest: f64, queue: f64| {
        let of = |what: &str| {
            format!("h\\Physical Disk SCSI Device(naa.600)\\Average {what} MilliSec/Command")
        };
        let all = ["Guest", "Driver", "Kernel", "Queue"].map(of);
        let values = [guest, 5.0, 1.0, queue];
        let columns: Vec<(&str, f64)> = all.iter().map(String::as_str).zip(values).collect();
        let notes = windows(&columns).notes;
        notes.iter().filter(|note| note.code == "identity-failed").count()
    };
    assert_eq!((device(6.0, 0.5), device(20.0, 0.5), device(6.0, 8.0)), (0, 1, 1));
}
