//! Values of options as people spell them, fio's spellings included: `8k`, `4096`, `70`, `60` seconds.

use std::time::Duration;
use units::{Bytes, Percent, UnitError};

/// A size: with a unit, as fio writes it (`8k`, `1m`: powers of 1024), or in bytes.
pub fn block(text: &str) -> Result<Bytes, UnitError> {
    let plain = text.trim();
    let factor = |unit: char| match unit.to_ascii_lowercase() {
        'k' => Some(10),
        'm' => Some(20),
        'g' => Some(30),
        't' => Some(40),
        _ => None,
    };
    let (digits, shift) = match plain.char_indices().last() {
        Some((at, unit)) => match factor(unit) {
            Some(shift) => (&plain[..at], shift),
            None => (plain, 0),
        },
        None => (plain, 0),
    };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    match number.filter(|n| *n < 1 << 63) {
        Some(bytes) => Ok(Bytes(bytes)),
        None => Bytes::parse(text),
    }
}

/// A part of a target: a size, or a share of it.
pub fn extent(text: &str) -> Result<String, String> {
    match text.trim().ends_with('%') {
        true => share(text).map(|share| format!("{}%", share.0)),
        false => block(text).map(|size| size.to_string()).map_err(|e| e.to_string()),
    }
}

/// A share with or without its `%`. Without it, what may be meant as a fraction is refused.
pub fn share(text: &str) -> Result<Percent, String> {
    let Ok(number) = text.trim().parse::<f64>() else {
        return Percent::parse(text).map_err(|e| e.to_string());
    };
    Percent::without_sign(number).ok_or_else(|| match (0.0..=1.0).contains(&number) {
        true => format!(
            "`{text}` can be {} or {}; did you mean `{}%`?",
            Percent(number * 100.0),
            Percent(number),
            (number * 1e11).round() / 1e9
        ),
        false => "a share is between 0% and 100%".to_owned(),
    })
}

/// How long something lasts, with its unit; without one, in seconds, as fio writes it. Pauses and latencies always have
/// their unit: there a bare number means microseconds to some and milliseconds to others.
pub fn time(text: &str) -> Result<Duration, UnitError> {
    match text.trim().parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => units::parse_duration(text),
    }
}

/// A row of a block mix.
#[derive(Clone, Debug, PartialEq)]
pub struct MixRow {
    pub size: Bytes,
    pub share: Percent,
    /// Share of reads, where it is not that of all rows.
    pub read: Option<Percent>,
    /// Share of random operations, where it is not that of all rows.
    pub random: Option<Percent>,
}

/// A block mix: rows `SIZE/SHARE[/READ[/RANDOM]]`, separated by colons, as in fio's bssplit.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix(pub Vec<MixRow>);

pub fn mix(text: &str) -> Result<Mix, String> {
    let row = |row: &str| {
        let parts: Vec<&str> = row.split('/').collect();
        let [size, of, rest @ ..] = parts.as_slice() else {
            return Err(format!("`{row}`: expected SIZE/SHARE, as in `4k/60:64k/40`"));
        };
        if rest.len() > 2 {
            return Err(format!("`{row}`: expected at most SIZE/SHARE/READ/RANDOM"));
        }
        let own = |n: usize| rest.get(n).map(|text| share(text)).transpose();
        Ok(MixRow {
            size: block(size).map_err(|e| e.to_string())?,
            share: share(of)?,
            read: own(0)?,
            random: own(1)?,
        })
    };
    let rows: Vec<MixRow> = text.split(':').map(row).collect::<Result<_, String>>()?;
    let sum: f64 = rows.iter().map(|row| row.share.0).sum();
    match (sum - 100.0).abs() < 0.001 {
        true => Ok(Mix(rows)),
        false => Err(format!("the shares sum to {}, not to 100%", Percent(sum))),
    }
}

/// How random addresses are distributed, as a scenario's `skew`.
pub fn skew(text: &str) -> Result<String, String> {
    let expected = || {
        "expected `uniform`, `zipf:1.1`, `pareto:0.2`, or `hot:80/20` for 80% of the I/Os on 20% of the blocks".to_owned()
    };
    let number =
        |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(expected);
    match text.split_once(':') {
        None if ["uniform", "random"].contains(&text) => Ok("\"uniform\"".to_owned()),
        Some(("zipf", theta)) => number(theta).map(|n| format!("{{ zipf = {n:?} }}")),
        Some(("pareto", shape)) => number(shape).map(|n| format!("{{ pareto = {n:?} }}")),
        Some(("hot", parts)) => {
            let (accesses, blocks) = parts.split_once('/').ok_or_else(expected)?;
            let (accesses, blocks) = (share(accesses)?, share(blocks)?);
            Ok(format!("{{ hot = \"{}%\", accesses = \"{}%\" }}", blocks.0, accesses.0))
        }
        _ => Err(expected()),
    }
}

/// Bursts: so many operations, then a pause.
pub fn burst(text: &str) -> Result<(u32, Duration), String> {
    let expected = || "expected N/PAUSE, as in `32/5ms`".to_owned();
    let (count, pause) = text.split_once('/').ok_or_else(expected)?;
    let count = count.trim().parse().ok().filter(|n| *n > 0).ok_or_else(expected)?;
    units::parse_duration(pause).map(|pause| (count, pause)).map_err(|e| e.to_string())
}

/// A ratio of original to reduced size.
pub fn parse_ratio(text: &str, max: f64) -> Result<f64, String> {
    let ratio = text.parse().ok().filter(|ratio| (1.0..=max).contains(ratio));
    ratio.ok_or_else(|| format!("expected a ratio from 1 to {max}, original over reduced"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_also_spelled_as_in_fio() {
        for (text, bytes) in [
            ("8k", 8192),
            ("8K", 8192),
            ("1m", 1 << 20),
            ("2G", 2 << 30),
            ("1t", 1 << 40),
            ("4096", 4096),
            ("8KiB", 8192),
            ("8KB", 8000),
            ("4 MB", 4_000_000),
        ] {
            assert_eq!(block(text), Ok(Bytes(bytes)), "{text}");
        }
        for wrong in ["", "k", "8x", "-1k", "1.5k", "99999999999999999999", "9999999999t"] {
            assert!(block(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_need_no_sign_unless_they_may_be_fractions() {
        for (text, percent) in [("67", 67.0), ("67%", 67.0), ("0", 0.0), ("1%", 1.0), ("0.5%", 0.5)]
        {
            assert_eq!(share(text), Ok(Percent(percent)), "{text}");
        }
        for (text, says) in [("0.7", "`70%`"), ("0.07", "`7%`"), ("1", "`100%`"), ("1.0", "`100%`")]
        {
            let told = share(text).unwrap_err();
            assert!(told.contains(&format!("did you mean {says}?")), "{told}");
        }
        assert!(share("167").is_err() && share("many").is_err() && share("-3").is_err());
    }

    #[test]
    fn ratios_have_bounds() {
        assert_eq!((parse_ratio("1", 16.0), parse_ratio("2.5", 16.0)), (Ok(1.0), Ok(2.5)));
        for wrong in ["0.5", "17", "-2", "NaN", "inf", "2:1", ""] {
            assert!(parse_ratio(wrong, 16.0).is_err(), "{wrong}");
        }
    }

    #[test]
    fn mixes_skews_and_bursts() {
        let rows = mix("4k/60:64k/40/100/0").unwrap().0;
        assert_eq!((rows[0].size, rows[0].share, rows[0].read), (Bytes(4096), Percent(60.0), None));
        assert_eq!((rows[1].read, rows[1].random), (Some(Percent(100.0)), Some(Percent(0.0))));
        for wrong in ["4k", "4k/60", "4k/60:64k/50", "4k/100/1/2/3", "x/100", ""] {
            assert!(mix(wrong).is_err(), "{wrong}");
        }
        assert_eq!(skew("zipf:1.1").unwrap(), "{ zipf = 1.1 }");
        assert_eq!(skew("hot:80/20").unwrap(), "{ hot = \"20%\", accesses = \"80%\" }");
        assert!(skew("zipf").is_err() && skew("pareto:x").is_err() && skew("hot:80").is_err());
        assert_eq!(burst("32/5ms"), Ok((32, Duration::from_millis(5))));
        assert!(burst("0/5ms").is_err() && burst("32").is_err() && burst("32/5").is_err());
        assert_eq!((time("60").unwrap().as_secs(), time("2m").unwrap().as_secs()), (60, 120));
    }
}
