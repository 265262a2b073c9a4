//! What targets held when they were first read, as samples showed it: a share with its interval of confidence.
//!
//! Reading unwritten data measures nothing: file systems, thin volumes and SSDs answer from their maps. Zeros and
//! repeated blocks come from caches and from copies that storage keeps once.

use crate::warnings::{Severity, Warning};
use record::{Fact, Sampling};
use serde::Serialize;
use units::{count, percent};

/// Share of blocks without data from which a target's figures are doubted aloud.
pub const POOR_SHARE: f64 = 0.01;

/// The normal quantile of a two-sided interval of 95%.
const Z: f64 = 1.959_963_984_540_054;

/// What one target held.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Content {
    /// The target.
    pub target: String,
    /// Blocks sampled.
    pub blocks: u32,
    /// Bytes from the target's start over which they were spread.
    pub over_bytes: u64,
    /// Blocks that were never written, by the file system's word.
    pub unwritten: u32,
    /// Blocks that read as zeros.
    pub zero: u32,
    /// Blocks that hold nothing: unwritten or zero.
    pub empty: Proportion,
    /// Blocks that equal others, or one pattern.
    pub repeated: Proportion,
}

/// A share that was estimated from samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proportion {
    /// Samples of which it is true.
    pub count: u32,
    /// Their share, 0 to 1.
    pub share: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Proportion {
    /// `count` of `of` samples, with the interval of E. B. Wilson ("Probable inference, the law of succession, and
    /// statistical inference", JASA 22, 1927), which holds for small counts too. Complete samples are certain.
    pub fn of(count: u32, of: u32, all: bool) -> Proportion {
        let (k, n) = (f64::from(count), f64::from(of.max(1)));
        let share = k / n;
        if all {
            return Proportion { count, share, low: share, high: share };
        }
        let scale = 1.0 + Z * Z / n;
        let centre = (share + Z * Z / (2.0 * n)) / scale;
        let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        let low = if count == 0 { 0.0 } else { (centre - half).max(0.0) };
        let high = if count >= of { 1.0 } else { (centre + half).min(1.0) };
        Proportion { count, share, low, high }
    }
}

impl Content {
    /// Whether every block that was looked at holds data like no other.
    pub fn is_sound(&self) -> bool {
        self.empty.count == 0 && self.repeated.count == 0
    }
}

/// What was sampled, in the order of the record; a fact that is no sampling is not one.
pub(crate) fn contents(facts: &[Fact]) -> Vec<Content> {
    let of = |fact: &Fact| {
        let sampling: Sampling = fact.value.parse().ok()?;
        let Sampling { blocks, block, over, unwritten, zero, repeated } = sampling;
        let all = u64::from(blocks).saturating_add(1).saturating_mul(block.into()) > over;
        Some(Content {
            target: fact.subject.clone(),
            blocks,
            over_bytes: over,
            unwritten,
            zero,
            empty: Proportion::of(unwritten.saturating_add(zero), blocks, all),
            repeated: Proportion::of(repeated, blocks, all),
        })
    };
    let samplings = facts.iter().filter(|fact| fact.key == Sampling::FACT);
    samplings.filter_map(of).filter(|content| content.blocks > 0).collect()
}

/// Warnings about targets that held no data, or repeated data.
pub(crate) fn warnings(contents: &[Content]) -> Vec<Warning> {
    contents.iter().flat_map(|content| [empty(content), repeated(content)]).flatten().collect()
}

fn empty(content: &Content) -> Option<Warning> {
    let Content { target, blocks, unwritten, zero, empty, .. } = content;
    let kinds = match (unwritten, zero) {
        (0, 0) => return None,
        (0, _) => "they read as zeros".to_owned(),
        (_, 0) => "they were never written".to_owned(),
        (u, z) => format!("{} were never written, {} read as zeros", number(*u), number(*z)),
    };
    Some(warning(
        "unwritten-data",
        empty,
        format!(
            "{} of {} sampled blocks of {target} hold nothing ({}): {kinds}",
            number(empty.count),
            number(*blocks),
            interval(empty)
        ),
        "reading unwritten data measures nothing, because no device is asked for it: fill the target first (see `fill`), \
         or read one that holds data",
    ))
}

fn repeated(content: &Content) -> Option<Warning> {
    let Content { target, blocks, repeated, .. } = content;
    if repeated.count == 0 {
        return None;
    }
    Some(warning(
        "repeated-data",
        repeated,
        format!(
            "{} of {} sampled blocks of {target} equal others or repeat one pattern ({})",
            number(repeated.count),
            number(*blocks),
            interval(repeated)
        ),
        "storage that finds duplicates keeps one copy and reads it from its cache: fill the target first (see `fill`), or \
         read one whose data is like that of your application",
    ))
}

fn warning(code: &str, share: &Proportion, text: String, next: &str) -> Warning {
    let severity = if share.share < POOR_SHARE { Severity::Note } else { Severity::Warning };
    Warning { code: code.to_owned(), severity, text, next: next.to_owned(), steps: Vec::new() }
}

/// `83.2%, between 80.8% and 85.4% with 95% confidence`, or the share alone where it is exact.
fn interval(p: &Proportion) -> String {
    let show = |share: f64| percent((share * 1000.0).round() / 10.0);
    match p.low == p.high {
        true => show(p.share),
        false => {
            format!("{}; with 95% confidence {} to {}", show(p.share), show(p.low), show(p.high))
        }
    }
}

fn number(n: u32) -> String {
    count(f64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: u32, of: u32, low: f64, high: f64) {
        let p = Proportion::of(count, of, false);
        let near = |a: f64, b: f64| (a - b).abs() < 5e-5;
        assert!(near(p.low, low) && near(p.high, high), "{p:?}");
        assert!(p.low <= p.share && p.share <= p.high);
    }

    /// Values from the literature and by hand.
    #[test]
    fn intervals_are_wilsons() {
        check(0, 10, 0.0, 0.2775);
        check(1, 10, 0.0179, 0.4042);
        check(5, 10, 0.2366, 0.7634);
        check(10, 10, 0.7225, 1.0);
        check(0, 1000, 0.0, 0.0038);
        check(250, 1000, 0.2242, 0.2778);
        check(0, 0, 0.0, 1.0);
    }

    #[test]
    fn samples_that_are_all_there_is_leave_nothing_uncertain() {
        let p = Proportion::of(40, 100, true);
        assert_eq!((p.low, p.share, p.high), (0.4, 0.4, 0.4));
    }
}
