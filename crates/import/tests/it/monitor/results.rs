//! Results of load generators, written by hand by the formats' documents: figures worked out beside them, files cut off anywhere,
//! and what is absent and not zero.

use super::{MS, cut_anywhere, fed, figure, near, options, recorded};
use import::monitor::{
    Calendar, Detected, Feed, Flow, Leg, Measure, MonitorFormat, Options, TimeZone, Topology,
    detect, read,
};

const OPS: [Measure; 2] = [Measure::Ops(Flow::Read), Measure::Ops(Flow::Write)];
const BYTES: [Measure; 2] = [Measure::Bytes(Flow::Read), Measure::Bytes(Flow::Write)];
const TIME: [Measure; 2] =
    [Measure::Time(Leg::All, Flow::Read), Measure::Time(Leg::All, Flow::Write)];

/// Reads and writes of a place: operations, bytes and nanoseconds.
#[track_caller]
fn sides(feed: &Feed, place: &str, ops: [f64; 2], bytes: [f64; 2], ns: [f64; 2]) {
    for (measures, expected) in [(OPS, ops), (BYTES, bytes), (TIME, ns)] {
        for (measure, expected) in measures.into_iter().zip(expected) {
            let found = figure(feed, place, measure);
            match expected.is_nan() {
                true => assert!(found.is_nan(), "{measure:?} of {place} is {found}"),
                false => near(found, expected),
            }
        }
    }
}

/// Where the user names a zone.
fn elsewhere() -> Options {
    let zone = Some(TimeZone::get("America/Los_Angeles").unwrap());
    Options { calendar: Calendar { order: None, zone }, ..Options::default() }
}

/// The windows of a record made of a feed.
fn windows(feed: Feed) -> Vec<(String, u64)> {
    windows_of(&[feed])
}

/// The windows of a record made of several.
fn windows_of(feeds: &[Feed]) -> Vec<(String, u64)> {
    let (_dir, record) = recorded(feeds, &Topology::default());
    let of = |step: &record::StepHead| {
        let totals = record.totals(step.index).unwrap();
        let ops = |c: &Option<record::Completed>| c.as_ref().map_or(0, |c| c.ops);
        (step.settings[0].1.clone(), totals.iter().map(|t| ops(&t.read) + ops(&t.write)).sum())
    };
    record.steps().iter().map(of).collect()
}

/// Two tests of 30 s: 3,000 reads and 1,500 writes of 4 KiB, then 600 and 0, by one worker of a manager.
fn iometer(version: &str, columns: [&str; 2]) -> String {
    let row = |sort: &str, name: &str, spec: &str, reads: f64, writes: f64| {
        let mb = |ops: f64| ops * 4096.0 / (1024.0 * 1024.0);
        format!(
            "{sort},{name},{spec},1,1,1,{:.6},{:.6},{:.6},{:.6},{:.6},{:.6},0,0,5.0,4.000000,{},0,0,9.0,9.0,8.0,0,0,0,0,0,{},{},{},{}\n",
            (reads + writes) / 30.0,
            reads / 30.0,
            writes / 30.0,
            mb(reads + writes) / 30.0,
            mb(reads) / 30.0,
            mb(writes) / 30.0,
            if writes > 0.0 { "7.000000" } else { "0.000000" },
            reads * 4096.0,
            writes * 4096.0,
            reads,
            writes
        )
    };
    let [read, write] = columns;
    let header = format!(
        "'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,Write IOps,{},{read},{write},Transactions per Second,Connections per Second,Average Response Time,Average Read Response Time,Average Write Response Time,Average Transaction Time,Average Connection Time,Maximum Response Time,Maximum Read Response Time,Maximum Write Response Time,Maximum Transaction Time,Maximum Connection Time,Errors,Read Errors,Write Errors,Bytes Read,Bytes Written,Read I/Os,Write I/Os\n",
        read.trim_start_matches("Read ")
    );
    let test = |spec: &str, reads: f64, writes: f64, end: &str| {
        format!(
            "'Access specifications\n'Access specification name,default assignment\n{spec},NONE\n'End access specifications\n'Results\n{header}{}{}PROCESSOR,CPU 0,,,,,,\n{}{}'Time Stamp\n2008-07-30 {end}\n",
            row("ALL", "All", spec, reads, writes).replace("PROCESSOR", ""),
            row("MANAGER", "HOST1", spec, reads, writes),
            row("WORKER", "Worker 1", spec, reads, writes),
            row("DISK", "C:", spec, reads, writes)
        )
        .replace("PROCESSOR,CPU 0,,,,,,\n", "")
    };
    format!(
        "'Test Type,Test Description\n0,by hand\n'Version\n{version} \n'Time Stamp\n2008-07-30 11:20:00:345\n{}{}",
        test("4k mixed", 3000.0, 1500.0, "11:20:35:345"),
        test("4k read", 600.0, 0.0, "11:21:15:000")
    )
}

#[test]
fn iometers_results_are_the_same_whatever_a_version_calls_a_megabyte() {
    for (version, columns) in [
        ("2006.07.27", ["Read MBps", "Write MBps"]),
        ("2008.06.22", ["Read MBps (Binary)", "Write MBps (Binary)"]),
        ("1.1.0", ["Read MiBps (Binary)", "Write MiBps (Binary)"]),
    ] {
        let text = iometer(version, columns);
        let feed = fed(text.as_bytes());
        assert_eq!(feed.format, MonitorFormat::Iometer);
        assert_eq!((feed.places.len(), feed.rows.len()), (1, 2), "{:?}", feed.places);
        assert_eq!((feed.rows[0].to - feed.rows[0].from) / 1_000_000_000, 30);
        // Two tests of one length: means of both.
        sides(
            &feed,
            "Worker 1",
            [60.0, 25.0],
            [60.0 * 4096.0, 25.0 * 4096.0],
            [4.0 * MS, 7.0 * MS],
        );
        assert_eq!(
            windows(feed)[1..],
            [("4k mixed".to_owned(), 4500), ("4k read".to_owned(), 600)]
        );
        cut_anywhere(&text.as_bytes()[..text.len().min(3000)], MonitorFormat::Iometer);
    }
    // Saved again by a spreadsheet: semicolons, decimal commas, and as many of the former on each line.
    let saved = iometer("1.1.0", ["Read MiBps (Binary)", "Write MiBps (Binary)"]);
    let saved: String = saved
        .lines()
        .map(|line| line.replace(',', ";").replace('.', ",") + &";".repeat(20) + "\r\n")
        .collect();
    let feed = fed(saved.as_bytes());
    let rates = [60.0 * 4096.0, 25.0 * 4096.0];
    sides(&feed, "Worker 1", [60.0, 25.0], rates, [4.0 * MS, 7.0 * MS]);
    assert_eq!((feed.rows[0].to - feed.rows[0].from) / 1_000_000_000, 30);
    // Without numbers of bytes the columns of megabytes count.
    let bare = iometer("1.1.0", ["Read MBps (Decimal)", "Write MBps (Decimal)"])
        .replace("Bytes Read", "x")
        .replace("Bytes Written", "y");
    near(figure(&fed(bare.as_bytes()), "Worker 1", BYTES[0]), 60.0 * 4096.0 * 1e6 / 1_048_576.0);
}

#[test]
fn vdbenchs_intervals_are_read_by_name_and_its_averages_left_out() {
    let text = "<title>vdbench flatfile</title>\n<pre>\n* Notes of columns\n  tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp cpu_used queue_depth compratio\n\
        09:00:01.000 05/07/2024-09:00:01-UTC rd1 1 100 50.0 0.19 4096 75.0 9.0 9.0 9.0 n/a 1.0 n/a\n\
        09:00:02.000 05/07/2024-09:00:02-UTC rd1 2 100 100.0 0.390625 4096 75.0 2.0 1.0 5.0 20.0 2.0 n/a\n\
        09:00:03.000 05/07/2024-09:00:03-UTC rd1 3 100 300.0 1.171875 4096 75.0 2.0 1.0 5.0 40.0 4.0 n/a\n\
        09:00:03.000 05/07/2024-09:00:03-UTC rd1 avg_2-3 100 200.0 0.78125 4096 75.0 2.0 1.0 5.0 30.0 3.0 n/a\n\
        09:01:01.000 05/07/2024-09:01:01-UTC rd2 1 100 10.0 1.0 4096 100.0 2.0 2.0 0.0 n/a 2.0 n/a\n\
        09:01:02.000 05/07/2024-09:01:02-UTC rd2 2 100 10.0 1.0 4096 100.0 3.0 3.0 n/a n/a 2.0 n/a\n";
    let feed = fed(text.as_bytes());
    assert_eq!((feed.format, feed.rows.len()), (MonitorFormat::Vdbench, 3));
    assert_eq!(feed.rows[0].to, 1_715_072_402_000_000_000, "2024-05-07 09:00:02 UTC");
    let mb = 1024.0 * 1024.0;
    let bytes = [
        (0.390625 * 0.75 + 1.171875 * 0.75 + 1.0) / 3.0 * mb,
        (0.390625 * 0.25 + 1.171875 * 0.25) / 3.0 * mb,
    ];
    sides(&feed, "vdbench", [310.0 / 3.0, 100.0 / 3.0], bytes, [5.0 / 3.0 * MS, 5.0 * MS]);
    near(figure(&feed, "host.cpu", Measure::Cpu), 0.3);
    assert_eq!(windows(feed)[1..], [("rd1".to_owned(), 400), ("rd2".to_owned(), 10)]);
    cut_anywhere(text.as_bytes(), MonitorFormat::Vdbench);
    let feed = read("f", MonitorFormat::Vdbench, text.as_bytes(), &elsewhere()).unwrap();
    assert_eq!(feed.rows[0].to, 1_715_072_402_000_000_000, "its stamps say UTC");
    let local = text.replace("-UTC", "-PDT");
    let feed = read("f", MonitorFormat::Vdbench, local.as_bytes(), &elsewhere()).unwrap();
    assert_eq!(feed.rows[0].to, 1_715_072_402_000_000_000 + 7 * 3600 * 1_000_000_000);
    // Older versions have no date, and no direction of response times.
    let old = "tod Run Interval reqrate rate MB/sec bytes/io read% resp\n09:00:01 rd1 1 5 5 1 4096 50 2\n09:00:02 rd1 2 5 5 1 4096 50 2\n";
    sides(&fed(old.as_bytes()), "vdbench", [2.5, 2.5], [mb / 2.0; 2], [2.0 * MS; 2]);
    // Files of several versions behind each other, each by the names that stand before it.
    let wide = "tod Run Interval reqrate MB/sec rate bytes/io read% resp more\n09:01:01 rd2 1 5 2 50 4096 50 2 0\n09:01:02 rd2 2 5 2 50 4096 50 2 0\n";
    let both = fed([old, wide].concat().as_bytes());
    sides(&both, "vdbench", [13.75, 13.75], [0.75 * mb; 2], [2.0 * MS; 2]);
}

#[test]
fn of_vdbenchs_files_what_moves_data_is_told_apart_from_other_operations() {
    let line =
        |at: u32| format!("10:00:0{at}.000 rd1 {at} max 900 5.0 30.0 300 2.0 100 4.0 20.0 10.0\n");
    let text = format!(
        "tod Run Interval reqrate rate resp MB/sec Read_rate Read_resp Write_rate Write_resp MB_read MB_write\n{}",
        (1..5).map(line).collect::<String>()
    );
    let feed = fed(text.as_bytes());
    let mb = 1024.0 * 1024.0;
    sides(&feed, "vdbench", [300.0, 100.0], [20.0 * mb, 10.0 * mb], [2.0 * MS, 4.0 * MS]);
}

#[test]
fn vdbenchs_warm_up_and_repetitions_are_told_apart() {
    let mut text = "tod timestamp Run Interval reqrate rate MB/sec bytes/io read% resp read_resp write_resp mb_read mb_write xfersize threads\n".to_owned();
    let mut line = |at: u32, interval: &str, rate: u32, threads: u32| {
        text.push_str(&format!(
            "09:{:02}:{:02}.000 05/07/2024-09:{:02}:{:02}-UTC rd1 {interval} n/a {rate} 1.0 4096 50.0 2.0 1.0 3.0 0.8 0.2 4096 {threads}\n",
            at / 60, at % 60, at / 60, at % 60
        ));
    };
    // 10 s of warm-up, then 10 s, in intervals of 5 s; once with 8 threads, once with 16.
    for (threads, start) in [(8, 0), (16, 60)] {
        for n in 1..=4 {
            let rate = if n <= 2 { 9000 } else { 100 * threads };
            line(start + n * 5, &n.to_string(), rate, threads);
        }
        line(start + 20, "avg_3-4", 100 * threads, threads);
    }
    let feed = fed(text.as_bytes());
    assert_eq!(feed.rows.len(), 4, "neither the warm-up nor the pause between is measured");
    let mb = 1024.0 * 1024.0;
    sides(&feed, "vdbench", [600.0, 600.0], [0.8 * mb, 0.2 * mb], [MS, 3.0 * MS]);
    let tests: Vec<&str> = feed.tests.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(tests, ["rd1 threads=8", "rd1 threads=16"]);
    // The same again with nothing that differs.
    let feed = fed(text.replace(" 16\n", " 8\n").as_bytes());
    let tests: Vec<&str> = feed.tests.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(tests, ["rd1", "rd1 #2"]);
}

#[test]
fn diskspds_threads_are_added_up_by_target() {
    let target = |path: &str, reads: u32, writes: u32, read_ms: &str| {
        format!(
            "<Target><Path>{path}</Path><BytesCount>{}</BytesCount><IOCount>{}</IOCount><ReadBytes>{}</ReadBytes><ReadCount>{reads}</ReadCount><WriteBytes>{}</WriteBytes><WriteCount>{writes}</WriteCount>{read_ms}</Target>",
            (reads + writes) * 8192,
            reads + writes,
            reads * 8192,
            writes * 8192
        )
    };
    let ms =
        |n: f64| format!("<AverageReadLatencyMilliseconds>{n}</AverageReadLatencyMilliseconds>");
    let text = format!(
        "<Results>\n<System><ComputerName>VM1</ComputerName><RunTime>2024/05/07 09:00:00 UTC</RunTime></System>\n<Profile><TimeSpans><TimeSpan><Duration>10</Duration></TimeSpan></TimeSpans></Profile>\n<TimeSpan><TestTimeSeconds>10.00</TestTimeSeconds><ThreadCount>2</ThreadCount><ProcCount>4</ProcCount><CpuUtilization><CPU><CPU>0</CPU><UsagePercent>9</UsagePercent></CPU><Average><UsagePercent>12.50</UsagePercent></Average></CpuUtilization>\n<Thread><Id>0</Id>{}{}</Thread>\n<Thread><Id>1</Id>{}</Thread>\n</TimeSpan>\n</Results>\n",
        target("a.dat", 1000, 500, &ms(1.0)),
        target("b.dat", 100, 0, &ms(4.0)),
        target("a.dat", 3000, 500, &ms(3.0)),
    );
    let feed = fed(text.as_bytes());
    assert_eq!((feed.format, feed.rows.len()), (MonitorFormat::DiskspdXml, 1));
    // (1000 x 1 ms + 3000 x 3 ms) / 4000; of writes no latency is told.
    sides(&feed, "a.dat", [400.0, 100.0], [400.0 * 8192.0, 100.0 * 8192.0], [2.5 * MS, f64::NAN]);
    sides(&feed, "b.dat", [10.0, 0.0], [10.0 * 8192.0, 0.0], [4.0 * MS, f64::NAN]);
    near(figure(&feed, "host.cpu", Measure::Cpu), 0.125);
    // `RunTime` is told when all is over.
    assert_eq!(feed.rows[0].to, 1_715_072_400_000_000_000);
    let slow = text.replace("</Duration>", "</Duration><Warmup>5</Warmup><Cooldown>2</Cooldown>");
    assert_eq!(fed(slow.as_bytes()).rows[0].to, 1_715_072_398_000_000_000);
    cut_anywhere(text.as_bytes(), MonitorFormat::DiskspdXml);
    // Machines that ran one test together, a second apart; and one that ran it an hour later.
    let machine =
        |name: &str, at: &str| fed(text.replace("VM1", name).replace("09:00:00", at).as_bytes());
    let feeds = [machine("VM1", "09:00:00"), machine("VM2", "09:00:01")];
    assert_eq!(windows_of(&feeds).len(), 1, "the whole is that test");
    let [one, two] = feeds;
    let later = [one, two, machine("VM3", "10:00:00")];
    let names: Vec<String> = windows_of(&later).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["whole", "time span 1", "time span 1 (2)"]);
    // It says that it is UTC: the user's zone is that of other files.
    let feed = read("f", feed.format, text.as_bytes(), &elsewhere()).unwrap();
    // `RunTime` is told when all is over.
    assert_eq!(feed.rows[0].to, 1_715_072_400_000_000_000);
    let slow = text.replace("</Duration>", "</Duration><Warmup>5</Warmup><Cooldown>2</Cooldown>");
    assert_eq!(fed(slow.as_bytes()).rows[0].to, 1_715_072_398_000_000_000);
}

#[test]
fn ntttcps_placeholders_are_absent() {
    let text = |bytes: &str, cpu: &str| {
        format!(
            "<ntttcps computername=\"A\" version=\"5.33\">\n<parameters><port>5001</port></parameters>\n<thread index=\"0\"><realtime metric=\"s\">10.0</realtime></thread>\n<total_bytes metric=\"MB\">{bytes}</total_bytes>\n<realtime metric=\"s\">10.000</realtime>\n<throughput metric=\"MB/s\">200.000</throughput>\n<throughput metric=\"mbps\">1677.722</throughput>\n<cpu metric=\"%\">{cpu}</cpu>\n<packets_retransmitted>30</packets_retransmitted>\n<errors>0</errors>\n</ntttcps>\n"
        )
    };
    let mb = 1024.0 * 1024.0;
    let feed = fed(text("1000.0", "25.0").as_bytes());
    assert_eq!(feed.format, MonitorFormat::NtttcpXml);
    near(figure(&feed, "sends", Measure::Bytes(Flow::Write)), 100.0 * mb);
    near(figure(&feed, "sends", Measure::Discards), 3.0);
    near(figure(&feed, "host.cpu", Measure::Cpu), 0.25);
    let feed = fed(text("0.000", "NA").as_bytes());
    near(figure(&feed, "sends", Measure::Bytes(Flow::Write)), 200.0 * mb);
    assert_eq!(feed.places.len(), 1, "no processor: {:?}", feed.places);
    // Builds of Linux count a million bytes as MB.
    let linux = text("90000.0", "25.0")
        .replace("10.000</realtime>", "60.000</realtime>")
        .replace("200.000</throughput>", "1500.000</throughput>")
        .replace("1677.722", "12000.000");
    near(figure(&fed(linux.as_bytes()), "sends", Measure::Bytes(Flow::Write)), 1.5e9);
    let exact = linux.replace("metric=\"mbps\">12000.000", "metric=\"Bps\">1500000000.0");
    near(figure(&fed(exact.as_bytes()), "sends", Measure::Bytes(Flow::Write)), 1.5e9);
    let received = text("500.0", "0.000").replace("ntttcps", "ntttcpr");
    near(figure(&fed(received.as_bytes()), "receives", Measure::Bytes(Flow::Read)), 50.0 * mb);
    cut_anywhere(text("1.0", "2").as_bytes(), MonitorFormat::NtttcpXml);
}

#[test]
fn hcibenchs_cases_follow_each_other() {
    let text = "Case Name:     fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads\nVMs        = 4\nIOPS       = 10000.00 IO/S\nTHROUGHPUT = 39.0625 MB/s\nLATENCY    = 1.60 ms\nR_LATENCY  = 1.00 ms\nW_LATENCY  = 3.00 ms\n95%tile_LAT = 4.0 ms\n=====\nCase Name:     custom\nIOPS       = 500 IO/S\nTHROUGHPUT = 10 MB/s\nLATENCY    = 2 ms\n";
    let feed = fed(text.as_bytes());
    assert_eq!((feed.format, feed.rows.len()), (MonitorFormat::Hcibench, 2));
    sides(&feed, "all VMs", [7000.0, 3000.0], [7000.0 * 4096.0, 3000.0 * 4096.0], [MS, 3.0 * MS]);
    near(figure(&feed, "all VMs", Measure::Ops(Flow::Any)), 500.0);
    assert!(feed.assumed.iter().any(|(what, _)| what == "times"));
    cut_anywhere(text.as_bytes(), MonitorFormat::Hcibench);
}

#[test]
fn hcibenchs_summary_without_names_of_cases_is_read() {
    // Of vdbench: two datastores loaded at once, two runs after each other.
    let run = |run: &str, iops: u32, read: &str, write: &str| {
        format!(
            "Version:\tvdbench50407\nRun Def:\tRD={run}; I/O rate: Uncontrolled MAX; elapsed=300\nVMs\t\t= 4\nIOPS\t\t= {iops}.0 IO/S\nTHROUGHPUT\t= 10.0 MB/s\nLATENCY\t\t= 2.0 ms\nR_LATENCY\t= {read} ms\nW_LATENCY\t= {write} ms\n95%tile_LAT\t= 9.0 ms\n=============================\n"
        )
    };
    let text = ["one", "two"].map(|store| {
        let runs = [run("run1", 1000, "1.0", "3.0"), run("run2", 500, "2.0", "0.0")].concat();
        format!("Datastore     = {store}\n=============================\n{runs}")
    });
    let text = text.concat() + "Resource Usage:\nCPU USAGE\t= 60.3%\n";
    let feed = fed(text.as_bytes());
    assert_eq!((feed.rows.len(), feed.places.len()), (2, 2), "{:?}", feed.places);
    let of = |measure, row: usize| {
        let at = feed.places.iter().position(|p| p.name == "all VMs on two").unwrap();
        feed.mean(at, measure, row..row + 1)
    };
    // Of the first run nothing tells how many were reads; the second wrote nothing.
    assert_eq!(of(Measure::Ops(Flow::Any), 0), Some(1000.0));
    assert_eq!(of(Measure::Time(Leg::All, Flow::Any), 0), Some(2.0 * MS));
    assert_eq!((of(OPS[0], 1), of(TIME[0], 1)), (Some(500.0), Some(2.0 * MS)));
    cut_anywhere(text.as_bytes(), MonitorFormat::Hcibench);
    // Of fio: the jobs of a file ran at once, and the name of the file has their share of reads.
    let job = |name: &str| {
        format!(
            "=============================\nJOB_NAME\t= {name}\nVMs\t\t= 4\nIOPS\t\t= 1000.00 IO/S\nTHROUGHPUT\t= 3.91 MB/s\nR_LATENCY\t= 1.00 ms\nW_LATENCY\t= 3.00 ms\n"
        )
    };
    let text = format!("Datastore     = vsan\n{}{}", job("log"), job("data"));
    let name = "fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-1651234567-res.txt";
    let feed = read(name, MonitorFormat::Hcibench, text.as_bytes(), &options()).unwrap();
    assert_eq!((feed.rows.len(), feed.places.len()), (1, 2));
    let bytes = 3.91 * 1024.0 * 1024.0;
    sides(&feed, "data", [700.0, 300.0], [0.7 * bytes, 0.3 * bytes], [MS, 3.0 * MS]);
}

/// A job of fio's JSON.
fn job(name: &str, group: u32, elapsed: u32, ios: u64) -> String {
    format!(
        r#"{{"jobname":"{name}","groupid":{group},"error":0,"eta":0,"elapsed":{elapsed},"read":{{"io_bytes":{},"io_kbytes":{},"bw":{},"runtime":10000,"total_ios":{ios},"lat_ns":{{"mean":2000000.0}}}},"write":{{"io_bytes":0,"runtime":0,"total_ios":0}}}}"#,
        ios * 4096,
        ios * 4,
        ios * 4 / 10,
    )
}

fn fio(jobs: &str) -> String {
    format!(
        r#"{{"fio version":"fio-3.28","timestamp":1700000030,"timestamp_ms":1700000030000,{jobs}}}"#
    )
}

#[test]
fn groups_of_fio_that_waited_for_each_other_are_tests_of_their_own() {
    // How long fio ran is said of each job: both waited, and nothing else names a `stonewall`.
    let jobs = [job("seq", 0, 21, 20_000), job("rand", 1, 21, 10_000)].join(",");
    let feed = fed(fio(&format!(r#""jobs":[{jobs}]"#)).as_bytes());
    let tests: Vec<&str> = feed.tests.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((tests, feed.rows.len()), (vec!["seq", "rand"], 2));
    near(figure(&feed, "seq", Measure::Ops(Flow::Read)), 2000.0);
    near(figure(&feed, "rand", Measure::Ops(Flow::Read)), 1000.0);
    assert_eq!(feed.rows[1].to, 1_700_000_030_000_000_000);
    // Groups that ran at the same time are one test.
    let jobs = [job("a", 0, 11, 20_000), job("b", 1, 11, 10_000)].join(",");
    assert_eq!(fed(fio(&format!(r#""jobs":[{jobs}]"#)).as_bytes()).rows.len(), 1);
    // Of three, two had no time after each other, and nothing tells which: each is a test, and no sum is said.
    let jobs = [job("a", 0, 21, 20_000), job("b", 1, 21, 10_000), job("c", 2, 21, 10_000)];
    let feed = fed(fio(&format!(r#""jobs":[{}]"#, jobs.join(","))).as_bytes());
    assert_eq!(feed.rows.len(), 3);
    assert!(
        feed.notes.iter().any(|note| note.text.contains("which is not told")),
        "{:?}",
        feed.notes
    );
    // fio 2.1 says neither how long it ran nor how many I/Os there were.
    let old = [job("a", 0, 0, 20_000), job("b", 1, 0, 10_000)].join(",");
    let old = old.replace("\"elapsed\":0,", "").replace("\"total_ios\":20000", "\"iops\":2000");
    let feed = fed(fio(&format!(r#""jobs":[{old}]"#)).as_bytes());
    assert_eq!(feed.rows.len(), 2);
    near(figure(&feed, "a", Measure::Ops(Flow::Read)), 2000.0);
    // Of several hosts, each job and not their sum.
    let jobs = [job("a", 0, 11, 20_000), job("All clients", 0, 11, 20_000)].join(",");
    let feed = fed(fio(&format!(r#""client_stats":[{jobs}]"#)).as_bytes());
    assert_eq!(feed.places.len(), 1);
    // fio 2 called KiB `io_bytes`.
    let old = job("a", 0, 11, 10_000)
        .replace("\"io_bytes\":40960000,\"io_kbytes\":40000", "\"io_bytes\":40000");
    near(
        figure(
            &fed(fio(&format!(r#""jobs":[{old}]"#)).as_bytes()),
            "a",
            Measure::Bytes(Flow::Read),
        ),
        4_096_000.0,
    );
    // Both directions as one.
    let mixed = job("a", 0, 11, 20_000).replace("\"read\"", "\"mixed\"");
    let mixed = mixed[..mixed.find(",\"write\"").unwrap()].to_owned() + "}";
    let feed = fed(fio(&format!(r#""jobs":[{mixed}]"#)).as_bytes());
    near(figure(&feed, "a", Measure::Ops(Flow::Any)), 2000.0);
    let failed = job("a", 0, 1, 0).replace("\"runtime\":10000", "\"runtime\":0");
    let failed = fio(&format!(r#""jobs":[{failed}]"#));
    let error = read("f", MonitorFormat::FioJson, failed.as_bytes(), &options()).unwrap_err();
    assert!(error.text.contains("no job"), "{error}");
}

#[test]
fn iperf3_counts_what_arrived_in_each_direction() {
    let of = |end: &str, back: &str| {
        format!(
            r#"{{"start":{{"timestamp":{{"timesecs":1700000000}},"connected":[{{"local_host":"a","remote_host":"b"}}],"test_start":{{"reverse":0}}}},"intervals":[{{"sum":{{"start":0,"end":1,"bytes":1000000,"omitted":false}}{back}}}],"end":{{{end}}}}}"#
        )
    };
    let both = of(
        r#""sum_sent":{"bytes":1000000},"sum_received":{"bytes":900000}"#,
        r#","sum_bidir_reverse":{"start":0,"end":1,"bytes":500000,"sender":false}"#,
    );
    let feed = fed(both.as_bytes());
    near(figure(&feed, "a-b", Measure::Bytes(Flow::Write)), 900_000.0);
    near(figure(&feed, "a-b", Measure::Bytes(Flow::Read)), 500_000.0);
    // The same seen by the server, which receives what the client sends.
    let server = both.replace("\"omitted\":false", "\"omitted\":false,\"sender\":false");
    let server = server.replace("\"sender\":false}}", "\"sender\":true}}");
    let feed = fed(server.as_bytes());
    near(figure(&feed, "a-b", Measure::Bytes(Flow::Read)), 1_000_000.0);
    near(figure(&feed, "a-b", Measure::Bytes(Flow::Write)), 500_000.0);
    let old = of("", "").replace("\"test_start\"", "\"accepted_connection\":{},\"test_start\"");
    near(figure(&fed(old.as_bytes()), "a-b", Measure::Bytes(Flow::Read)), 1_000_000.0);
    let udp = of(r#""sum":{"bytes":1000000,"lost_percent":10.0}"#, "");
    near(figure(&fed(udp.as_bytes()), "a-b", Measure::Bytes(Flow::Write)), 900_000.0);
    let refused = r#"{"start":{"connected":[],"version":"iperf 3.9"},"intervals":[],"end":{},"error":"unable to connect to server: Connection refused"}"#;
    let Detected::Is(format) = detect(refused.as_bytes()) else { panic!("not known") };
    let error = read("f", format, refused.as_bytes(), &options()).unwrap_err();
    assert!(error.text.contains("Connection refused"), "{error}");
}
