//! Identities of places, in one spelling: WWNs, MAC addresses, NAA and EUI identifiers; and those by which two sources are known
//! to count one machine.

use std::collections::BTreeSet;

/// An identity in one spelling: hexadecimal digits without separators behind the name of its kind. `None` for any other text:
/// names are no identities.
pub fn canonical(text: &str) -> Option<String> {
    let text = text.trim().to_ascii_lowercase();
    for prefix in ["naa.", "eui.", "t10.", "uuid."] {
        if let Some(rest) = text.strip_prefix(prefix) {
            return (rest.len() >= 8).then(|| format!("{prefix}{rest}"));
        }
    }
    let hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split([':', '-']).collect();
    let pairs = parts.iter().all(|part| part.len() == 2 && hex(part));
    match parts.len() {
        8 if pairs => return Some(format!("wwn.{}", parts.concat())),
        6 if pairs => return Some(format!("mac.{}", parts.concat())),
        _ => {}
    }
    let bare = text.strip_prefix("0x").unwrap_or(&text);
    match bare.len() {
        16 if hex(bare) && matches!(bare.as_bytes()[0], b'1' | b'2' | b'5' | b'c') => {
            Some(format!("wwn.{bare}"))
        }
        32 if hex(bare) && bare.starts_with('6') => Some(format!("naa.{bare}")),
        _ => None,
    }
}

/// A UUID of firmware that many boards have in common: nobody has set it.
const UNSET: &str = "03000200040005000006000700080009";

/// What a machine is known by, as one source tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Its own identities, each behind the name of its kind: `uuid.…`, `machine-id.…`.
    ids: BTreeSet<String>,
    /// Addresses of its own ports, in canonical form.
    ports: BTreeSet<String>,
}

impl Machine {
    /// Adds an identity of a kind, `uuid` or `machine-id`, unless the text is none or says nothing.
    pub fn identify(&mut self, kind: &str, text: &str) {
        let hex: String = text.trim().to_ascii_lowercase().replace('-', "");
        let whole = hex.len() == 32 && hex.bytes().all(|b| b.is_ascii_hexdigit());
        if whole && hex != UNSET && varied(&hex) {
            self.ids.insert(format!("{kind}.{hex}"));
        }
    }

    /// Adds the address of a port of its own. Addresses of one digit alone, as ports without hardware have them, and those that
    /// Docker gives to the containers of every host tell nothing.
    pub fn port(&mut self, id: &str) {
        let digits = id.strip_prefix("mac.").or_else(|| id.strip_prefix("wwn."));
        if digits.is_some_and(varied) && !id.starts_with("mac.0242") {
            self.ports.insert(id.to_owned());
        }
    }

    /// Adds what a text in canonical form is: the identity of a machine, or the address of a port of its own.
    pub fn known_as(&mut self, id: &str) {
        match id.split_once('.') {
            Some((kind @ ("uuid" | "machine-id"), text)) => self.identify(kind, text),
            _ => self.port(id),
        }
    }

    /// All that it is known by, as [`Machine::known_as`] takes it.
    pub fn told(&self) -> impl Iterator<Item = &String> {
        self.ids.iter().chain(&self.ports)
    }

    /// Whether two sources certainly count different machines.
    pub fn differs(&self, other: &Machine) -> bool {
        let kind = |id: &str| id.split('.').next().unwrap_or_default().to_owned();
        let contradicts = |id: &String| {
            let mut like = other.ids.iter().filter(|of| kind(of) == kind(id)).peekable();
            like.peek().is_some() && !like.any(|of| of == id)
        };
        let told = !self.ports.is_empty() && !other.ports.is_empty();
        self.ids.iter().any(contradicts) || told && self.ports.is_disjoint(&other.ports)
    }

    /// By what two sources count one machine; `None` where nothing tells, or something contradicts it.
    ///
    /// Of ports all that the one source names must be known to the other: one address alone may be a bridge's, which other
    /// machines have too. A machine identity is not enough where ports are known and none is shared: machines are cloned.
    pub fn same(&self, other: &Machine) -> Option<String> {
        if self.differs(other) {
            return None;
        }
        let shared: Vec<&String> = self.ports.intersection(&other.ports).collect();
        if let Some(id) = self.ids.intersection(&other.ids).next() {
            return Some(id.clone());
        }
        let all = shared.len() == self.ports.len().min(other.ports.len());
        shared.first().filter(|_| all).map(|id| (*id).clone())
    }
}

/// Whether digits are not all the same.
fn varied(digits: &str) -> bool {
    digits.bytes().any(|b| Some(&b) != digits.as_bytes().first())
}

#[cfg(test)]
mod tests {
    use super::{Machine, canonical};

    fn machine(ids: &[(&str, &str)], ports: &[&str]) -> Machine {
        let mut out = Machine::default();
        ids.iter().for_each(|(kind, text)| out.identify(kind, text));
        ports.iter().filter_map(|port| canonical(port)).for_each(|port| out.port(&port));
        out
    }

    const UUID: (&str, &str) = ("uuid", "4C4C4544-0042-3510-8051-B4C04F564433");
    const ETH0: &str = "52:54:00:00:00:01";
    const ETH1: &str = "52:54:00:00:00:02";

    #[test]
    fn one_machine_is_known_by_its_uuid_or_by_all_ports_of_one_source() {
        let one = |a: &Machine, b: &Machine| (a.same(b), b.same(a));
        let (eth0, both) = (machine(&[], &[ETH0]), machine(&[UUID], &[ETH0, ETH1]));
        let mac = Some("mac.525400000001".to_owned());
        assert_eq!(one(&eth0, &both), (mac.clone(), mac));
        let lower = machine(&[("uuid", "4c4c4544004235108051b4c04f564433")], &[]);
        assert!(lower.same(&both).is_some_and(|by| by.starts_with("uuid.")));
        let none = [
            // One address in common, and others that are not: a bridge.
            (machine(&[], &[ETH0, ETH1]), machine(&[], &[ETH0, "52:54:00:00:00:03"])),
            // Clones have one machine identity, and addresses of their own.
            (machine(&[UUID], &[ETH0]), machine(&[UUID], &[ETH1])),
            // A container's address at two hosts that have other identities.
            (machine(&[UUID], &[ETH0]), machine(&[("uuid", &UUID.1.replace('4', "5"))], &[ETH0])),
            (machine(&[], &["02:42:ac:11:00:02"]), machine(&[], &["02:42:ac:11:00:02"])),
            (machine(&[], &["ee:ee:ee:ee:ee:ee"]), machine(&[], &["ee:ee:ee:ee:ee:ee"])),
            (machine(&[("uuid", super::UNSET)], &[]), machine(&[("uuid", super::UNSET)], &[])),
            (machine(&[], &[]), machine(&[], &[])),
        ];
        for (a, b) in &none {
            assert_eq!(one(a, b), (None, None), "{a:?} {b:?}");
        }
    }

    #[test]
    fn one_identity_has_one_spelling_and_a_name_none() {
        let wwn = Some("wwn.10000000c9123456".to_owned());
        for text in ["10:00:00:00:C9:12:34:56", "0x10000000c9123456", "10-00-00-00-c9-12-34-56"] {
            assert_eq!(canonical(text), wwn, "{text}");
        }
        assert_eq!(canonical("00:1b:21:aa:bb:cc").as_deref(), Some("mac.001b21aabbcc"));
        for text in ["eth0", "port 1", "", "naa.12", "fc1/1", "3600140512345678"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }
}
