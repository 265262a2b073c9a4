//! An answer as a line of text.

use super::answer::{Attribution, HopLimit, Limiter, PathTurns};
use std::fmt;
use units::count;

/// With fewer paths at work on average it is one at a time, but around a change.
const ONE: f64 = 1.5;
/// Names written out; the others are counted.
const NAMED: usize = 3;

impl fmt::Display for Limiter {
    /// The limit, as the review writes it after "limited by".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limiter::Hop { hop, why, also } => {
                match why {
                    HopLimit::Slots => write!(f, "the queue limit of {hop}")?,
                    HopLimit::Rate | HopLimit::Ops | HopLimit::Cpu => f.write_str(hop)?,
                }
                if also.is_empty() { Ok(()) } else { write!(f, " (and {})", list(also)) }
            }
            Limiter::Depth => f.write_str("the load (worker depth)"),
            Limiter::Generator => f.write_str("the generator"),
            Limiter::Rate => f.write_str("nothing: the requested rate was carried"),
            Limiter::Two { first, second } => write!(f, "{first} and {second} at once"),
            Limiter::Latency { hop } => {
                write!(f, "the load (worker depth) against the latency of {hop}")
            }
            Limiter::PathImbalance { hop, idle } => {
                let have = if idle.len() == 1 { "has" } else { "have" };
                write!(f, "path imbalance: {hop} is full while {} {have} room", list(idle))
            }
            Limiter::SlowDrain { hop, drain: Some(drain) } => {
                write!(f, "slow drain: {hop} waits for {drain}")
            }
            Limiter::SlowDrain { hop, drain: None } => {
                write!(f, "slow drain: {hop} waits for a target without counters")
            }
            Limiter::Unknown { missing } if missing.is_empty() => f.write_str("not determined"),
            Limiter::Unknown { missing } => write!(f, "not determined: missing {}", list(missing)),
            Limiter::None => f.write_str("nothing: the load asks for no more, and no hop is full"),
        }
    }
}

impl fmt::Display for PathTurns {
    /// `round-robin sends 1,000 I/Os over one path before the next, so that one path works at a time; a smaller
    /// `switch_after` would use more of them at once`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ios = match self.ios.round() {
            few if few < 100.0 => format!("{few}"),
            many => count(many),
        };
        let at_work = match self.paths {
            few if few < ONE => "one path works".to_owned(),
            several => format!("{several:.1} paths work"),
        };
        write!(
            f,
            "round-robin sends {ios} I/Os over one path before the next, so that {at_work} at a time; a smaller `switch_after` \
             would use more of them at once"
        )
    }
}

impl Attribution {
    /// `limited by esx.hba (transmit 99.2% of 826 MB/s; probability 0.93; next: ssd1:0, 0.04)`.
    pub fn line(&self) -> String {
        let verb = match self.limit {
            Limiter::Unknown { .. } => "",
            _ => "limited by ",
        };
        let mut inside: Vec<String> = Vec::new();
        if let Some(clue) = self.clues.first() {
            let elsewhere = clue.hop.as_ref().filter(|hop| !self.limit.to_string().contains(*hop));
            let turns = self.turns.map_or_else(String::new, |turns| format!(": {turns}"));
            inside.push(match elsewhere {
                Some(hop) => format!("{hop}: {}{turns}", clue.text),
                None => format!("{}{turns}", clue.text),
            });
        }
        inside.push(format!("probability {:.2}", self.probability));
        if let Some(next) = self.runner_up.as_ref().filter(|next| next.probability >= 0.005) {
            inside.push(format!("next: {}, {:.2}", next.limit, next.probability));
        }
        format!("{verb}{} ({})", self.limit, inside.join("; "))
    }
}

/// `a, b, c and 4 more`.
fn list(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_tell_how_many_paths_work() {
        let said = |ios, paths| PathTurns { ios, paths }.to_string();
        assert!(
            said(1000.0, 1.03).starts_with("round-robin sends 1,000 I/Os over one path before")
        );
        assert!(said(1000.0, 1.03).contains("so that one path works at a time; a smaller"));
        assert!(said(16.4, 2.345).starts_with("round-robin sends 16 I/Os"));
        assert!(said(16.4, 2.345).contains("so that 2.3 paths work at a time; a smaller"));
    }
}
