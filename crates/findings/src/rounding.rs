//! How far a figure may be from a published one and still be the same.
//!
//! A published figure was rounded: `786` means 785.5 to 786.5. Its significant digits are counted in the unit in which
//! it was probably written (`786 MiB/s` has three there and nine in MB/s), and trailing zeros do not count, because
//! `800` may be a rounded 796. "About" means that the author rounded more than the digits show.

use crate::quantity::Quantity;
use scenario::{Relation, Value};

/// The widest allowance, that of "about" at one significant figure.
pub(crate) const WIDEST: f64 = 0.05;
/// Allowance of "about" at one, two, and three or more significant figures.
const ABOUT: [f64; 3] = [WIDEST, 0.02, 0.01];
/// Rates are published in so many digits at most; a rate that has more in MB/s was published in another unit.
const DECIMAL_DIGITS: usize = 4;
/// Digits of a double that can be trusted after a conversion of units.
const DIGITS_MAX: usize = 12;

/// The allowance around a published value, relative to it.
pub(crate) fn allowance(value: &Value, relation: Relation) -> f64 {
    let (digits, mantissa) = significant(value);
    // Half a unit of the last digit.
    let rounding = 0.5 * 10_f64.powi(1 - digits as i32) / mantissa;
    match relation {
        Relation::Equal | Relation::UpTo => rounding.min(WIDEST),
        Relation::About => ABOUT[digits.clamp(1, 3) - 1],
        // "Over 800" means something above 800.
        Relation::Over | Relation::JustOver => 0.0,
    }
}

/// Significant digits of a value in the unit in which it was probably written, and its leading part (1 to 10).
pub(crate) fn significant(value: &Value) -> (usize, f64) {
    let Value::Rate(rate) = value else {
        return digits(Quantity::from_value(value).value);
    };
    let decimal = digits(rate.0);
    if decimal.0 <= DECIMAL_DIGITS {
        return decimal;
    }
    // Bits, KiB, MiB, GiB a second: where one of them needs fewer digits, the figure was written in it.
    let others = [0.125, 1024.0, 1048576.0, 1073741824.0].map(|factor| digits(rate.0 / factor));
    others.into_iter().chain([decimal]).min_by_key(|(digits, _)| *digits).unwrap_or(decimal)
}

fn digits(value: f64) -> (usize, f64) {
    let text = format!("{:.*e}", DIGITS_MAX - 1, value.abs());
    let mantissa = text.split('e').next().unwrap_or_default();
    let count = mantissa.trim_end_matches('0').chars().filter(char::is_ascii_digit).count();
    // Zero has no digits of its own; it is its own leading part.
    (count.max(1), mantissa.parse::<f64>().ok().filter(|m| *m >= 1.0).unwrap_or(1.0))
}
