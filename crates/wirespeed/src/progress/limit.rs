//! What limits a run at the moment, as far as hop counters of the last second show it. A review concludes from the whole
//! record; this is a glance, by the same shares from which a review calls a hop full.

use campaign::{HopLoad, LoadOf};
use findings::SATURATED_FROM;
use findings::generator::CPU_SHARE;

/// What is known, in parts that fit a line of a narrow terminal.
pub fn parts(hops: &[HopLoad]) -> Vec<String> {
    let full = |from: f64, of: fn(&LoadOf) -> bool| {
        hops.iter().find(|hop| hop.share >= from && of(&hop.of))
    };
    // A full port or a simulated hop explains busy processors better than they explain it.
    let limit = full(SATURATED_FROM, |of| matches!(of, LoadOf::Speed { .. } | LoadOf::Capacity))
        .or_else(|| full(CPU_SHARE, |of| matches!(of, LoadOf::Processors(_))));
    match (limit, hops.first()) {
        (Some(hop), _) => vec![format!("limit now: {}", load(hop))],
        (None, fullest) => {
            let fullest = fullest.map(|hop| format!("fullest: {}", load(hop)));
            let fullest = fullest.unwrap_or_else(|| "no hop is counted".to_owned());
            vec!["limit now: not determined".to_owned(), fullest]
        }
    }
}

fn load(hop: &HopLoad) -> String {
    // Never more than there is: counters and speed may be of different moments.
    let share = units::percent((hop.share.min(1.0) * 100.0).floor());
    let name = &hop.name;
    match hop.of {
        LoadOf::Speed { read, bytes_per_s } => {
            let way = if read { "read" } else { "written" };
            format!("{name}, {share} of {} ({way})", units::rate(bytes_per_s))
        }
        LoadOf::Processors(n) => format!("{name}, {share} of {n:.0} CPUs"),
        LoadOf::Busy => format!("{name}, busy {share} of the time"),
        LoadOf::Capacity => format!("{name}, {share} busy"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named_where_a_hop_is_full() {
        let hop = |name: &str, share, of| HopLoad { name: name.to_owned(), share, of };
        let port = |share| hop("p1", share, LoadOf::Speed { read: false, bytes_per_s: 1e8 });
        let cpu = |share| hop("host.cpu", share, LoadOf::Processors(2.0));
        let disk = |share| hop("vda", share, LoadOf::Busy);
        for (hops, expected) in [
            (vec![], "limit now: not determined  no hop is counted"),
            (vec![cpu(1.01), port(0.953)], "limit now: p1, 95% of 100 MB/s (written)"),
            (vec![cpu(0.91), port(0.4)], "limit now: host.cpu, 91% of 2 CPUs"),
            (vec![cpu(0.89)], "limit now: not determined  fullest: host.cpu, 89% of 2 CPUs"),
            (
                vec![disk(1.0), cpu(0.2)],
                "limit now: not determined  fullest: vda, busy 100% of the time",
            ),
            (vec![hop("hba", 0.999, LoadOf::Capacity)], "limit now: hba, 99% busy"),
        ] {
            assert_eq!(parts(&hops).join("  "), expected);
        }
    }
}
