//! Arguments of `wirespeed explain`.

use super::Results;
use clap::{Args, ValueEnum};
use import::monitor::{DateOrder, MonitorFormat, TimeZone};
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
Examples:
  wirespeed explain esxtop.csv -o page.html
  wirespeed explain --window 'peak=2024-05-07 09:00..2024-05-07 10:00' sar.json
  iostat -xt 5 120 > db1.txt; wirespeed explain db1.txt --tz Europe/Berlin
  wirespeed explain --collect esxi:esx1 esxi:esx2 brocade:sw1
  wirespeed explain monday.csv --out monday.wsr; wirespeed compare monday.wsr tuesday.wsr";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ExplainArgs {
    /// Monitoring files or results, of one time or of several hosts and switches (see docs/explain.md for the formats)
    #[arg(value_name = "FILE", required_unless_present = "collect")]
    pub files: Vec<PathBuf>,
    /// What the files are [default: by their content]
    #[arg(long = "as", value_name = "FORMAT", value_parser = format)]
    pub of: Option<MonitorFormat>,
    /// A map of the columns of a CSV file (TOML, repeatable; docs/explain.md says how to write one)
    #[arg(long, value_name = "FILE")]
    pub map: Vec<PathBuf>,
    /// What no file says: speeds and limits by hop, and other names of hops and devices (TOML), or a scenario with the lab
    /// (repeatable)
    #[arg(long, value_name = "FILE")]
    pub topology: Vec<PathBuf>,
    /// A time to explain (repeatable), as dates or as times since the beginning [default: the whole, the busiest, the
    /// quietest, and incidents]
    #[arg(long, value_name = "NAME=FROM..TO", value_parser = window)]
    pub window: Vec<(String, String, String)>,
    /// The time zone of times that name none: UTC, Europe/Berlin
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    pub tz: Option<TimeZone>,
    /// Whether the clocks of several files are aligned by traffic that two of them saw, or kept as they are
    #[arg(long, value_enum, default_value_t = Clocks::Align)]
    pub clocks: Clocks,
    /// The order of dates such as 04/05/18: ymd, dmy or mdy
    #[arg(long, value_name = "ORDER", value_parser = dates)]
    pub dates: Option<DateOrder>,
    /// The length of an interval in files without time stamps
    #[arg(long, value_name = "TIME", value_parser = super::spelling::time)]
    pub interval: Option<Duration>,
    /// Keep the first report of iostat: with -y it is not the one since the start of the system
    #[arg(long)]
    pub keep_first: bool,
    /// Print the commands that collect what explains a system, for hosts, switches and arrays, and read nothing; of the places
    /// named alone: `--collect esxi:esx1 linux:db1 brocade:sw1`
    #[arg(long)]
    pub collect: bool,
    /// Where the record is written [default: FILE-1.wsr, FILE-2.wsr, … here]
    #[arg(long, value_name = "RUN")]
    pub out: Option<PathBuf>,
    /// Write the review to a file besides: .html, .md, .txt or .json
    #[arg(short = 'o', long, value_name = "FILE")]
    pub review: Option<PathBuf>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    #[command(flatten)]
    pub output: Results,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Clocks {
    /// Offsets that are clear are applied, and said
    Align,
    /// All times are taken as written
    Keep,
}

fn format(word: &str) -> Result<MonitorFormat, String> {
    let known = MonitorFormat::ALL.iter().copied().find(|format| format.word() == word);
    known.ok_or_else(|| {
        let words: Vec<&str> = MonitorFormat::ALL.iter().map(|format| format.word()).collect();
        format!("one of {}", words.join(", "))
    })
}

fn window(text: &str) -> Result<(String, String, String), String> {
    let parts = text.split_once('=').and_then(|(name, span)| Some((name, span.split_once("..")?)));
    match parts {
        Some((name, (from, to))) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), from.trim().to_owned(), to.trim().to_owned()))
        }
        _ => Err(
            "NAME=FROM..TO, as in `peak=2024-05-07 09:00..2024-05-07 10:00` or `end=5min..10min`"
                .to_owned(),
        ),
    }
}

fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name)
        .map_err(|_| "a name of the IANA database, as in `Europe/Berlin`, or UTC".to_owned())
}

fn dates(word: &str) -> Result<DateOrder, String> {
    let known = DateOrder::ALL.iter().find(|(_, known)| *known == word);
    known.map(|(order, _)| *order).ok_or_else(|| "one of ymd, dmy, mdy".to_owned())
}
