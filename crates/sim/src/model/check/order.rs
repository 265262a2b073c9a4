//! Checks that loads that begin after others ever begin.

use super::NetworkError;
use crate::model::{Begin, Network};

/// Every load that waits must wait for known loads with an end, and not for itself.
pub fn check(network: &Network) -> Result<(), NetworkError> {
    let refuse = |load: usize, problem: String| Err(NetworkError::Load { load, problem });
    for (number, load) in network.loads.iter().enumerate() {
        let Begin::After(before) = &load.begins else { continue };
        if before.is_empty() {
            return refuse(number, "it begins after no load; give it a start time".to_owned());
        }
        for other in before {
            match network.loads.get(other.0 as usize) {
                None => return refuse(number, format!("there is no load {} before it", other.0)),
                Some(other_load) if other_load.total.is_none() => {
                    let problem = format!(
                        "it begins after load {}, which has no end; give that a total",
                        other.0
                    );
                    return refuse(number, problem);
                }
                Some(_) => {}
            }
        }
    }
    match circle(network) {
        Some(load) => refuse(load, "it begins after itself; break the cycle".to_owned()),
        None => Ok(()),
    }
}

/// A load in a cycle, or waiting for one: what is left when all loads that can begin have begun.
fn circle(network: &Network) -> Option<usize> {
    let loads = &network.loads;
    let mut waits: Vec<usize> = loads.iter().map(|load| before(&load.begins).len()).collect();
    let mut followers = vec![Vec::new(); loads.len()];
    for (number, load) in loads.iter().enumerate() {
        before(&load.begins).iter().for_each(|other| followers[other.0 as usize].push(number));
    }
    let mut begun: Vec<usize> = (0..loads.len()).filter(|load| waits[*load] == 0).collect();
    while let Some(load) = begun.pop() {
        for follower in &followers[load] {
            waits[*follower] -= 1;
            if waits[*follower] == 0 {
                begun.push(*follower);
            }
        }
    }
    waits.iter().position(|waits| *waits > 0)
}

fn before(begins: &Begin) -> &[crate::model::LoadId] {
    match begins {
        Begin::After(loads) => loads,
        Begin::Now | Begin::At(_) => &[],
    }
}
