//! On which host the process of a VM is, and what it took on each.

use probe::process::ProcessLook;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The hosts that processes are on at present: written by what moves VMs, read by what counts them.
#[derive(Clone, Debug, Default)]
pub struct Whereabouts(Arc<Mutex<BTreeMap<u32, String>>>);

impl Whereabouts {
    /// A process is on a host from now on.
    pub fn put(&self, process: u32, host: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(process, host.to_owned());
    }

    /// The processes on a host.
    pub fn on(&self, host: &str) -> Vec<u32> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(_, at)| *at == host).map(|(process, _)| *process).collect()
    }

    /// The host of a process.
    pub fn of(&self, process: u32) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&process).cloned()
    }
}

/// The stays of one process, the present one last: the host, and what the process had taken when it came.
type Stays = Vec<(String, Option<ProcessLook>)>;

/// What processes took on each host that they were on. A move counts from the look that finds it.
#[derive(Debug)]
pub struct Shares {
    now: Whereabouts,
    stays: BTreeMap<u32, Stays>,
}

impl Shares {
    /// Of the processes that are entered there.
    pub fn new(now: Whereabouts) -> Shares {
        Shares { now, stays: BTreeMap::new() }
    }

    /// Takes in looks at processes.
    pub fn take(&mut self, looks: &BTreeMap<u32, Option<ProcessLook>>) {
        for (process, look) in looks {
            let Some(host) = self.now.of(*process) else { continue };
            let stays = self.stays.entry(*process).or_default();
            match stays.last() {
                None => stays.push((host, None)),
                Some((last, _)) if *last != host => stays.push((host, *look)),
                Some(_) => {}
            }
        }
    }

    /// What each process that was on a host took there, given what it has taken in all; `None` where that is not known.
    pub fn on(
        &self,
        host: &str,
        looks: &BTreeMap<u32, Option<ProcessLook>>,
    ) -> Vec<Option<ProcessLook>> {
        let here = self.stays.iter().filter(|(_, all)| all.iter().any(|(at, _)| at == host));
        here.map(|(process, all)| share(all, host, looks.get(process).copied().flatten())).collect()
    }
}

fn share(stays: &Stays, host: &str, now: Option<ProcessLook>) -> Option<ProcessLook> {
    let mut sum: Option<ProcessLook> = None;
    for (n, (_, came)) in stays.iter().enumerate().filter(|(_, (at, _))| at == host) {
        let stay = match stays.get(n + 1) {
            // Its threads and its memory are elsewhere now.
            Some((_, left)) => ProcessLook { threads: 0, memory: 0, ..(*left)? },
            None => now?,
        };
        // What had been taken before the first stay is its own.
        let took = came.map_or(stay, |came| stay.since(came));
        sum = Some(sum.map_or(took, |sum| sum.with(took)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;

    fn look(cpu: u64) -> ProcessLook {
        let waited = Some(Ns(2 * cpu));
        ProcessLook { cpu: Ns(cpu), waited, major_faults: 0, threads: 3, memory: 100 }
    }

    /// Processor time on each of two hosts, and the threads there, after a look.
    fn on(shares: &mut Shares, cpu: u64) -> [Option<(u64, u64)>; 2] {
        let looks = BTreeMap::from([(7, Some(look(cpu)))]);
        shares.take(&looks);
        ["a", "b"].map(|host| {
            let [share] = shares.on(host, &looks)[..] else { return None };
            share.map(|share| (share.cpu.0, share.threads))
        })
    }

    #[test]
    fn what_a_process_took_is_shared_among_its_hosts() {
        let places = Whereabouts::default();
        places.put(7, "a");
        let mut shares = Shares::new(places.clone());
        assert_eq!(on(&mut shares, 10), [Some((10, 3)), None]);
        places.put(7, "b");
        // The look that finds it there.
        assert_eq!(on(&mut shares, 25), [Some((25, 0)), Some((0, 3))]);
        assert_eq!(on(&mut shares, 40), [Some((25, 0)), Some((15, 3))]);
        // And back: nothing is counted twice, nothing is lost.
        places.put(7, "a");
        assert_eq!(on(&mut shares, 50), [Some((25, 3)), Some((25, 0))]);
        assert_eq!(on(&mut shares, 60), [Some((35, 3)), Some((25, 0))]);
        assert_eq!((places.on("a"), places.on("b")), (vec![7], vec![]));
    }

    #[test]
    fn one_that_is_gone_leaves_its_last_host_unknown_alone() {
        let places = Whereabouts::default();
        places.put(7, "a");
        let mut shares = Shares::new(places.clone());
        on(&mut shares, 10);
        places.put(7, "b");
        on(&mut shares, 25);
        let gone = BTreeMap::from([(7, None)]);
        assert_eq!(
            shares.on("a", &gone).first().copied().flatten().map(|look| look.cpu.0),
            Some(25)
        );
        assert_eq!(shares.on("b", &gone), [None]);
    }
}
