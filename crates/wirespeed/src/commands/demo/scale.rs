//! The scale at which this machine can be trusted to carry the ports of the demo: a pure decision, with its reason.
//!
//! A port that the machine can hardly carry shows the machine and not the port. So the speeds of all ports are multiplied
//! by one round figure, at which everything that the ports carry, in both directions at once, stays within a safe share of
//! what the machine was seen to carry. Proportions are kept: 8Gb stays twice 4Gb.

use super::capacity::Capacity;
use record::Fact;
use scenario::Scenario;
use units::rate;

/// The share of what the machine carries that the ports may ask for. The rest is for what paced ports cost besides, and
/// for small blocks and neighbours on the host that the measurement has not seen.
const SAFE: f64 = 0.6;
/// Percentages that are round, the largest first.
const ROUND: [u32; 17] = [100, 80, 60, 50, 40, 30, 25, 20, 15, 10, 8, 6, 5, 4, 3, 2, 1];

/// A scale and what it was chosen from.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    array: String,
    percent: u32,
    /// Bytes a second that the ports carry at most without scaling, all of them in both directions.
    asked: f64,
    /// The speed behind it, as the scenario calls it.
    fastest: String,
    /// What the machine carried, and how that was measured.
    capacity: Capacity,
}

/// The key by which a scale is set.
pub fn key(array: &str) -> String {
    format!("array.{array}.embedded.scale")
}

impl Chosen {
    /// The scale of an array in a scenario, on a machine that carries so much.
    pub fn of(array: &str, scenario: &Scenario, capacity: &Capacity) -> Chosen {
        let (asked, fastest) = asked(array, scenario);
        let safe = SAFE * capacity.bytes_per_s;
        let fits = |percent: &&u32| asked * f64::from(**percent) / 100.0 <= safe;
        let percent = ROUND.iter().find(fits).or(ROUND.last()).copied().unwrap_or(1);
        Chosen { array: array.to_owned(), percent, asked, fastest, capacity: capacity.clone() }
    }

    /// The override that sets it.
    pub fn set(&self) -> (String, String) {
        (key(&self.array), format!("{}%", self.percent))
    }

    /// What the record keeps of it; a reason only where something was scaled.
    pub fn facts(&self) -> Vec<Fact> {
        let fact = |key: &str, value: String| Fact {
            subject: self.array.clone(),
            key: key.to_owned(),
            value,
        };
        let measured = fact("capacity", self.measured());
        let reason = (self.percent < 100).then(|| fact("scale-reason", self.reason()));
        [measured].into_iter().chain(reason).collect()
    }

    /// The decision in a line.
    pub fn told(&self) -> String {
        match self.percent {
            100 => format!("it carries {}: ports run at their full speed", self.measured()),
            percent => format!("{} So all ports run at {percent}% of their speed.", self.reason()),
        }
    }

    fn measured(&self) -> String {
        format!("{} ({})", rate(self.capacity.bytes_per_s), self.capacity.how)
    }

    fn reason(&self) -> String {
        format!(
            "This machine carries {} without a rate limit ({}); {} in both directions would be {}, and more than {}% \
             of what a machine carries shows the machine.",
            rate(self.capacity.bytes_per_s),
            self.capacity.how,
            self.fastest,
            rate(self.asked),
            SAFE * 100.0
        )
    }
}

/// The most that the ports of an array are to carry in any step, all of them in both directions, and the speed behind it.
fn asked(array: &str, scenario: &Scenario) -> (f64, String) {
    let array = scenario.lab.arrays.iter().find(|a| a.name == array);
    let Some(embedded) = array.and_then(|a| a.embedded.as_ref()) else {
        return (0.0, String::new());
    };
    let mut most = (0.0, String::new());
    for step in scenario.steps() {
        let rates: Vec<_> = embedded.ports.iter().filter_map(|p| embedded.rate(p, &step)).collect();
        let sum = rates.iter().map(|rate| 2.0 * rate.payload().0).sum();
        if sum > most.0 {
            let fastest = rates.iter().max_by(|a, b| a.payload().0.total_cmp(&b.payload().0));
            most = (sum, fastest.map(ToString::to_string).unwrap_or_default());
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen for the demo's own scenario on a machine that carries so many MB/s.
    #[track_caller]
    fn check(carries: f64, expected: &str) {
        let source = scenario::Source {
            name: "demo.toml".into(),
            text: super::super::SCENARIO.into(),
            ..scenario::Source::default()
        };
        let scenario = scenario::load(&source).unwrap_or_else(|e| panic!("{e}"));
        let capacity = Capacity { bytes_per_s: carries * 1e6, how: "measured so".into() };
        let chosen = Chosen::of("store", &scenario, &capacity);
        assert_eq!(chosen.set(), ("array.store.embedded.scale".to_owned(), expected.to_owned()));
        let scaled = scenario::load(&scenario::Source { overrides: vec![chosen.set()], ..source });
        let scaled = scaled.unwrap_or_else(|e| panic!("{e}"));
        let scale = scaled.lab.arrays[0].embedded.as_ref().map(|e| format!("{}%", e.scale.0));
        assert_eq!(scale.as_deref(), Some(expected), "the scenario takes it");
        let keys: Vec<String> = chosen.facts().into_iter().map(|f| f.key).collect();
        match expected {
            "100%" => assert_eq!(keys, ["capacity"]),
            _ => assert_eq!(keys, ["capacity", "scale-reason"]),
        }
    }

    #[test]
    fn ports_stay_within_a_safe_share_of_what_the_machine_carries() {
        // 8gfc in both directions is 1,653 MB/s; 60% of 2,756 MB/s is just that.
        check(1e6, "100%");
        check(2_756.0, "100%");
        check(2_754.0, "80%");
        check(2_000.0, "60%");
        check(1_000.0, "30%");
        check(300.0, "10%");
        check(30.0, "1%");
        check(0.0, "1%");
    }

    #[test]
    fn the_reason_has_the_numbers() {
        let source = scenario::Source {
            name: "demo.toml".into(),
            text: super::super::SCENARIO.into(),
            ..scenario::Source::default()
        };
        let scenario = scenario::load(&source).unwrap_or_else(|e| panic!("{e}"));
        let capacity = Capacity { bytes_per_s: 1e9, how: "8 workers".into() };
        let told = Chosen::of("store", &scenario, &capacity).told();
        for expected in ["1000 MB/s", "8 workers", "8gfc", "1653 MB/s", "60%", "at 30% of"] {
            assert!(told.contains(expected), "no {expected:?} in {told:?}");
        }
    }
}
