//! Whose monitoring file it is: by its content, or as the user says.

use super::results;
use std::fmt;

/// Defines the formats.
macro_rules! formats {
    ($($format:ident $word:literal $about:literal)+) => {
        /// A format of monitoring or of results.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum MonitorFormat {
            $(#[doc = $about] $format,)+
        }

        impl MonitorFormat {
            /// All of them.
            pub const ALL: &[MonitorFormat] = &[$(MonitorFormat::$format),+];

            /// The word for it on the command line.
            pub fn word(self) -> &'static str {
                match self {
                    $(MonitorFormat::$format => $word,)+
                }
            }
        }

        impl fmt::Display for MonitorFormat {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(MonitorFormat::$format => $about,)+
                })
            }
        }
    };
}

formats! {
    Iostat "iostat" "iostat's text"
    IostatJson "iostat-json" "iostat's JSON"
    SadfJson "sadf-json" "sadf's JSON"
    SadfXml "sadf-xml" "sadf's XML"
    Pdh "pdh-csv" "PDH-CSV of esxtop, perfmon, typeperf or relog"
    FioJson "fio-json" "fio's JSON results"
    Iperf3 "iperf3-json" "iperf3's JSON results"
    Mapped "csv" "CSV by a map of its columns"
    Brocade "brocade" "texts of Brocade switches"
    Mds "mds" "texts of Cisco MDS switches"
    SnmpWalk "snmpwalk" "SNMP walks"
    Proc "proc" "Linux' own counters in /proc and /sys"
    Prometheus "prometheus" "Prometheus' text or query JSON"
    Iometer "iometer-csv" "Iometer's results"
    Vdbench "vdbench-flat" "vdbench's flat file"
    DiskspdXml "diskspd-xml" "diskspd's XML results"
    NtttcpXml "ntttcp-xml" "NTttcp's XML results"
    Hcibench "hcibench" "HCIBench's summary"
}

/// What the first bytes of a file show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detected {
    /// A format.
    Is(MonitorFormat),
    /// A format that another program converts, with what to do.
    Refused(String),
    /// Nothing known.
    Unknown,
}

/// Bytes that are looked at.
pub const HEAD: usize = 64 << 10;

/// Whose file it is, by its first bytes.
pub fn detect(head: &[u8]) -> Detected {
    if let Some(refused) = refused(head) {
        return Detected::Refused(refused);
    }
    let wide = super::lines::utf16(head).map(std::borrow::Cow::Owned);
    let text = wide.unwrap_or_else(|| String::from_utf8_lossy(head));
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match text_format(text) {
        Some(format) => Detected::Is(format),
        None => converted(text).map_or(Detected::Unknown, Detected::Refused),
    }
}

/// A text of another program, of which what is said in full is had otherwise.
fn converted(text: &str) -> Option<String> {
    let first = text.lines().next().unwrap_or_default();
    let foreign = match () {
        () if is_mpstat(text) => "mpstat's JSON is not read: it counts processors and no devices",
        () if first.starts_with("procs ") && first.contains("-memory-") => {
            "vmstat's text is not read: it counts no single device"
        }
        () if first.starts_with("AAA,") => "a file of nmon is not read",
        () => "",
    };
    if !foreign.is_empty() {
        return Some(format!(
            "{foreign}; on Linux take `iostat -xt -o JSON 10` in its place, or of past days `sadf -j /var/log/sysstat/saDD -- -A`"
        ));
    }
    if text.lines().take(4).any(|line| line.trim() == "extended device statistics") {
        return Some(
            "iostat of Solaris or FreeBSD is not read; make a table of it, with a time in each row, and a map of its columns (docs/explain.md, \"Maps of columns\")".to_owned(),
        );
    }
    let svg = text.lines().take(4).any(|line| line.starts_with("<svg"));
    let what = match () {
        () if first.starts_with("# hostname;interval;timestamp") => "`sadf -d`",
        () if first.starts_with("# uptime_cs;") => "`sadf -r`",
        () if svg && text.contains("_x86_64_") => "`sadf -g`",
        () if first.split('\t').nth(2).is_some_and(|time| super::stamp::stamp(time).is_some()) => {
            "`sadf -p`"
        }
        () if first.starts_with("Linux ") && first.contains('(') => {
            "a report of sar, mpstat or pidstat as text"
        }
        () => return None,
    };
    Some(format!(
        "{what} is not read; take JSON of the binary file that it came from: sadf -j /var/log/sysstat/saDD -- -A > FILE.json (or iostat -xt -o JSON)"
    ))
}

/// What is not text, with the command that makes text of it.
fn refused(head: &[u8]) -> Option<String> {
    let of = |bytes: &[u8], what: &str, command: &str| {
        head.starts_with(bytes).then(|| format!("{what} is not read; convert it: {command}"))
    };
    of(&[0x96, 0xd5], "a binary file of sar (sa)", "sadf -j FILE -- -A > FILE.json")
        .or_else(|| of(&[0xd5, 0x96], "a binary file of sar (sa)", "sadf -j FILE -- -A > FILE.json"))
        .or_else(|| {
            let cab = of(b"MSCF", "a cabinet", "expand FILE -F:* .");
            cab.or_else(|| of(b"BZh", "a compressed file", "bunzip2 FILE"))
        })
        .or_else(|| {
            of(&[0x28, 0xb5, 0x2f, 0xfd], "a compressed file", "unzstd FILE")
                .or_else(|| of(&[0xfd, b'7', b'z'], "a compressed file", "unxz FILE"))
                .or_else(|| of(b"PK\x03\x04", "an archive", "unzip FILE"))
        })
        .or_else(|| {
            let blg = utf16(head, "Performance Logs") || head.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]);
            blg.then(|| {
                "a binary log of perfmon (BLG) is not read; convert it: relog FILE.blg -f csv -o FILE.csv".to_owned()
            })
        })
        .or_else(|| {
            // The header of the first buffer of an event trace: its size, and in it the name of the logger.
            let etl = head.len() > 0x68 && head[4..8] == head[0..4] && utf16(head, ".etl");
            etl.then(|| {
                "an event trace (ETL) is not read; convert it: tracerpt FILE.etl -o FILE.csv -of CSV, or xperf -i FILE.etl -a diskio".to_owned()
            })
        })
}

/// Whether the bytes hold a text in UTF-16.
fn utf16(head: &[u8], text: &str) -> bool {
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    head.windows(wide.len()).any(|window| window == wide)
}

fn text_format(text: &str) -> Option<MonitorFormat> {
    use MonitorFormat as F;
    let start = text.trim_start_matches('"');
    if start.starts_with("(PDH-CSV") || start.starts_with("(PDH-TSV") {
        return Some(F::Pdh);
    }
    if text.contains("<Results>") && text.contains("<ComputerName>") {
        return Some(F::DiskspdXml);
    }
    // A shell's words may stand before a document.
    if text.contains("\"fio version\"") {
        return Some(F::FioJson);
    }
    if text.contains("\"version\"") && text.contains("\"iperf 3") {
        return Some(F::Iperf3);
    }
    let prompt = text.lines().next().is_some_and(super::lines::is_prompt);
    if text.starts_with('{') || text.starts_with('[') && !prompt {
        let has = |key: &str| text.contains(&format!("\"{key}\""));
        return match () {
            () if is_mpstat(text) => None,
            () if has("sysstat")
                && (has("sysdata-version") || has("timestamp") && !has("disk_device")) =>
            {
                Some(F::SadfJson)
            }
            () if has("sysstat") || has("avg-cpu") => Some(F::IostatJson),
            () if has("resultType") || has("errorType") => Some(F::Prometheus),
            () if has("iperf3") || has("sum_sent") || has("test_start") => Some(F::Iperf3),
            () if has("version") && text.contains("\"iperf 3") => Some(F::Iperf3),
            () => None,
        };
    }
    if text.starts_with('<') && !text.lines().take(400).any(results::vdbench::is_header) {
        return match () {
            () if text.contains("<sysstat") => Some(F::SadfXml),
            () if text.contains("<ntttcps") || text.contains("<ntttcpr") => Some(F::NtttcpXml),
            // Without these it is a profile, which is a workload.
            () if text.contains("<Results>") => Some(F::DiskspdXml),
            () => None,
        };
    }
    let lines = || text.lines().map(str::trim_end).take(400);
    let any = |test: &dyn Fn(&str) -> bool| lines().any(test);
    match () {
        () if any(&|line| line.starts_with("'Target Type") || line.starts_with("'Time Stamp")) => {
            Some(F::Iometer)
        }
        () if any(&results::vdbench::is_header) => Some(F::Vdbench),
        () if results::hcibench::is(text) => Some(F::Hcibench),
        () if any(&is_iostat) => Some(F::Iostat),
        () if any(&is_brocade) => Some(F::Brocade),
        () if any(&is_mds) => Some(F::Mds),
        () if any(&super::snmp::is) => Some(F::SnmpWalk),
        () if any(&super::proc::is) => Some(F::Proc),
        () if any(&is_exposition) => Some(F::Prometheus),
        () if super::mapped::is_known(text) => Some(F::Mapped),
        () if any(&is_rates) => Some(F::Brocade),
        () => None,
    }
}

/// mpstat tells the time of an interval as a text, where sadf has a date and a time.
fn is_mpstat(text: &str) -> bool {
    let of_text = |(_, after): (&str, &str)| {
        after
            .trim_start()
            .strip_prefix(':')
            .is_some_and(|value| value.trim_start().starts_with('"'))
    };
    text.starts_with('{')
        && text.contains("\"sysstat\"")
        && ["\"cpu-load\"", "\"sum-interrupts\"", "\"node-load\""]
            .iter()
            .any(|key| text.contains(key))
        && text.split_once("\"timestamp\"").is_some_and(of_text)
}

fn is_iostat(line: &str) -> bool {
    let words = || line.split_whitespace();
    let device = words().any(|word| matches!(word, "Device" | "Device:"));
    device && words().any(|word| matches!(word, "r/s" | "tps")) || line.starts_with("avg-cpu:")
}

fn is_brocade(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    let stats = ["stat_wtx", "stat64_wtx", "stat_wrx", "stat64_wrx", "er_crc", "tim_txcrd_z"];
    let commands = ["portperfshow", "porterrshow", "portstatsshow", "portstats64show"];
    let lower = line.to_ascii_lowercase();
    stats.contains(&first) || commands.iter().any(|command| lower.contains(command))
}

/// `fc1/1`, alone on a line or with what it is.
fn is_mds(line: &str) -> bool {
    super::switch::interface(line).is_some_and(|name| name.starts_with("fc") && name.contains('/'))
}

fn is_exposition(line: &str) -> bool {
    line.starts_with("# TYPE ") || line.starts_with("# HELP ") || line.starts_with("node_")
}

/// A row of `302.2k 1.7m` of portperfshow.
fn is_rates(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.len() >= 2
        && words.iter().all(|word| super::number::scaled(word, 1000.0).is_some())
        && words.iter().any(|word| word.ends_with(['k', 'm', 'g']))
}
