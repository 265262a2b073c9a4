//! `random_distribution`: fio's distributions by those of a workload.

use super::value::bytes;
use crate::draft::{Skewed, hot_spot};

/// A distribution, and in which respect it differs.
pub(super) struct Meant {
    pub skew: Option<Skewed>,
    pub approximated: Option<String>,
}

/// The skew that comes nearest; `size` is the job's, for zones in bytes.
pub(super) fn skew(text: &str, kb_base: u64, size: Option<u64>) -> Result<Meant, String> {
    // One for each direction may be given; a workload has one.
    let (first, rest) = text.split_once(',').unwrap_or((text, ""));
    let mut meant = one(first.trim(), kb_base, size)?;
    if !rest.trim().is_empty() {
        let why = "a workload has one distribution: that of reads is taken for writes as well";
        meant.approximated = Some(match meant.approximated {
            Some(other) => format!("{why}; {other}"),
            None => why.to_owned(),
        });
    }
    Ok(meant)
}

fn one(text: &str, kb_base: u64, size: Option<u64>) -> Result<Meant, String> {
    let (word, parameters) = match text.find([':', '=']) {
        Some(at) => (text[..at].trim(), text[at + 1..].trim()),
        None => (text, ""),
    };
    let exact = |skew| Ok(Meant { skew, approximated: None });
    let near = |skew, why: &str| Ok(Meant { skew, approximated: Some(why.to_owned()) });
    let (value, center) = match parameters.split_once(':') {
        Some((value, center)) => (value, Some(center)),
        None => (parameters, None),
    };
    let number = |default: f64| match value {
        "" => Ok(default),
        text => text.parse::<f64>().map_err(|_| format!("`{text}` is no number")),
    };
    match word {
        "random" => exact(None),
        "zipf" => {
            let theta = number(1.1)?;
            if theta <= 0.0 || theta == 1.0 {
                return Err("zipf needs a theta above 0, and not 1".to_owned());
            }
            match (theta < 2.0, center) {
                (false, _) => near(Some(Skewed::Zipf(1.99)), "the exponent is below 2 here"),
                (_, Some(_)) => near(
                    Some(Skewed::Zipf(theta)),
                    "favourites are scattered, and not where it says",
                ),
                // fio's generator approximates zipf by a power law, and hashes ranks to blocks with collisions.
                _ => near(
                    Some(Skewed::Zipf(theta)),
                    "fio's zipf is a formula that comes near the distribution; its favourites are others",
                ),
            }
        }
        "pareto" => {
            let h = number(0.2)?;
            if !(h > 0.0 && h < 1.0) {
                return Err("pareto needs a number above 0 and below 1".to_owned());
            }
            near(Some(Skewed::Pareto(h)), "the favourites are the first blocks; fio scatters them")
        }
        "normal" => {
            let deviation = number(0.0)?;
            if !(0.0..=100.0).contains(&deviation) {
                return Err("normal needs a deviation from 0 to 100".to_owned());
            }
            // Mean of 12 uniform numbers, and a uniform one of the deviation's width added.
            let part = deviation.min(50.0) / 100.0;
            let sigma = (1.0 / 144.0 + part * part / 12.0_f64).sqrt();
            let blocks = (200.0 * sigma).min(100.0);
            let why = "a hot spot with what lies within one deviation; fio's bell is smooth and elsewhere";
            near(Some(Skewed::Hot(68.27, (blocks * 100.0).round() / 100.0)), why)
        }
        "zoned" => zones(parameters, |text| text.trim_end_matches('%').parse::<f64>().ok(), 100.0),
        "zoned_abs" => {
            let size = size.ok_or("zoned_abs needs a `size` in bytes")?;
            zones(parameters, |text| bytes(text, kb_base).map(|b| b as f64), size as f64)
        }
        _ => Err("expected random, zipf, pareto, normal, zoned or zoned_abs".to_owned()),
    }
}

/// Zones as one hot spot: two zones are one exactly.
fn zones(text: &str, extent: impl Fn(&str) -> Option<f64>, whole: f64) -> Result<Meant, String> {
    let mut zones: Vec<(f64, Option<f64>)> = Vec::new();
    for zone in text.split(':') {
        let (accesses, size) =
            zone.split_once('/').ok_or_else(|| format!("`{zone}`: expected ACCESSES/SIZE"))?;
        let accesses: f64 = accesses
            .trim()
            .trim_end_matches('%')
            .parse()
            .map_err(|_| format!("`{accesses}` is no share"))?;
        let size = match size.trim() {
            "" => None,
            text => Some(extent(text).ok_or_else(|| format!("`{text}` is no extent"))?),
        };
        if accesses < 0.0 || size.is_some_and(|size| size < 0.0) || zones.len() > 256 {
            return Err(format!("`{zone}` is out of range"));
        }
        zones.push((accesses, size));
    }
    let given: f64 = zones.iter().filter_map(|z| z.1).sum();
    let missing = zones.iter().filter(|z| z.1.is_none()).count();
    let each = if missing > 0 { (whole - given).max(0.0) / missing as f64 } else { 0.0 };
    let zones: Vec<(f64, f64)> =
        zones.iter().map(|(a, s)| (*a, s.unwrap_or(each) / whole * 100.0)).collect();
    let sum: f64 = zones.iter().map(|z| z.0).sum();
    if (sum - 100.0).abs() > 0.5 || zones.iter().map(|z| z.1).sum::<f64>() > 100.5 {
        return Err(format!(
            "the accesses of all zones add up to {sum}%, and their sizes must fit"
        ));
    }
    if zones.len() == 1 {
        return Ok(Meant { skew: None, approximated: None });
    }
    let skew = hot_spot(&zones);
    let approximated = (zones.len() > 2)
        .then(|| format!("{} zones are drawn together into a hot spot and the rest", zones.len()));
    Ok(Meant { skew, approximated })
}
