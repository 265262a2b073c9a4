//! Ports by their scenario's names: the texts of events give the addresses at which ports were reached in a run.

use record::{Event, Fact};

/// The fact that gives the address of a port.
const PORTAL: &str = "portal";

/// Events with every address of a port replaced by the name of its hop.
pub(crate) fn events(events: &[Event], facts: &[Fact]) -> Vec<Event> {
    // A volume has the fact too, and is reached through a port: the name of a port has no slash.
    let portal = |fact: &&Fact| fact.key == PORTAL && !fact.subject.contains('/');
    let names: Vec<(&str, &str)> = facts
        .iter()
        .filter(portal)
        .map(|fact| (fact.value.as_str(), fact.subject.as_str()))
        .collect();
    let named = |event: &Event| Event { text: renamed(&event.text, &names), ..event.clone() };
    events.iter().map(named).collect()
}

/// A text with addresses replaced, where no further digit follows.
fn renamed(text: &str, names: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let found = names.iter().find(|(address, _)| {
            let after = rest.strip_prefix(address);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_digit()))
        });
        let (shown, length) = match found {
            Some((address, name)) if !address.is_empty() => (*name, address.len()),
            _ => (&rest[..first.len_utf8()], first.len_utf8()),
        };
        out.push_str(shown);
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_ports_become_their_names() {
        let names = [("127.0.0.1:4001", "store.p1"), ("127.0.0.1:4002", "store.p2")];
        let cases = [
            ("127.0.0.1:4001: lost", "store.p1: lost"),
            ("from 127.0.0.1:4002 to 127.0.0.1:4001", "from store.p2 to store.p1"),
            ("127.0.0.1:40011: another", "127.0.0.1:40011: another"),
            ("über 127.0.0.1", "über 127.0.0.1"),
        ];
        for (text, expected) in cases {
            assert_eq!(renamed(text, &names), expected);
        }
    }
}
