//! Published labs: every step of a scenario's file compiles and can be estimated, and orders required by physics hold.
//! Whether published figures are reproduced is not tested here.

mod lab4;
mod lab5;

use scenario::Source;
use sim::estimate::Estimate;

/// A scenario, all of whose steps have been estimated.
struct Lab {
    found: Vec<Found>,
}

/// The estimate of a step.
struct Found {
    plan: String,
    /// I/Os a second of all workers.
    iops: f64,
    /// Bytes of an I/O of the first load.
    block: f64,
    estimate: Estimate,
}

impl Lab {
    fn new(text: &str) -> Lab {
        Lab::of(text, &[], |_| true)
    }

    /// The steps of one plan, with some overrides.
    fn plan_with(text: &str, plan: &str, overrides: &[(&str, &str)]) -> Lab {
        Lab::of(text, overrides, |step| step.plan == plan)
    }

    fn of(text: &str, overrides: &[(&str, &str)], wanted: impl Fn(&scenario::Step) -> bool) -> Lab {
        let set = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let source = Source {
            name: "lab.toml".to_owned(),
            text: text.to_owned(),
            overrides: set.collect(),
            ..Source::default()
        };
        let scenario = scenario::load(&source).unwrap_or_else(|wrong| panic!("{}", wrong));
        let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{}", wrong));
        let one = |step: &scenario::Step| {
            let plant = sim::lab::compile(&scenario, &topology, step).expect("a plant");
            let estimate = sim::estimate::estimate(&plant);
            let block =
                f64::from(step.disk_loads().next().expect("a load").workload.spec.largest());
            Found { plan: step.plan.clone(), iops: estimate.iops, block, estimate }
        };
        Lab { found: scenario.steps().iter().filter(|step| wanted(step)).map(one).collect() }
    }

    fn plan<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Found> {
        self.found.iter().filter(move |found| found.plan == name)
    }

    /// Every issuer has throughput, and there is a bottleneck.
    #[track_caller]
    fn check(&self) {
        assert!(!self.found.is_empty());
        for found in &self.found {
            assert!(found.iops.is_finite() && found.iops > 0.0, "{}: {}", found.plan, found.iops);
            assert!(!found.estimate.limits.is_empty(), "{}: nothing limits", found.plan);
        }
    }
}

/// Within a share of what is expected.
#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() <= within, "{found}, not {expected}");
}
