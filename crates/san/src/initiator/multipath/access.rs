//! Asymmetric access to a logical unit (ALUA; SPC-4, 5.16): through which port group a path leads, and in which state that
//! group is. Pure: bytes in, facts out.

use std::fmt;

/// Bytes that are asked for of REPORT TARGET PORT GROUPS: some two hundred groups with a port each.
pub(in crate::initiator) const GROUPS_LEN: u32 = 2048;

/// The codes that the port designators have (SPC-4, 7.8.6).
const RELATIVE_PORT: u8 = 4;
const PORT_GROUP: u8 = 5;
/// A designator of the port that was asked.
const OF_PORT: u8 = 0x10;

/// In which state the ports of a group are towards a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::initiator) enum AccessState {
    /// Preferred; also assumed if the target reports no states.
    #[default]
    Optimized,
    /// A way that works, for some blocks or for all, but not the best.
    NonOptimized,
    /// On its way from one state to another: it answers NOT READY.
    Transitioning,
    /// Moves no blocks until it is activated.
    Standby,
    /// Moves no blocks.
    Unavailable,
}

impl AccessState {
    fn parse(code: u8) -> AccessState {
        match code {
            0x0 => AccessState::Optimized,
            // Active/non-optimized, and dependent on the block.
            0x1 | 0x4 => AccessState::NonOptimized,
            0x2 => AccessState::Standby,
            0xf => AccessState::Transitioning,
            _ => AccessState::Unavailable,
        }
    }

    /// Whether blocks are moved.
    pub fn carries(self) -> bool {
        self <= AccessState::NonOptimized
    }
}

impl fmt::Display for AccessState {
    /// "active/optimized".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessState::Optimized => "active/optimized",
            AccessState::NonOptimized => "active/non-optimized",
            AccessState::Transitioning => "transitioning",
            AccessState::Standby => "standby",
            AccessState::Unavailable => "unavailable",
        })
    }
}

/// The port of a request, from the unit's designators (page 0x83).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::initiator) struct PortFacts {
    /// The relative target port identifier.
    pub relative: Option<u16>,
    /// The target port group.
    pub group: Option<u16>,
}

impl PortFacts {
    /// Reads it off the page.
    pub fn parse(page: &[u8]) -> PortFacts {
        let mut facts = PortFacts::default();
        let [_, 0x83, high, low, rest @ ..] = page else { return facts };
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let mut rest = &rest[..len];
        while let [_, kind, _, len, after @ ..] = rest {
            let Some((this, next)) = after.split_at_checked(usize::from(*len)) else { break };
            if let (OF_PORT, [_, _, high, low]) = (kind & 0x30, this) {
                let number = Some(u16::from_be_bytes([*high, *low]));
                match kind & 0x0f {
                    RELATIVE_PORT => facts.relative = number,
                    PORT_GROUP => facts.group = number,
                    _ => {}
                }
            }
            rest = next;
        }
        facts
    }

    /// Its state, by an answer to REPORT TARGET PORT GROUPS; `None` where it does not stand there. A port is found by its
    /// group, or by its own number where it told none.
    pub fn state(self, report: &[u8]) -> Option<AccessState> {
        let len = report.first_chunk().map(|len| u32::from_be_bytes(*len) as usize)?;
        let rest = report.get(4..)?;
        let mut rest = &rest[..len.min(rest.len())];
        while let [first, _, high, low, _, _, _, count, after @ ..] = rest {
            let (ports, next) = after.split_at_checked(4 * usize::from(*count))?;
            let number = u16::from_be_bytes([*high, *low]);
            let holds = |port: &[u8]| Some(u16::from_be_bytes([port[2], port[3]])) == self.relative;
            let found = match self.group {
                Some(group) => group == number,
                None => ports.chunks_exact(4).any(holds),
            };
            if found {
                return Some(AccessState::parse(first & 0x0f));
            }
            rest = next;
        }
        None
    }
}

/// Whether standard INQUIRY data says that the unit reports access states (the TPGS field).
pub(in crate::initiator) fn tells_states(inquiry: &[u8]) -> bool {
    inquiry.get(5).is_some_and(|byte| byte & 0x30 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: [u8; 24] =
        [0, 0x83, 0, 20, 0x51, 0x94, 0, 4, 0, 0, 0, 7, 0x51, 0x95, 0, 4, 0, 0, 0, 2, 1, 3, 0, 0];

    /// Group 1 in the state `first` with port 1, group 2 in the state `second` with ports 6 and 7.
    fn report(first: u8, second: u8) -> Vec<u8> {
        let groups: [&[u8]; 2] = [
            &[0x80 | first, 0xff, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
            &[second, 0xff, 0, 2, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0, 7],
        ];
        [&[0, 0, 0, 28], &groups.concat()[..]].concat()
    }

    #[test]
    fn a_port_finds_its_group_and_its_state() {
        let port = PortFacts::parse(&PAGE);
        assert_eq!(port, PortFacts { relative: Some(7), group: Some(2) });
        let by_number = PortFacts { group: None, ..port };
        for (code, state) in [
            (0, AccessState::Optimized),
            (1, AccessState::NonOptimized),
            (2, AccessState::Standby),
            (3, AccessState::Unavailable),
            (4, AccessState::NonOptimized),
            (0xe, AccessState::Unavailable),
            (0xf, AccessState::Transitioning),
        ] {
            let other = if code == 2 { 0 } else { 2 };
            assert_eq!(port.state(&report(other, code)), Some(state));
            assert_eq!(by_number.state(&report(other, code)), Some(state));
            assert_eq!(state.carries(), matches!(code, 0 | 1 | 4));
        }
        assert_eq!(PortFacts::default().state(&report(0, 0)), None);
        assert_eq!(PortFacts { group: Some(9), ..port }.state(&report(0, 0)), None);
        assert_eq!(port.state(&report(0, 2)[..20]), None, "cut off");
    }

    #[test]
    fn tpgs_is_read_from_inquiry_data() {
        assert!(tells_states(&[0, 0, 5, 2, 31, 0x10]) && tells_states(&[0, 0, 5, 2, 31, 0x30]));
        assert!(!tells_states(&[0, 0, 5, 2, 31, 0x0f]) && !tells_states(&[]));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut page = bytes.clone();
            page.splice(0..page.len().min(2), [0, 0x83]);
            let port = PortFacts::parse(&page);
            let _ = (port.state(&bytes), PortFacts { relative: Some(1), group: None }.state(&bytes));
        }
    }
}
