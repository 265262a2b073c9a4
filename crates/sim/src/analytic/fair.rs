//! Max-min fair rates of streams that share links: no stream could go faster without slowing one that is not faster
//! than it (progressive filling, Bertsekas and Gallager 1992). A stream may have a rate limit of its own, and may use
//! more of one link than of another (encapsulation, mirrored writes).

/// A stream over links.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFlow {
    /// The links that it crosses, and the bytes on each for a byte of the stream (more than 0).
    pub links: Vec<(usize, f64)>,
    /// Its own rate limit in bytes a second; infinite where only links limit it.
    pub ceiling: f64,
}

/// The rate of each stream in bytes a second, over links of `capacities` bytes a second. A stream over an unknown link
/// or one of negative capacity gets 0; one without links and rate limit gets infinity.
pub fn max_min(capacities: &[f64], flows: &[LinkFlow]) -> Vec<f64> {
    filled(capacities, flows, None)
}

/// The rate of one of the streams, without those that are settled after it.
pub(crate) fn max_min_of(capacities: &[f64], flows: &[LinkFlow], wanted: usize) -> f64 {
    filled(capacities, flows, Some(wanted))[wanted]
}

/// The rates of all streams, or of those that are settled until a wanted one is.
fn filled(capacities: &[f64], flows: &[LinkFlow], wanted: Option<usize>) -> Vec<f64> {
    let mut rates = vec![0.0; flows.len()];
    let mut left: Vec<f64> = capacities.iter().map(|capacity| capacity.max(0.0)).collect();
    let sound = |flow: &LinkFlow| {
        let links = |(link, share): &(usize, f64)| *link < left.len() && *share > 0.0;
        flow.links.iter().all(links) && flow.ceiling > 0.0
    };
    let mut open: Vec<bool> = flows.iter().map(sound).collect();
    let mut level: f64 = 0.0;
    let mut weights = vec![0.0; capacities.len()];
    // Every round settles at least one stream.
    while wanted.map_or_else(|| open.contains(&true), |wanted| open[wanted]) {
        weights.fill(0.0);
        let filling = || flows.iter().zip(&open).filter(|(_, open)| **open).map(|(flow, _)| flow);
        for (link, share) in filling().flat_map(|flow| &flow.links) {
            weights[*link] += share;
        }
        let link_steps = left.iter().zip(&weights).filter(|(_, weight)| **weight > 0.0);
        let by_link = link_steps.map(|(left, weight)| left / weight).fold(f64::INFINITY, f64::min);
        let by_ceiling = filling().map(|flow| flow.ceiling - level).fold(f64::INFINITY, f64::min);
        let step = by_link.min(by_ceiling).max(0.0);
        level += step;
        for (left, weight) in left.iter_mut().zip(&weights) {
            if *weight > 0.0 {
                // The link that decided is full, whatever the rounding says.
                *left = if *left / weight <= step { 0.0 } else { *left - step * weight };
            }
        }
        for (number, flow) in flows.iter().enumerate() {
            let full = |(link, _): &(usize, f64)| left[*link] <= 0.0;
            if open[number]
                && (step.is_infinite() || flow.ceiling <= level || flow.links.iter().any(full))
            {
                open[number] = false;
                rates[number] = level.min(flow.ceiling);
            }
        }
    }
    rates
}
