//! Time stamps as other programs print them: in any order of day and month, with 12 or 24 hours, with or without a zone.
//!
//! A file's dates are read together: `04/05` is decided by other dates of the file, by AM and PM, or by what makes time go
//! forward; else it is an assumption, and said.

use super::error::ReadError;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// Order of the numbers of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// 2018-04-24.
    Ymd,
    /// 24/04/2018.
    Dmy,
    /// 04/24/2018.
    Mdy,
}

impl DateOrder {
    /// All of them, with their words on the command line.
    pub const ALL: [(DateOrder, &str); 3] =
        [(DateOrder::Ymd, "ymd"), (DateOrder::Dmy, "dmy"), (DateOrder::Mdy, "mdy")];
}

/// A stamp whose order may not be known yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stamp {
    /// The numbers of the date as they stand; `None` where there is only a time.
    date: Option<([i32; 3], Option<DateOrder>)>,
    /// Nanoseconds since midnight.
    of_day: i64,
    /// Whether it has AM or PM.
    twelve: bool,
    /// Seconds east of Greenwich, where the stamp says so.
    offset: Option<i32>,
    /// Whether it names a zone by letters that stand for several.
    vague: bool,
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// What they are called elsewhere, by the letters that tell them: `Mär`, `mai`, `juil.`, `ago`.
const OTHER_MONTHS: [(&str, i32); 23] = [
    ("jän", 1),
    ("ene", 1),
    ("gen", 1),
    ("fév", 2),
    ("fev", 2),
    ("mär", 3),
    ("mrz", 3),
    ("avr", 4),
    ("abr", 4),
    ("mai", 5),
    ("mag", 5),
    ("juin", 6),
    ("giu", 6),
    ("juil", 7),
    ("lug", 7),
    ("aoû", 8),
    ("ago", 8),
    ("set", 9),
    ("okt", 10),
    ("ott", 10),
    ("dez", 12),
    ("dic", 12),
    ("déc", 12),
];
/// Letters of zones that mean one offset alone where monitoring is written, with its hours.
const ZONES: [(&str, i32); 24] = [
    ("WET", 0),
    ("WEST", 1),
    ("CET", 1),
    ("MEZ", 1),
    ("CEST", 2),
    ("MESZ", 2),
    ("SAST", 2),
    ("EET", 2),
    ("EEST", 3),
    ("MSK", 3),
    ("HKT", 8),
    ("JST", 9),
    ("KST", 9),
    ("AEST", 10),
    ("AEDT", 11),
    ("NZST", 12),
    ("NZDT", 13),
    ("EDT", -4),
    ("EST", -5),
    ("CDT", -5),
    ("MDT", -6),
    ("MST", -7),
    ("PDT", -7),
    ("PST", -8),
];
/// Those that mean several: of China and of Chicago, of Ireland, Israel and India, of Britain and Bangladesh.
const VAGUE: [&str; 4] = ["CST", "IST", "BST", "AST"];
const DAY: i64 = 86_400_000_000_000;
/// Times before this are not of monitoring; they keep arithmetic within bounds.
const YEARS: std::ops::RangeInclusive<i32> = 1980..=2199;

/// What a text says of the time of day besides its digits.
fn half(text: &str) -> Option<bool> {
    let lower = text.to_lowercase();
    let dotless = lower.replace('.', "");
    let has = |word: &str| dotless.split(|c: char| !c.is_alphabetic()).any(|w| w == word);
    if has("pm") || lower.contains('後') || lower.contains("下午") || lower.contains("오후") {
        return Some(true);
    }
    let am = has("am") || lower.contains('前') || lower.contains("上午") || lower.contains("오전");
    am.then_some(false)
}

/// Reads a stamp; `None` where the text is none.
pub(super) fn stamp(text: &str) -> Option<Stamp> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > 64 {
        return None;
    }
    let spaced: String = text
        .chars()
        .map(|c| match c {
            '年' | '月' | '년' | '월' => '-',
            '時' | '时' | '分' | '시' | '분' => ':',
            '日' | '秒' | '일' | '초' | ',' => ' ',
            c => c,
        })
        .collect();
    let spaced = spaced.replace("- ", "-").replace(": ", ":");
    let mut date = None;
    let mut time = None;
    let mut offset = None;
    let mut words: Vec<i32> = Vec::new();
    let mut month = None;
    let mut vague = false;
    for word in spaced.split_whitespace() {
        let (word, rest) =
            match word.find('T').filter(|at| word[..*at].ends_with(|c: char| c.is_ascii_digit())) {
                Some(at) => (&word[..at], Some(&word[at + 1..])),
                None => (word, None),
            };
        for word in std::iter::once(word).chain(rest) {
            if time.is_none() && word.contains(':') {
                let (of_day, zone) = time_of(word)?;
                (time, offset) = (Some(of_day), zone);
            } else if let Some(found) = offset_of(word).filter(|_| time.is_some()) {
                offset = Some(found);
            } else if date.is_none() && word.len() >= 6 && numbers(word).is_some() {
                date = numbers(word);
            } else if let Some(found) = month_of(word) {
                month = Some(found);
            } else if VAGUE.contains(&word) {
                vague = true;
            // `7. Mai`
            } else if let Ok(number) = word.trim_end_matches('.').parse() {
                words.push(number);
            } else if word.chars().any(|c| c.is_ascii_digit()) {
                return None;
            }
        }
    }
    if let (None, Some(month), [a, b]) = (date, month, &words[..]) {
        let (day, year) = if *a > 31 { (*b, *a) } else { (*a, *b) };
        date = Some(([year, month, day], Some(DateOrder::Ymd)));
    }
    let twelve = half(text);
    let of_day = match (time?, twelve) {
        (time, Some(pm)) => time % (DAY / 2) + if pm { DAY / 2 } else { 0 },
        (time, None) => time,
    };
    Some(Stamp { date, of_day, twelve: twelve.is_some(), offset, vague })
}

/// Seconds or milliseconds since 1970, of this century.
pub(super) fn epoch(text: &str) -> Option<Stamp> {
    let number: i64 = text.trim().parse().ok()?;
    let nanos = match text.trim().len() {
        10 => number * 1_000_000_000,
        13 => number * 1_000_000,
        _ => return None,
    };
    let at = jiff::Timestamp::from_nanosecond(i128::from(nanos)).ok()?;
    let civil = at.to_zoned(TimeZone::UTC).datetime();
    let of_day = nanos.rem_euclid(DAY);
    let date = Some((parts(civil), Some(DateOrder::Ymd)));
    Some(Stamp { date, of_day, twelve: false, offset: Some(0), vague: false })
}

/// `10:49:12.123`, `10:49`, with a zone behind it or not.
fn time_of(word: &str) -> Option<(i64, Option<i32>)> {
    let end =
        word.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.'))).unwrap_or(word.len());
    let (clock, rest) = word.split_at(end);
    let mut parts = clock.trim_matches(':').split(':');
    let hour: i64 = parts.next()?.parse().ok()?;
    let minute: i64 = parts.next()?.parse().ok()?;
    let second: f64 = parts.next().map_or(Some(0.0), |s| s.parse().ok())?;
    let fits = hour < 24 && minute < 60 && (0.0..61.0).contains(&second) && parts.next().is_none();
    let zone = match rest {
        "" => None,
        rest if half(rest).is_some() => None,
        rest => Some(offset_of(rest)?),
    };
    fits.then(|| ((hour * 3600 + minute * 60) * 1_000_000_000 + (second * 1e9) as i64, zone))
}

/// `Z`, `UTC`, `+0200`, `+02:00`, `+02`.
fn offset_of(word: &str) -> Option<i32> {
    if matches!(word, "Z" | "UTC" | "GMT") {
        return Some(0);
    }
    if let Some((_, hours)) = ZONES.iter().find(|(name, _)| *name == word) {
        return Some(hours * 3600);
    }
    let sign = match word.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let digits = word[1..].replace(':', "");
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: i32 = digits.parse().ok()?;
    let (hours, minutes) = match digits.len() {
        2 => (number, 0),
        4 => (number / 100, number % 100),
        _ => return None,
    };
    (hours <= 15 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// The three numbers of a date, with their order where it shows.
fn numbers(word: &str) -> Option<([i32; 3], Option<DateOrder>)> {
    let word = word.trim_end_matches(['-', '.']);
    let separator = word.chars().find(|c| matches!(c, '/' | '-' | '.'))?;
    let parts: Vec<&str> = word.split(separator).collect();
    let [a, b, c] = parts[..] else { return None };
    if let (Ok(a), Some(month), Ok(c)) = (a.parse(), month_of(b), c.parse::<i32>()) {
        return Some(([if c < 100 { 2000 + c } else { c }, month, a], Some(DateOrder::Ymd)));
    }
    let all = [a.parse().ok()?, b.parse().ok()?, c.parse().ok()?];
    let order = match (separator, a.len()) {
        (_, 4) => Some(DateOrder::Ymd),
        ('.', _) => Some(DateOrder::Dmy),
        _ => None,
    };
    Some((all, order))
}

fn month_of(word: &str) -> Option<i32> {
    let lower = word.to_lowercase();
    let known = || MONTHS.iter().position(|month| lower.starts_with(month)).map(|at| at as i32 + 1);
    let other = || OTHER_MONTHS.iter().find(|(month, _)| lower.starts_with(month)).map(|of| of.1);
    let found = known().or_else(other)?;
    word.chars().all(|c| c.is_alphabetic() || c == '.').then_some(found)
}

impl Stamp {
    /// Whether it has a date.
    pub fn is_dated(&self) -> bool {
        self.date.is_some()
    }

    fn civil(&self, order: DateOrder) -> Option<DateTime> {
        let (parts, own) = self.date?;
        let [year, month, day] = match own.unwrap_or(order) {
            DateOrder::Ymd => parts,
            DateOrder::Dmy => [parts[2], parts[1], parts[0]],
            DateOrder::Mdy => [parts[2], parts[0], parts[1]],
        };
        let year = if year < 100 { year + 2000 } else { year };
        if !YEARS.contains(&year) {
            return None;
        }
        let date =
            Date::new(year as i16, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
        let seconds = self.of_day / 1_000_000_000;
        let time = Time::new(
            (seconds / 3600) as i8,
            (seconds / 60 % 60) as i8,
            (seconds % 60) as i8,
            (self.of_day % 1_000_000_000) as i32,
        );
        Some(date.to_datetime(time.ok()?))
    }
}

/// The moment of a text, in nanoseconds since the Unix epoch. One without a date is of the day of `day`.
pub fn moment(text: &str, calendar: &Calendar, day: i64) -> Option<i64> {
    let mut one = stamp(text)?;
    if !one.is_dated() {
        let zone = calendar.zone.clone().unwrap_or(TimeZone::UTC);
        let of_day = jiff::Timestamp::from_nanosecond(i128::from(day)).ok()?.to_zoned(zone);
        one.date = Some((parts(of_day.datetime()), Some(DateOrder::Ymd)));
    }
    moments(&[one], &[1], calendar).ok().map(|found| found.at[0])
}

/// How the stamps of a file are to be read.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    /// The order that the user names.
    pub order: Option<DateOrder>,
    /// The time zone that the user names.
    pub zone: Option<TimeZone>,
}

/// Moments of a file, and what was taken for granted about them.
#[derive(Debug)]
pub(super) struct Moments {
    /// Nanoseconds since the Unix epoch.
    pub at: Vec<i64>,
    pub assumed: Vec<(String, String)>,
}

/// The moments of stamps of several groups, each of which goes forward: an export lists the times of one place after those of
/// another.
pub(super) fn moments_by(
    groups: &[usize],
    stamps: &[Stamp],
    lines: &[u64],
    calendar: &Calendar,
) -> Result<Moments, ReadError> {
    let mut of: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
    groups.iter().enumerate().for_each(|(at, group)| of.entry(*group).or_default().push(at));
    let longest = of.values().max_by_key(|members| members.len());
    let first: Vec<Stamp> = longest.into_iter().flatten().map(|at| stamps[*at]).collect();
    let mut assumed = Vec::new();
    let order = Some(order(&first, stamps, calendar, &mut assumed));
    let calendar = Calendar { order, ..calendar.clone() };
    let mut at = vec![0; stamps.len()];
    for (nth, members) in of.values().enumerate() {
        let own: Vec<Stamp> = members.iter().map(|at| stamps[*at]).collect();
        let numbers: Vec<u64> = members.iter().map(|at| lines[*at]).collect();
        let found = moments(&own, &numbers, &calendar)?;
        members.iter().zip(found.at).for_each(|(to, moment)| at[*to] = moment);
        assumed.extend(found.assumed.into_iter().filter(|_| nth == 0));
    }
    Ok(Moments { at, assumed })
}

/// The moments of all stamps of a file, which go forward. `lines` are those of the stamps.
pub(super) fn moments(
    stamps: &[Stamp],
    lines: &[u64],
    calendar: &Calendar,
) -> Result<Moments, ReadError> {
    let mut assumed = Vec::new();
    let order = order(stamps, stamps, calendar, &mut assumed);
    let zone = calendar.zone.clone().unwrap_or(TimeZone::UTC);
    if calendar.zone.is_none() && stamps.iter().any(|s| s.offset.is_none()) {
        let why = match stamps.iter().any(|stamp| stamp.vague) {
            true => "UTC; the letters of its zone have several meanings, `--tz` names it",
            false => "UTC; its times name no zone, `--tz` does",
        };
        let why = why.to_owned();
        assumed.push(("time-zone".to_owned(), why));
    }
    let mut at: Vec<i64> = Vec::with_capacity(stamps.len());
    let mut day: Option<DateTime> = None;
    for (stamp, line) in stamps.iter().zip(lines) {
        let wrong = || ReadError::new(*line, 1, "this date is none");
        let civil = match stamp.is_dated() {
            true => stamp.civil(order).ok_or_else(wrong)?,
            // A time alone goes on from the day before it.
            false => {
                let first = Date::new(1980, 1, 1).map_err(|_| wrong())?.at(0, 0, 0, 0);
                let base = day.unwrap_or(first);
                let moved = Stamp { date: Some((parts(base), Some(DateOrder::Ymd))), ..*stamp };
                let same = moved.civil(order).ok_or_else(wrong)?;
                match day.is_some_and(|day| same < day) {
                    true => same.checked_add(jiff::Span::new().days(1)).map_err(|_| wrong())?,
                    false => same,
                }
            }
        };
        day = Some(civil);
        let utc = match stamp.offset {
            Some(offset) => {
                nanos(civil, &TimeZone::UTC, None).ok_or_else(wrong)?
                    - i64::from(offset) * 1_000_000_000
            }
            None => nanos(civil, &zone, at.last().copied()).ok_or_else(wrong)?,
        };
        at.push(utc);
    }
    Ok(Moments { at, assumed })
}

fn parts(of: DateTime) -> [i32; 3] {
    [i32::from(of.year()), i32::from(of.month()), i32::from(of.day())]
}

/// A civil time in a zone. Of an hour that comes twice it is the second one where the first would go back.
fn nanos(civil: DateTime, zone: &TimeZone, before: Option<i64>) -> Option<i64> {
    let ambiguous = zone.to_ambiguous_timestamp(civil);
    let earlier = ambiguous.compatible().ok()?;
    let later = ambiguous.later().ok()?;
    let of = |stamp: jiff::Timestamp| i64::try_from(stamp.as_nanosecond()).ok();
    let (earlier, later) = (of(earlier)?, of(later)?);
    Some(if before.is_some_and(|before| earlier <= before) { later } else { earlier })
}

/// The order of day and month: what all dates can be, and makes those go forward that follow each other.
fn order(
    following: &[Stamp],
    all: &[Stamp],
    calendar: &Calendar,
    assumed: &mut Vec<(String, String)>,
) -> DateOrder {
    use DateOrder::{Dmy, Mdy, Ymd};
    if let Some(order) = calendar.order {
        return order;
    }
    let is_open = |s: &&Stamp| s.date.is_some_and(|(_, own)| own.is_none());
    let (open, whole): (Vec<&Stamp>, Vec<&Stamp>) =
        (following.iter().filter(is_open).collect(), all.iter().filter(is_open).collect());
    if open.is_empty() {
        return Ymd;
    }
    let fits = |order: DateOrder| whole.iter().all(|stamp| stamp.civil(order).is_some());
    let candidates: Vec<DateOrder> = [Mdy, Dmy].into_iter().filter(|order| fits(*order)).collect();
    match candidates[..] {
        [] => return if fits(Ymd) { Ymd } else { Mdy },
        [one] => return one,
        _ => {}
    }
    // What makes time go on in the shorter steps is right: a day later is not a month later.
    let length = |order: DateOrder| -> Option<i64> {
        let civil: Vec<i64> =
            open.iter().filter_map(|s| nanos(s.civil(order)?, &TimeZone::UTC, None)).collect();
        let forward = civil.windows(2).all(|pair| pair[0] <= pair[1]);
        forward.then(|| civil[civil.len() - 1] - civil[0])
    };
    match (length(Mdy), length(Dmy)) {
        (Some(mdy), Some(dmy)) if mdy < dmy => return Mdy,
        (Some(mdy), Some(dmy)) if dmy < mdy => return Dmy,
        (Some(_), None) => return Mdy,
        (None, Some(_)) => return Dmy,
        _ => {}
    }
    let twelve = open.iter().any(|stamp| stamp.twelve);
    let order = if twelve { Mdy } else { Dmy };
    let word = if twelve { "month first, as where AM and PM are written" } else { "day first" };
    assumed.push((
        "date-order".to_owned(),
        format!("{word}; its dates can be read both ways, `--dates` decides"),
    ));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str], calendar: &Calendar) -> (Vec<String>, usize) {
        let stamps: Vec<Stamp> =
            texts.iter().map(|t| stamp(t).unwrap_or_else(|| panic!("{t}"))).collect();
        let lines: Vec<u64> = (1..=texts.len() as u64).collect();
        let moments = moments(&stamps, &lines, calendar).unwrap();
        let show =
            |ns: &i64| jiff::Timestamp::from_nanosecond(i128::from(*ns)).unwrap().to_string();
        (moments.at.iter().map(show).collect(), moments.assumed.len())
    }

    fn one(text: &str) -> String {
        read(&[text], &Calendar::default()).0.remove(0)
    }

    #[test]
    fn stamps_of_many_locales_are_one_moment() {
        for text in [
            "10/24/2018 10:49:12 AM",
            "10/24/18 10:49:12",
            "24.10.2018 10:49:12",
            "24/10/18 10:49:12",
            "2018-10-24 10:49:12",
            "2018-10-24T10:49:12Z",
            "2018-10-24T12:49:12+0200",
            "2018-10-24 12:49:12 +02",
            "2018年10月24日 10時49分12秒",
            "2018년 10월 24일 10시 49분 12초",
            "Wed 24 Oct 2018 10:49:12 AM UTC",
            "24-Oct-2018 10:49:12",
            "Mi 24. Okt 12:49:12 CEST 2018",
            "Mittwoch, 24. Oktober 2018, 12:49:12 MESZ",
            "mer. 24 oct. 2018 12:49:12 CEST",
            "mié 24 oct 2018 12:49:12 CEST",
            "mer 24 ott 2018, 12.49.12, CEST".replace("12.49.12", "12:49:12").as_str(),
            "Wed Oct 24 06:49:12 EDT 2018",
            "Wed Oct 24 06:49:12 AM EDT 2018",
            "10/24/2018 10:49:12 a.m.",
            "2018. 10. 24. 10:49:12".replace(". ", ".").replace(".10:", " 10:").as_str(),
        ] {
            assert_eq!(one(text), "2018-10-24T10:49:12Z", "{text}");
        }
        assert_eq!(one("mar. 01 août 2023 10:00:00 UTC"), "2023-08-01T10:00:00Z");
        assert_eq!(one("lun. 03 juil. 2023 10:00:00 UTC"), "2023-07-03T10:00:00Z");
        // Letters that mean several zones are none, and said.
        let (at, assumed) = read(&["Wed Oct 24 10:49:12 CST 2018"], &Calendar::default());
        assert_eq!((at[0].as_str(), assumed), ("2018-10-24T10:49:12Z", 1));
        assert_eq!(one("10/24/2018 12:00:00 AM"), "2018-10-24T00:00:00Z");
        assert_eq!(one("10/24/2018 12:30:00 PM"), "2018-10-24T12:30:00Z");
        assert_eq!(one("10/24/2018 10:49:12.250"), "2018-10-24T10:49:12.25Z");
    }

    #[test]
    fn the_order_of_day_and_month_is_found_or_said_to_be_assumed() {
        let none = Calendar::default();
        assert_eq!(
            read(&["04/05/18 23:59:00", "05/05/18 00:01:00"], &none).0[1],
            "2018-05-05T00:01:00Z"
        );
        let day = read(&["04/05/18 23:59:00", "05/05/18 00:01:00"], &none);
        assert_eq!(day.0[0], "2018-05-04T23:59:00Z");
        // One date can be read both ways.
        let (at, assumed) = read(&["04/05/18 10:00:00"], &none);
        assert_eq!((at[0].as_str(), assumed), ("2018-05-04T10:00:00Z", 2));
        let named = Calendar { order: Some(DateOrder::Mdy), zone: Some(TimeZone::UTC) };
        assert_eq!(
            read(&["04/05/18 10:00:00"], &named),
            (vec!["2018-04-05T10:00:00Z".to_owned()], 0)
        );
    }

    #[test]
    fn an_hour_that_comes_twice_goes_forward() {
        let zone = Some(TimeZone::get("Europe/Berlin").unwrap());
        let calendar = Calendar { order: None, zone };
        let (at, _) =
            read(&["2018-10-28 02:30:00", "2018-10-28 02:50:00", "2018-10-28 02:10:00"], &calendar);
        assert_eq!(at, ["2018-10-28T00:30:00Z", "2018-10-28T00:50:00Z", "2018-10-28T01:10:00Z"]);
    }

    #[test]
    fn times_alone_go_on_over_midnight() {
        let (at, _) = read(&["23:59:50", "00:00:10"], &Calendar::default());
        assert_eq!(at, ["1980-01-01T23:59:50Z", "1980-01-02T00:00:10Z"]);
    }

    #[test]
    fn other_texts_are_none() {
        for text in ["", "Device r/s", "25:00:00", "10:61", "sda 1.0 2.0", "12", "10/24/2018"] {
            assert_eq!(stamp(text), None, "{text}");
        }
        assert!(
            moments(&[stamp("31/02/2018 10:00:00").unwrap()], &[7], &Calendar::default()).is_err()
        );
    }
}
