//! Embedded arrays of a run on a fleet: they stand on the coordinator's machine, where agents of other machines reach them.

use super::facts;
use crate::exit::Failure;
use engine::RunSecret;
use fleet::arrays::ArrayAccess;
use nats::Announcement;
use scenario::Scenario;
use std::net::IpAddr;

/// Bytes of chance in the secret of a run.
const CHANCE: usize = 16;

/// The names of a scenario's embedded arrays.
pub fn embedded(scenario: &Scenario) -> impl Iterator<Item = &str> {
    let arrays = scenario.lab.arrays.iter().filter(|array| array.embedded.is_some());
    arrays.map(|array| array.name.as_str())
}

/// How agents reach the embedded arrays, where there are some; `None`: on loopback, since all are on this machine.
pub fn access(
    scenario: &Scenario,
    agents: &[&Announcement],
    at: Option<IpAddr>,
) -> Result<Option<ArrayAccess>, Failure> {
    let Some(array) = embedded(scenario).next() else { return Ok(None) };
    let twin = agents.iter().find(|one| embedded(scenario).any(|array| array == one.name));
    if let Some(one) = twin {
        return Err(Failure::usage(format!(
            "`{}` is an embedded array of this scenario and an agent: give one of them another name",
            one.name
        )));
    }
    let Some(address) = at else {
        return match agents.iter().find(|one| !is_here(one)) {
            None => Ok(None),
            Some(one) => Err(Failure::usage(format!(
                "the embedded array `{array}` would be served on loopback, which agent `{}` of another machine does not \
                 reach: say with --arrays-at ADDRESS which address of this machine agents reach",
                one.name
            ))),
        };
    };
    let mut chance = [0; CHANCE];
    clock::unpredictable(&mut chance).map_err(Failure::incomplete)?;
    let secret: String = chance.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Some(ArrayAccess { address, secret: RunSecret::new(secret) }))
}

/// Whether an agent is on this machine, as far as its facts tell.
fn is_here(one: &Announcement) -> bool {
    let told = |key: &str| {
        let mut facts = one.facts.iter().filter(|fact| fact.subject == one.name && fact.key == key);
        facts.next().map(|fact| fact.value.as_str())
    };
    told("boot") == Some(facts::boot().as_str())
}
