//! Single values: texts, words, counts, and quantities with their units.

use crate::datum::Datum;
use crate::decode::mismatch;
use crate::diagnostics::{At, Mistake, Sink};
use crate::fields::{KeyWord, Type};
use crate::model::LatencyPoint;
use crate::names;
use crate::nearest::{join, nearest, suggestion};
use crate::tree::{Node, TomlValue, clip};
use units::{ByteRate, Bytes, Iops, LinkRate, LinkRateError, Percent, UnitError};

/// Rungs of a ladder at most: doubling from 1 cannot make more within 64 bits.
const RUNGS_MAX: usize = 64;
/// Bytes that a logical block can have.
const SECTORS: [u64; 2] = [512, 4096];

/// What is expected, in the words of messages and of the reference.
pub(crate) fn expected(ty: &Type) -> String {
    match ty {
        Type::Text => "text".to_owned(),
        Type::Name => "a name such as `vm1` or `vm{1..8}`".to_owned(),
        Type::Ref(what) if what.starts_with('`') => (*what).to_owned(),
        Type::Ref(what) => format!("the name of {what}"),
        Type::Refs(what) => format!("the name of {what}, or a list of names"),
        Type::Flag => "`true` or `false`".to_owned(),
        Type::Count { min, max } if *max > i64::MAX as u64 / 2 => {
            format!("a whole number, {min} or more")
        }
        Type::Count { min, max } => format!("a whole number from {min} to {max}"),
        Type::Number { min, max } => format!("a number from {min} to {max}"),
        Type::Size { .. } => "a size such as `8KiB`".to_owned(),
        Type::Time { .. } => "a duration such as `10s`".to_owned(),
        Type::Iops => "a rate such as `5000 IOPS`".to_owned(),
        Type::Percent => {
            "a share such as `67%`, or a number from 2 to 100 without the sign".to_owned()
        }
        Type::SizeOrPercent => "a size such as `10GiB` or a share such as `20%`".to_owned(),
        Type::Amount => {
            "a whole number, a rate such as `5000 IOPS` or a size such as `8KiB`".to_owned()
        }
        Type::Rate => "a data rate such as `100 MB/s`".to_owned(),
        Type::IopsOrRate => {
            "a rate of operations such as `5000 IOPS`, or of data such as `100 MB/s`".to_owned()
        }
        Type::RateOrWire => "a data rate such as `800 MB/s` or `90% of wire`".to_owned(),
        Type::LinkRate => {
            "a standard such as `8gfc` or `10gbe`, or a data rate such as `800 MB/s`".to_owned()
        }
        Type::LinkRateOrRef(what) => {
            format!("{}, or the name of {what}", expected(&Type::LinkRate))
        }
        Type::Sector => "512 or 4096".to_owned(),
        Type::CountOrSize => "a whole number of I/Os, or a size such as `1MiB`".to_owned(),
        Type::Point => "`mean`, `max` or a percentile such as `p99`".to_owned(),
        Type::Word(words) => one_of(words),
        Type::Table(def) => format!("a table ({})", def.title),
        Type::Tables(_) => "a list of tables".to_owned(),
        Type::TableOrTables(_) => "a table or a list of tables".to_owned(),
        Type::Map(_) => "tables by name".to_owned(),
        Type::WordOrTable(words, _) => format!("{} or a table", one_of(words)),
        Type::FlagOrTable(_) => "`true`, `false` or a table".to_owned(),
        Type::OneOrMany(one) => format!("{}, or a list of them", expected(one)),
        Type::Axis(one) => format!("a list{}, each {}", ladder_words(one), expected(one)),
    }
}

fn one_of(words: &[KeyWord]) -> String {
    let words: Vec<String> = words.iter().map(|w| format!("`{}`", w.word)).collect();
    join(&words, "or")
}

/// A right value as one would write it in TOML, for help at a missing key.
pub(crate) fn example(ty: &Type) -> Option<String> {
    let text = match ty {
        Type::Text | Type::Name | Type::Ref(_) | Type::Refs(_) => "\"…\"",
        Type::Size { .. } => "\"8KiB\"",
        Type::Time { .. } => "\"10s\"",
        Type::Iops => "\"5000 IOPS\"",
        Type::Percent => "\"5%\"",
        Type::LinkRate => "\"8gfc\"",
        Type::Point => "\"p99\"",
        Type::Count { min, .. } => return Some(min.to_string()),
        Type::OneOrMany(one) => return example(one),
        _ => return None,
    };
    Some(text.to_owned())
}

/// Why a value is not what it should be.
enum ScalarProblem {
    /// It is of another kind altogether.
    Shape,
    /// It is of the right kind, but wrong: the message, and help.
    Because(String, Option<String>),
}

/// Decodes a value that is not a list or a table.
pub(crate) fn decode(node: &Node, ty: &Type, key: &str, sink: &mut Sink) -> Option<Datum> {
    let decoded = match &node.value {
        TomlValue::Text(text) => from_text(text, ty),
        TomlValue::Integer(_, Some(n)) => from_integer(*n, ty),
        TomlValue::Float(n) => from_number(*n, ty),
        TomlValue::Flag(flag) if matches!(ty, Type::Flag) => Ok(Datum::Flag(*flag)),
        _ => Err(ScalarProblem::Shape),
    };
    match decoded {
        Ok(datum) => return Some(datum),
        Err(ScalarProblem::Shape) => mismatch(node, key, &expected(ty), sink, meant(node, ty, key)),
        Err(ScalarProblem::Because(message, help)) => {
            sink.push(|| Mistake::new(node.at, format!("{key}: {message}")).maybe_help(help));
        }
    }
    None
}

/// How a value of the wrong kind is written that has the right one within: a number in quotes, or one without its unit.
fn meant(node: &Node, ty: &Type, key: &str) -> Option<String> {
    let number = match &node.value {
        TomlValue::Text(text) => return without_quotes(text, ty),
        TomlValue::List(_) if key == "workload" => {
            let several = "for several at once write `load = [{ workload = \"…\", on = \"…\" }]`";
            return Some(several.to_owned());
        }
        TomlValue::Integer(_, Some(n)) if *n > 0 => n.to_string(),
        TomlValue::Float(n) if n.is_finite() && *n > 0.0 => n.to_string(),
        TomlValue::Integer(_, Some(n)) if matches!(ty, Type::Text) => n.to_string(),
        TomlValue::Flag(flag) if matches!(ty, Type::Text) => flag.to_string(),
        _ => return None,
    };
    let unit = match ty {
        Type::Size { .. } | Type::SizeOrPercent if number.len() < 4 => "KiB",
        Type::Size { .. } | Type::SizeOrPercent => "B",
        Type::Time { .. } => "s",
        Type::Rate | Type::RateOrWire => " MB/s",
        Type::Text => {
            let text = "write it in quotes, a quantity with its unit: ";
            return Some(format!("{text}`\"{}\"`, `\"8 GB\"`", clip(&number)));
        }
        _ => return None,
    };
    Some(format!("write it in quotes and with its unit, as in `\"{}{unit}\"`", clip(&number)))
}

fn without_quotes(text: &str, ty: &Type) -> Option<String> {
    let text = text.trim();
    let plain = || format!("write it without quotes: `{}`", clip(text));
    match ty {
        Type::Count { .. } | Type::Amount | Type::CountOrSize => {
            text.parse::<u64>().ok().map(|_| plain())
        }
        Type::Number { .. } => text.parse::<f64>().ok().map(|_| plain()),
        Type::Flag => {
            let flag = match text {
                "true" | "yes" | "on" => "true",
                "false" | "no" | "off" => "false",
                _ => return None,
            };
            Some(format!("write `{flag}`, without quotes"))
        }
        Type::Point => {
            let point = format!("p{text}");
            self::point(&point).is_ok().then(|| format!("did you mean `{point}`?"))
        }
        _ => None,
    }
}

fn from_text(text: &str, ty: &Type) -> Result<Datum, ScalarProblem> {
    match ty {
        Type::Text if text.trim().is_empty() => {
            Err(ScalarProblem::Because("the text is empty".to_owned(), None))
        }
        Type::Text => Ok(Datum::Text(text.to_owned())),
        Type::Name => name(text),
        Type::Ref(what) if text.is_empty() => Err(ScalarProblem::Because(
            format!("the text is empty; expected the name of {what}"),
            None,
        )),
        Type::Ref(_) => Ok(Datum::Text(text.to_owned())),
        Type::LinkRateOrRef(_) => Ok(Datum::Text(text.to_owned())),
        Type::Word(words) => word(text, words),
        Type::Point => point(text),
        Type::Size { min, max } => size(text, *min, *max),
        Type::Time { zero } => time(text, *zero),
        Type::Iops => iops(text),
        Type::Percent => Percent::parse(text).map(Datum::Percent).map_err(|e| unit(text, ty, &e)),
        Type::SizeOrPercent if text.trim_end().ends_with('%') => from_text(text, &Type::Percent),
        Type::SizeOrPercent => size(text, 1, u64::MAX),
        Type::Amount => Iops::parse(text)
            .map(Datum::Iops)
            .or_else(|_| Bytes::parse(text).map(Datum::Size))
            .map_err(|_| ScalarProblem::Shape),
        Type::LinkRate => link(text),
        Type::Rate => rate(text),
        Type::IopsOrRate => match (Iops::parse(text), ByteRate::parse(text)) {
            (Ok(iops), _) => Ok(Datum::Iops(iops)),
            (Err(_), Ok(rate)) => Ok(Datum::Rate(rate)),
            // A unit that is neither's is taken for a rate of operations that was misspelt, unless it is that of data.
            (Err(error), Err(_)) => Err(unit(text, ty, &error)),
        },
        Type::Sector => match Bytes::parse(text) {
            Ok(size) if SECTORS.contains(&size.0) => Ok(Datum::Size(size)),
            _ => Err(ScalarProblem::Shape),
        },
        Type::CountOrSize if text.trim().parse::<u64>().is_ok() => Err(ScalarProblem::Shape),
        Type::CountOrSize => size(text, 1, u64::MAX),
        Type::RateOrWire => match text.trim_end().strip_suffix("of wire") {
            Some(share) => match from_text(share.trim_end(), &Type::Percent)? {
                Datum::Percent(share) => Ok(Datum::Wire(share)),
                other => Ok(other),
            },
            None => rate(text),
        },
        _ => Err(ScalarProblem::Shape),
    }
}

fn from_integer(n: i64, ty: &Type) -> Result<Datum, ScalarProblem> {
    match ty {
        Type::Count { min, max } => match u64::try_from(n) {
            Ok(n) if (*min..=*max).contains(&n) => Ok(Datum::Count(n)),
            _ => Err(ScalarProblem::Shape),
        },
        Type::Amount => u64::try_from(n).map(Datum::Count).map_err(|_| ScalarProblem::Shape),
        Type::Sector => match u64::try_from(n) {
            Ok(n) if SECTORS.contains(&n) => Ok(Datum::Size(Bytes(n))),
            _ => Err(ScalarProblem::Shape),
        },
        Type::CountOrSize => match u32::try_from(n) {
            Ok(n) if n > 0 => Ok(Datum::Count(n.into())),
            _ => Err(ScalarProblem::Shape),
        },
        _ => from_number(n as f64, ty),
    }
}

/// Adding zero makes a negative zero a plain one, which prints without its sign.
fn from_number(n: f64, ty: &Type) -> Result<Datum, ScalarProblem> {
    match ty {
        Type::Number { min, max } if (*min..=*max).contains(&n) => Ok(Datum::Number(n)),
        Type::Percent => match Percent::without_sign(n) {
            Some(share) => Ok(Datum::Percent(share)),
            None if (0.0..=1.0).contains(&n) => Err(bare_share(n)),
            None => Err(ScalarProblem::Shape),
        },
        Type::Iops | Type::IopsOrRate if n.is_finite() && n >= 0.0 => {
            Ok(Datum::Iops(Iops(n + 0.0)))
        }
        _ => Err(ScalarProblem::Shape),
    }
}

/// A share without its sign that may be meant as a fraction: `0.7` for 70%, or 0.7%.
fn bare_share(n: f64) -> ScalarProblem {
    ScalarProblem::Because(
        format!("`{n}` can be read as {}% or as {n}%", clean(n * 100.0)),
        Some(format!("did you mean `\"{}%\"`? for {n}% write `\"{n}%\"`", clean(n * 100.0))),
    )
}

/// A number without the noise of binary fractions: 57, not 56.99999999999999.
fn clean(n: f64) -> f64 {
    (n * 1e9).round() / 1e9
}

fn name(text: &str) -> Result<Datum, ScalarProblem> {
    match names::check(text) {
        Ok(()) => Ok(Datum::Text(text.to_owned())),
        Err(problem) => Err(ScalarProblem::Because(problem, None)),
    }
}

fn word(text: &str, words: &'static [KeyWord]) -> Result<Datum, ScalarProblem> {
    match words.iter().find(|w| w.word == text) {
        Some(found) => Ok(Datum::Word(found.word)),
        None => {
            let message = format!("expected {}, found the text `{}`", one_of(words), clip(text));
            let near = nearest(text, words.iter().map(|w| w.word));
            Err(ScalarProblem::Because(message, near.map(|near| format!("did you mean `{near}`?"))))
        }
    }
}

/// `mean`, `max`, `p99`, `p99.9`; `p99_9` is the same.
/// A point of a latency distribution by its name.
pub(crate) fn latency_point(text: &str) -> Option<LatencyPoint> {
    match point(text) {
        Ok(Datum::Point(point)) => Some(point),
        _ => None,
    }
}

fn point(text: &str) -> Result<Datum, ScalarProblem> {
    let percentile = |digits: &str| {
        let plain = digits.replace('_', ".");
        let digits_only = plain.chars().all(|c| c.is_ascii_digit() || c == '.');
        plain.parse::<f64>().ok().filter(|p| digits_only && *p > 0.0 && *p < 100.0)
    };
    match text {
        "mean" => Ok(Datum::Point(LatencyPoint::Mean)),
        "max" => Ok(Datum::Point(LatencyPoint::Max)),
        _ => match text.strip_prefix('p').and_then(percentile) {
            Some(p) => Ok(Datum::Point(LatencyPoint::Percentile(p))),
            None => Err(ScalarProblem::Shape),
        },
    }
}

fn size(text: &str, min: u64, max: u64) -> Result<Datum, ScalarProblem> {
    let ty = Type::Size { min, max };
    let size = Bytes::parse(text).map_err(|e| unit(text, &ty, &e))?;
    if size.0 < min {
        return Err(ScalarProblem::Because(
            format!("expected at least {}, found `{}`", Bytes(min), clip(text)),
            None,
        ));
    }
    if size.0 > max {
        return Err(ScalarProblem::Because(
            format!("expected at most {}, found `{}`", Bytes(max), clip(text)),
            None,
        ));
    }
    Ok(Datum::Size(size))
}

fn time(text: &str, zero: bool) -> Result<Datum, ScalarProblem> {
    let ty = Type::Time { zero };
    let time = units::parse_duration(text).map_err(|e| unit(text, &ty, &e))?;
    if time.is_zero() && !zero {
        return Err(ScalarProblem::Because("expected more than zero".to_owned(), None));
    }
    Ok(Datum::Time(time))
}

fn rate(text: &str) -> Result<Datum, ScalarProblem> {
    ByteRate::parse(text).map(Datum::Rate).map_err(|e| unit(text, &Type::RateOrWire, &e))
}

/// The speed that a text states; the message and the help where it is none.
pub(crate) fn link_rate(text: &str) -> Result<LinkRate, (String, Option<String>)> {
    match link(text) {
        Ok(Datum::Link(rate)) => Ok(rate),
        Ok(_) | Err(ScalarProblem::Shape) => {
            Err((format!("expected {}", expected(&Type::LinkRate)), None))
        }
        Err(ScalarProblem::Because(message, help)) => Err((message, help)),
    }
}

/// A speed, with the standard that was probably meant.
fn link(text: &str) -> Result<Datum, ScalarProblem> {
    LinkRate::parse(text).map(Datum::Link).map_err(|error| {
        let help = match error {
            LinkRateError::Unknown(_) => suggestion(&text.trim().to_lowercase(), LinkRate::names()),
            LinkRateError::Mtu(_) | LinkRateError::Range(_) => None,
        };
        let message = match error {
            LinkRateError::Unknown(_) => {
                format!(
                    "`{}` is neither {}",
                    clip(text),
                    expected(&Type::LinkRate).replacen(", or ", " nor ", 1)
                )
            }
            LinkRateError::Mtu(mtu) => LinkRateError::Mtu(clip(&mtu)).to_string(),
            LinkRateError::Range(text) => LinkRateError::Range(clip(&text)).to_string(),
        };
        ScalarProblem::Because(message, help)
    })
}

fn iops(text: &str) -> Result<Datum, ScalarProblem> {
    Iops::parse(text).map(Datum::Iops).map_err(|e| unit(text, &Type::Iops, &e))
}

/// A quantity that could not be read, with the unit that was probably meant.
fn unit(text: &str, ty: &Type, error: &UnitError) -> ScalarProblem {
    let help = match error {
        UnitError::UnknownUnit { unit, .. } => {
            let number = text.trim().strip_suffix(unit.as_str()).unwrap_or("").trim_end();
            let meant = |known: &&&str| {
                let known = known.trim_start();
                known.eq_ignore_ascii_case(unit)
                    || known.eq_ignore_ascii_case(&format!("{unit}/s"))
                    || known.eq_ignore_ascii_case(&format!("{unit} of wire"))
            };
            let near = units_of(ty).iter().find(meant);
            let near = near.map(|near| near.trim_end()).or_else(|| other_unit(unit, ty));
            near.map(|near| format!("did you mean `{}{near}`?", clip(number)))
        }
        UnitError::NoUnit { .. } => match ty {
            Type::Iops | Type::IopsOrRate => {
                Some(format!("write `{0} IOPS`, or `{0}` without quotes", clip(text.trim())))
            }
            _ => None,
        },
        _ => None,
    };
    ScalarProblem::Because(printed(error), help)
}

/// What other programs call a unit.
fn other_unit(unit: &str, ty: &Type) -> Option<&'static str> {
    let plain = unit.to_ascii_lowercase();
    Some(match (ty, plain.as_str()) {
        (Type::Rate | Type::RateOrWire | Type::IopsOrRate, "mbit" | "mbit/s" | "mbps") => " Mb/s",
        (Type::Rate | Type::RateOrWire | Type::IopsOrRate, "gbit" | "gbit/s" | "gbps") => " Gb/s",
        (Type::Size { .. } | Type::SizeOrPercent | Type::CountOrSize, "k") => "KiB",
        (Type::Size { .. } | Type::SizeOrPercent | Type::CountOrSize, "m") => "MiB",
        (Type::Size { .. } | Type::SizeOrPercent | Type::CountOrSize, "g") => "GiB",
        (Type::Size { .. } | Type::SizeOrPercent | Type::CountOrSize, "t") => "TiB",
        (Type::Time { .. }, "sec" | "secs" | "second" | "seconds") => "s",
        (Type::Time { .. }, "msec" | "millisecond" | "milliseconds") => "ms",
        (Type::Time { .. }, "usec" | "microsecond" | "microseconds") => "us",
        (Type::Time { .. }, "minute" | "minutes" | "mins") => "min",
        (Type::Time { .. }, "hour" | "hours") => "h",
        _ => return None,
    })
}

/// The message of a unit error, with the text that it quotes cut to a readable length.
fn printed(error: &UnitError) -> String {
    let mut error = error.clone();
    match &mut error {
        UnitError::NoNumber { text, .. }
        | UnitError::NoUnit { text, .. }
        | UnitError::OutOfRange { text, .. }
        | UnitError::UnknownUnit { unit: text, .. } => *text = clip(text),
    }
    error.to_string()
}

/// Units by their usual spelling, to recognise them in another case.
fn units_of(ty: &Type) -> &'static [&'static str] {
    match ty {
        Type::Size { .. } | Type::SizeOrPercent | Type::CountOrSize => {
            &["KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB", "B"]
        }
        Type::IopsOrRate => {
            &[" IOPS", "k IOPS", "M IOPS", " MB/s", " GB/s", " KB/s", " MiB/s", " GiB/s", " Gb/s"]
        }
        Type::RateOrWire | Type::Rate => {
            &[" MB/s", " GB/s", " KB/s", " MiB/s", " GiB/s", " Gb/s", "% of wire"]
        }
        Type::Iops => &[" IOPS", "k IOPS", "M IOPS"],
        Type::Time { .. } => &["ms", "us", "ns", "s", "m", "h"],
        _ => &[],
    }
}

/// A doubling ladder `A..B` of sizes or counts.
pub(crate) fn ladder(node: &Node, ty: &Type, key: &str, sink: &mut Sink) -> Option<Vec<At<Datum>>> {
    let ends = match &node.value {
        TomlValue::Text(text) => text.split_once(".."),
        _ => None,
    };
    let Some((from, to)) = ends else {
        let help = match &node.value {
            TomlValue::Table(_) => None,
            _ => Some(format!("one value is a list too: `{key} = [ … ]`")),
        };
        mismatch(node, key, &format!("a list{} of values", ladder_words(ty)), sink, help);
        return None;
    };
    let rungs = end(from, ty)
        .and_then(|from| Ok((from, end(to, ty)?)))
        .and_then(|(from, to)| rungs(from, to, ty));
    match rungs {
        Ok(rungs) => Some(rungs.into_iter().map(|n| At::new(node.at, rung(n, ty))).collect()),
        Err(problem) => {
            sink.push(|| Mistake::new(node.at, format!("{key}: {problem}")));
            None
        }
    }
}

fn end(text: &str, ty: &Type) -> Result<u64, String> {
    match ty {
        Type::Size { .. } => match from_text(text, ty) {
            Ok(Datum::Size(size)) => Ok(size.0),
            Ok(_) | Err(ScalarProblem::Shape) => Err(format!("expected {}", expected(ty))),
            Err(ScalarProblem::Because(problem, _)) => Err(problem),
        },
        Type::Count { min, max } => match text.trim().parse::<u64>() {
            Ok(n) if (*min..=*max).contains(&n) => Ok(n),
            _ => Err(format!("expected {}, found `{}`", expected(ty), clip(text.trim()))),
        },
        _ => Err(format!(
            "`..` doubles sizes and counts only; list the values, each {}",
            expected(ty)
        )),
    }
}

fn rungs(from: u64, to: u64, ty: &Type) -> Result<Vec<u64>, String> {
    let doubled = std::iter::successors(Some(from.max(1)), |n| n.checked_mul(2));
    let rungs: Vec<u64> = doubled.take(RUNGS_MAX).take_while(|n| *n <= to).collect();
    let shown = |n: u64| match ty {
        Type::Size { .. } => Bytes(n).to_string(),
        _ => n.to_string(),
    };
    match rungs.last() {
        Some(last) if *last == to => Ok(rungs),
        Some(last) => {
            let (last, next) = (shown(*last), shown(last.saturating_mul(2)));
            Err(format!("doubling passes the end of the ladder: {last} is followed by {next}"))
        }
        None => Err("the ladder ends before it begins".to_owned()),
    }
}

fn rung(n: u64, ty: &Type) -> Datum {
    match ty {
        Type::Size { .. } => Datum::Size(Bytes(n)),
        _ => Datum::Count(n),
    }
}

fn ladder_words(ty: &Type) -> &'static str {
    match ty {
        Type::Size { .. } | Type::Count { .. } => " or a doubling ladder `A..B`",
        _ => "",
    }
}
