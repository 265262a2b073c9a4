//! One unit a source: a source that writes "MBps" means one thing by it, in all of its figures.
//!
//! Where its claims have readings in powers of ten and in powers of two, a unit falls out that makes some figure more than
//! a wire can carry, or that breaks the source's own arithmetic (IOPS times their size is a rate). Claims are then judged
//! under what is left, so that no two of them agree by different units.

use crate::ledger::{ClaimDependence, ClaimLedger};
use findings::is_allowed;
use scenario::{Claim, ClaimKind, Relation, Value};

/// How far the two sides of a source's own arithmetic may differ: both are rounded.
const ARITHMETIC: f64 = 0.002;

/// What a source means by a megabyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteUnit {
    /// 1,000,000 bytes.
    Decimal,
    /// 1,048,576 bytes.
    Binary,
}

impl ByteUnit {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            ByteUnit::Decimal => "MB/s",
            ByteUnit::Binary => "MiB/s",
        }
    }
}

/// The units that a source may mean, and why no others; no units where its claims leave no choice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceUnits {
    /// What is left.
    pub left: Vec<ByteUnit>,
    /// Why one fell out.
    pub why: Option<String>,
}

/// The unit in which a rate was written; `None` for other figures.
pub fn unit_of(reading: &Value) -> Option<ByteUnit> {
    let Value::Rate(rate) = reading else { return None };
    // Rates are published with two decimals at most.
    let hundredths = rate.0 / 1e4;
    let whole = (hundredths - hundredths.round()).abs() < 1e-6;
    Some(if whole { ByteUnit::Decimal } else { ByteUnit::Binary })
}

impl SourceUnits {
    /// The units that the source of these claims may mean; `ledger` has what wires carry.
    pub fn new(claims: &[Claim], ledger: Option<&ClaimLedger>) -> SourceUnits {
        let has = |claim: &Claim, unit| claim.readings.iter().any(|of| unit_of(of) == Some(unit));
        let both = |claim: &&Claim| has(claim, ByteUnit::Decimal) && has(claim, ByteUnit::Binary);
        if !claims.iter().any(|claim| both(&claim)) {
            return SourceUnits::default();
        }
        let mut units = SourceUnits { left: vec![ByteUnit::Decimal, ByteUnit::Binary], why: None };
        let known: Vec<(&Claim, &ClaimDependence)> = claims
            .iter()
            .filter(|claim| both(claim) && claim.kind != ClaimKind::Context)
            .filter_map(|claim| Some((claim, ledger?.claim(&claim.name)?)))
            .collect();
        for unit in [ByteUnit::Decimal, ByteUnit::Binary] {
            let impossible = known.iter().find(|(claim, of)| exceeds(claim, of, unit));
            let broken = || claims.iter().find(|claim| breaks(claim, claims, ledger, unit));
            let why = match impossible {
                Some((claim, _)) => Some(format!("“{}” would exceed the wire", claim.name)),
                None => broken().map(|claim| format!("“{}” would not follow", claim.name)),
            };
            if let Some(why) = why.filter(|_| units.left.len() > 1) {
                units.left.retain(|left| *left != unit);
                units.why = Some(format!("in {} {why}", unit.word()));
            }
        }
        units
    }

    /// Whether a reading is in a unit that its source may mean; `of` is its claim, whose readings may leave no choice.
    pub fn admits(&self, of: &Claim, reading: &Value) -> bool {
        let left = |reading: &Value| unit_of(reading).is_none_or(|unit| self.left.contains(&unit));
        self.left.is_empty() || left(reading) || !of.readings.iter().any(left)
    }
}

/// Whether all readings of a claim in a unit are more than its wire carries without any gap but the smallest.
fn exceeds(claim: &Claim, of: &ClaimDependence, unit: ByteUnit) -> bool {
    let Some(most) = of.ceiling.filter(|_| claim.relation != Relation::UpTo) else { return false };
    let mut readings = claim.readings.iter().filter(|of| unit_of(of) == Some(unit)).peekable();
    let over = |reading: &Value| match reading {
        Value::Rate(rate) => {
            rate.0 > most && is_allowed(reading, claim.relation, most) == Some(false)
        }
        _ => false,
    };
    !claim.is_ratio() && readings.peek().is_some() && readings.all(over)
}

/// Whether a claim counts operations whose bytes are, in this unit, not what its twin states.
fn breaks(claim: &Claim, claims: &[Claim], ledger: Option<&ClaimLedger>, unit: ByteUnit) -> bool {
    let twin = claims.iter().find(|other| Some(&other.name) == claim.twin_of.as_ref());
    let (Some(twin), Some(ledger)) = (twin, ledger) else { return false };
    let exact = claim.relation == Relation::Equal && twin.relation == Relation::Equal;
    let figure = |of: &Claim| ledger.claim(&of.name)?.ceiling;
    let (Some(ops), Some(bytes)) = (figure(claim), figure(twin)) else { return false };
    let counted = claim.readings.iter().filter_map(|reading| match reading {
        Value::Iops(iops) => Some(*iops * bytes / ops),
        _ => None,
    });
    let stated = || {
        twin.readings.iter().filter_map(|reading| match reading {
            Value::Rate(rate) if unit_of(reading) == Some(unit) => Some(rate.0),
            _ => None,
        })
    };
    let mut counted = counted.peekable();
    let comparable = exact && counted.peek().is_some() && stated().next().is_some();
    comparable
        && !counted.any(|counted| stated().any(|rate| (counted / rate - 1.0).abs() < ARITHMETIC))
}
