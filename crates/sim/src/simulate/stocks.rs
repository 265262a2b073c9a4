//! Stocks that only fill while a step is measured: dirty data of a cache, held queue slots. What is measured meanwhile
//! lasts until the stock is full, and no longer, so the record says when that is.

use crate::engine::Simulation;
use crate::model::PoolId;
use crate::plant::{HopElement, Plant};
use crate::simulate::meter::Meter;
use scenario::topology::HopKind;

/// Spans over which a stock must grow, each from the one before.
const SPANS: usize = 8;
/// Growth, as a share of the room, that is worth a warning.
const GROWN: f64 = 0.05;
/// Less growth is worth one as well where it is as even as this, in the share of its variation that a straight line explains,
/// by so many tokens at least, and fills the stock within a day: a large cache takes long to fill.
const EVEN: f64 = 0.99;
const TOKENS: f64 = 64.0;
const DAY: f64 = 86_400.0;
/// From this share of its room on, a stock counts as full.
const FULL: f64 = 0.99;

/// The tokens held in the pools of the hops, sampled.
pub(super) struct Stocks {
    pools: Vec<Stock>,
}

/// The tokens held in one pool.
struct Stock {
    hop: String,
    kind: HopKind,
    pool: PoolId,
    tokens: f64,
    held: Vec<f64>,
}

impl Stocks {
    /// Of all hops of a plant.
    pub fn new(plant: &Plant) -> Stocks {
        let mut pools = Vec::new();
        for hop in &plant.hops {
            let of_hop = hop.places.iter().filter_map(|place| match place {
                HopElement::Pool(pool) => Some(*pool),
                _ => None,
            });
            pools.extend(of_hop.map(|pool| Stock {
                hop: hop.name.clone(),
                kind: hop.kind,
                pool,
                tokens: f64::from(plant.network.pools()[pool.0 as usize].tokens),
                held: Vec::new(),
            }));
        }
        Stocks { pools }
    }

    /// A cell of the measured time is over.
    pub fn look(&mut self, simulation: &Simulation<Meter>) {
        let held = simulation.held();
        for stock in &mut self.pools {
            stock.held.push(f64::from(held[stock.pool.0 as usize]));
        }
    }

    /// What to warn of at the end of the measured time, which took `seconds`.
    pub fn warnings(&self, seconds: f64) -> Vec<String> {
        self.pools.iter().filter_map(|stock| stock.warning(seconds)).collect()
    }
}

impl Stock {
    fn warning(&self, seconds: f64) -> Option<String> {
        let growth = growth(&self.held, self.tokens, seconds)?;
        let (what, then) = match self.kind {
            HopKind::Cache | HopKind::Backend => {
                ("dirty data", "then writes run at the speed of the disks")
            }
            _ => ("the queue", "then what comes waits before it"),
        };
        let [first, last] = [growth.first, growth.last].map(|share| units::percent(share * 100.0));
        let grew = format!("{}: {what} grew from {first} to {last} of its room", self.hop);
        let Some(left) = growth.left else {
            return Some(format!(
                "{grew}, and so was full before the measured time ended: the figures are a mixture of before and \
                 after; lengthen `warmup`"
            ));
        };
        Some(format!(
            "{grew} in the {seconds:.0} s measured, and is full {:.0} s later at this pace; {then}: the figures hold \
             until then",
            left * seconds
        ))
    }
}

/// How a stock grew.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Growth {
    /// Its share of the room at first and at last.
    first: f64,
    last: f64,
    /// Time until it is full, as a multiple of the time seen; `None` where it is full.
    left: Option<f64>,
}

/// The growth of a stock with this room within so many seconds, if it grew all the time and by enough.
fn growth(held: &[f64], room: f64, seconds: f64) -> Option<Growth> {
    let size = held.len() / SPANS;
    if size == 0 || room <= 0.0 {
        return None;
    }
    let mean = |span: &[f64]| span.iter().sum::<f64>() / span.len() as f64 / room;
    let spans: Vec<f64> = held.chunks_exact(size).take(SPANS).map(mean).collect();
    let grows = |pair: &[f64]| pair[1] > pair[0] || pair[0] >= FULL;
    let (first, last) = (held[0] / room, held[held.len() - 1] / room);
    if !spans.windows(2).all(grows) || spans[0] >= FULL {
        return None;
    }
    if last >= FULL {
        return Some(Growth { first, last, left: None });
    }
    // The pace of the second half: growth slows down where what drains the stock speeds up.
    let pace = (spans[SPANS - 1] - spans[SPANS / 2]) / (SPANS / 2 - 1) as f64 * SPANS as f64;
    let left = (1.0 - last) / pace.max(f64::MIN_POSITIVE);
    let fills = || {
        let tokens = (last - first) * room;
        evenness(&spans) >= EVEN && tokens >= TOKENS && left * seconds <= DAY
    };
    (last - first > GROWN || fills()).then_some(Growth { first, last, left: Some(left) })
}

/// The share of the variation of these values that a straight line through them explains.
fn evenness(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let (mean, middle) = (values.iter().sum::<f64>() / count, (count - 1.0) / 2.0);
    let (mut both, mut of_at, mut of_value) = (0.0, 0.0, 0.0);
    for (at, value) in values.iter().enumerate() {
        let (at, value) = (at as f64 - middle, value - mean);
        both += at * value;
        of_at += at * at;
        of_value += value * value;
    }
    if of_value > 0.0 { both * both / of_at / of_value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(held: impl Fn(f64) -> f64, expected: Option<(f64, f64, Option<f64>)>) {
        let all: Vec<f64> = (0..320).map(|at| held(f64::from(at) / 319.0)).collect();
        let found = growth(&all, 100.0, 60.0);
        let near = |a: f64, b: f64| (a - b).abs() < 0.02 * b.max(0.1);
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some((first, last, left))) => {
                assert!(near(found.first, first) && near(found.last, last), "{found:?}");
                match (found.left, left) {
                    (None, None) => {}
                    (Some(found), Some(left)) => assert!(near(found, left), "{found}"),
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn growth_is_steady_and_of_some_size() {
        // From 10% to 30%, and 3.5 times as long to the end.
        check(|at| 10.0 + 20.0 * at, Some((0.1, 0.3, Some(3.5))));
        check(|at| 10.0 + 4.0 * at, None);
        // A cache of 10,000,000 blocks gains 20,000 a minute, evenly: full after 8 hours. Not where it levels off, or in a week.
        let of_large = |by: f64, held: fn(f64) -> f64| {
            let all: Vec<f64> = (0..320).map(|at| 1e6 + by * held(f64::from(at) / 319.0)).collect();
            growth(&all, 1e7, 60.0).and_then(|growth| growth.left)
        };
        let left = of_large(20_000.0, |at| at).expect("it fills");
        assert!((left * 60.0 / 3600.0 - 7.5).abs() < 0.1, "{left}");
        assert_eq!(of_large(20_000.0, |at| 1.0 - (-6.0 * at).exp()), None);
        assert_eq!(of_large(700.0, |at| at), None);
        check(|at| 40.0 + 30.0 * (at * 40.0).sin(), None);
        check(|at| 60.0 - 20.0 * at, None);
        check(|_| 100.0, None);
        check(|at| (50.0 + 100.0 * at).min(100.0), Some((0.5, 1.0, None)));
    }
}
