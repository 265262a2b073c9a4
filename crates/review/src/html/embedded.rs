//! Embedded arrays in words: what stood there, by which ways a disk was reached, what went wrong at ports, and when.

use super::words::listed;
use scenario::{Embedded, EmbeddedPort, Lab, Plan, Policy, VmDisk};

/// What stood for an array: `an iSCSI target on the machine of the run; port p1 (4gfc, 413 MB/s)`.
pub(super) fn array(embedded: &Embedded) -> String {
    let ports: Vec<String> = embedded
        .ports
        .chunk_by(|a, b| a.rate == b.rate)
        .map(|alike| ports(embedded, alike))
        .collect();
    let threads = match embedded.threads {
        None => String::new(),
        Some(1) => " of 1 thread".to_owned(),
        Some(n) => format!(" of {n} threads"),
    };
    format!("an iSCSI target{threads} on the machine of the run; {}", ports.join("; "))
}

/// Ports of one speed.
fn ports(embedded: &Embedded, alike: &[EmbeddedPort]) -> String {
    let names: Vec<String> = alike.iter().map(|port| port.name.clone()).collect();
    let speed = alike.first().and_then(|port| port.rate);
    let speed = speed.map_or_else(|| "as fast as it goes".to_owned(), |rate| embedded.words(rate));
    format!("{} {} ({speed})", if names.len() == 1 { "port" } else { "ports" }, listed(&names))
}

/// ` by p1, p2 (round-robin)`; nothing for a disk that is not on an embedded array.
pub(super) fn ways(disk: &VmDisk) -> String {
    let policy = match disk.policy {
        None => return String::new(),
        Some(Policy::Fixed) if disk.ports.len() == 1 => None,
        Some(policy) => Some(policy.to_string()),
    };
    let time = |(name, time)| format!("{name} {}", units::duration(time));
    let how: Vec<String> = policy.into_iter().chain(disk.patience.given().map(time)).collect();
    let how = if how.is_empty() { String::new() } else { format!(" ({})", how.join(", ")) };
    format!(" by {}{how}", listed(&disk.ports))
}

/// `; in each step, kill store.p1 at 10 s, revive store.p1 at 15 s`; nothing for a plan without faults.
pub(super) fn faults(plan: &Plan, lab: &Lab) -> String {
    if plan.faults.is_empty() {
        return String::new();
    }
    let described = |fault: &scenario::Fault| {
        let when = match fault.at.is_zero() {
            true => "at its beginning".to_owned(),
            false => format!("at {}", units::duration(fault.at)),
        };
        format!("{} {when}", fault.words(lab))
    };
    let described: Vec<String> = plan.faults.iter().map(described).collect();
    format!("; in the measured time of each step, {}", listed(&described))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::{Scenario, Source, load};

    fn san() -> Scenario {
        let text = include_str!("../../../scenario/tests/good/san.toml").to_owned();
        let source = Source { name: "san.toml".to_owned(), text, ..Source::default() };
        load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    #[test]
    fn an_array_is_told_by_its_ports() {
        let san = san();
        let described = |name: &str| array(san.lab.embedded(name).expect("an embedded array"));
        assert_eq!(
            described("store"),
            "an iSCSI target of 2 threads on the machine of the run; port p1 (4gfc, 413 MB/s, scaled to 50%: 207 \
             MB/s); port p2 (400 MB/s, scaled to 50%: 200 MB/s); port mgmt (as fast as it goes)"
        );
        assert_eq!(
            described("edge1"),
            "an iSCSI target on the machine of the run; ports e0, e1 (10gbe:9000, 1239 MB/s)"
        );
    }

    #[test]
    fn a_disk_is_told_by_its_ways() {
        let san = san();
        let lone = san.lab.vms.last().expect("a VM");
        let described: Vec<String> = lone.disks.iter().map(ways).collect();
        let expected = [
            " by p1",
            " by p1, p2 (least-queue)",
            " by p2, p1 (active-passive, no_path_retry 60 s, path_timeout 500 ms, command_timeout 5 s)",
            " by p1, p2 (fixed)",
            " by e0, e1 (round-robin, switching after 8)",
        ];
        assert_eq!(described, expected);
        let target = VmDisk { ports: Vec::new(), policy: None, ..lone.disks[0].clone() };
        assert_eq!(ways(&target), "");
    }

    #[test]
    fn faults_are_told_with_their_moments() {
        let san = san();
        assert_eq!(faults(&san.plans[0], &san.lab), "");
        let described = faults(&san.plans[1], &san.lab);
        assert!(
            described.starts_with(
                "; in the measured time of each step, busy edge2.e0 at its beginning, "
            ),
            "{described}"
        );
        assert!(
            described.contains("kill store.p1 at 10 s, revive store.p1 at 15 s, "),
            "{described}"
        );
        assert!(
            described.contains("slow store.p2 to 50 MB/s, scaled to 50%: 25 MB/s at 20 s"),
            "{described}"
        );
    }
}
