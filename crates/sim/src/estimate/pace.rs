//! The pace of transfers: links are shared max-min fair among those present on average, and one that arrives.

use super::lumped::{Lumped, SiteKind};
use super::mean::LEFT_LEAST;
use super::state::SiteSums;
use crate::analytic::{LinkFlow, max_min_of};

/// Flows that share links, directly or by others.
pub struct FlowGroup {
    /// Bytes a second that open loads leave of each of its links.
    rates: Vec<f64>,
    flows: Vec<GroupFlow>,
}

/// A flow of a group.
struct GroupFlow {
    /// Its number.
    flow: usize,
    links: Vec<CrossedLink>,
    /// Bytes a second of the slowest of them.
    ceiling: f64,
}

/// A link that a flow crosses.
struct CrossedLink {
    /// Its number among the group's.
    at: usize,
    /// How many like ones are crossed, and how many there are.
    times: f64,
    count: f64,
    /// The number of the item's visit.
    touch: Option<usize>,
}

/// The groups of a network, of whose links open loads take what is in `open`.
pub fn groups(lumped: &Lumped, open: &SiteSums) -> Vec<FlowGroup> {
    let mut groups = vec![Vec::new(); lumped.flows.len()];
    for (number, flow) in lumped.flows.iter().enumerate() {
        groups[flow.group].push(number);
    }
    groups.retain(|group| !group.is_empty());
    groups.iter().map(|flows| FlowGroup::new(lumped, open, flows)).collect()
}

impl FlowGroup {
    fn new(lumped: &Lumped, open: &SiteSums, flows: &[usize]) -> FlowGroup {
        let mut links: Vec<usize> =
            flows.iter().flat_map(|f| lumped.flows[*f].links.iter().map(|l| l.0)).collect();
        links.sort_unstable();
        links.dedup();
        let rate = |link: usize| match lumped.spots[link].kind {
            SiteKind::Link(rate) => rate,
            _ => 0.0,
        };
        let left = |link: usize| (1.0 - open.busy[link]).max(LEFT_LEAST);
        let rates = links.iter().map(|link| rate(*link) * left(*link)).collect();
        let flow = |flow: &usize| {
            let of = &lumped.flows[*flow];
            let item = &lumped.loads[of.load].items[of.item];
            let crossed = of.links.iter().map(|(link, times)| CrossedLink {
                at: links.binary_search(link).unwrap_or(0),
                times: *times,
                count: lumped.spots[*link].count,
                touch: item.touches.iter().position(|touch| touch.spot == *link),
            });
            let slowest = of.links.iter().map(|(link, _)| rate(*link));
            let ceiling = slowest.fold(f64::INFINITY, f64::min);
            GroupFlow { flow: *flow, links: crossed.collect(), ceiling }
        };
        FlowGroup { rates, flows: flows.iter().map(flow).collect() }
    }

    /// Sets the bytes a second that one more transfer of each flow would get, where so many of each flow are `present`.
    /// `own` is what an arriving one of a flow must not count of those at a visit.
    pub fn pace(&self, present: &[f64], own: impl Fn(usize, usize) -> f64, paces: &mut [f64]) {
        let stream = |of: &GroupFlow| {
            let crossed = of
                .links
                .iter()
                .map(|link| (link.at, (present[of.flow] * link.times / link.count).max(1e-9)));
            LinkFlow { links: crossed.collect(), ceiling: of.ceiling }
        };
        let mut streams: Vec<LinkFlow> = self.flows.iter().map(stream).collect();
        let mut before = Vec::new();
        for (at, of) in self.flows.iter().enumerate() {
            before.clone_from(&streams[at].links);
            for (entry, link) in streams[at].links.iter_mut().zip(&of.links) {
                let own = link.touch.map_or(0.0, |touch| own(of.flow, touch));
                entry.1 = (entry.1 - own).max(0.0) + 1.0;
            }
            paces[of.flow] = max_min_of(&self.rates, &streams, at);
            streams[at].links.clone_from(&before);
        }
    }
}
