//! Plans and applies changes to an interface. The plan compares the original settings with the current ones and the request:
//! settings that the request does not name return to their original value.

use super::netlink::{self, LinkSelector};
use super::{Interface, InterfaceError, OFFLOADS, RX_LRO};
use crate::sys::Ethtool;
use clock::Ns;
use serde::{Deserialize, Serialize};
use workload::NetFrames;

/// The longest time for a link to come up again: copper negotiates for some seconds.
const UP_AGAIN: Ns = Ns::secs(20);
/// How often to look whether it has.
const LOOK: Ns = Ns::millis(50);
/// What every link carries that IP goes over (RFC 791), and a little more than its greatest packet, as the loopback has.
const IP_LEAST: u32 = 68;
const IP_MOST: u32 = 65_536;
/// The least MTU of IPv6 (RFC 8200, section 5).
const IPV6_LEAST: u32 = 1280;

/// An interface after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjusted {
    /// As it is now.
    pub interface: Interface,
    /// What was changed, as in `MTU 1500 to 9000`.
    pub changed: Vec<String>,
    /// Offloads that cannot be what was asked for, as in `rx-lro stays off (fixed)`.
    pub held: Vec<String>,
}

impl Adjusted {
    /// An interface at which nothing was done.
    pub(crate) fn untouched(interface: Interface) -> Adjusted {
        Adjusted { interface, changed: Vec::new(), held: Vec::new() }
    }

    /// Another host's report, safe for a terminal and a record.
    pub(crate) fn cleaned(self) -> Adjusted {
        let clean = |all: Vec<String>| {
            let cut = |text: String| -> String {
                text.chars().filter(|c| !c.is_control()).take(120).collect()
            };
            all.into_iter().take(2 * OFFLOADS.len()).map(cut).collect()
        };
        Adjusted {
            interface: self.interface.cleaned(),
            changed: clean(self.changed),
            held: clean(self.held),
        }
    }
}

/// The original value of all changeable settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OriginalSettings {
    pub(super) name: String,
    pub(super) index: u32,
    pub(super) mtu: u32,
    /// Offloads that can be changed, and whether they were wanted.
    pub(super) features: Vec<(String, bool)>,
}

impl OriginalSettings {
    pub(super) fn of(interface: &Interface) -> OriginalSettings {
        let changeable = interface.features.iter().filter(|feature| !feature.fixed);
        OriginalSettings {
            name: interface.name.clone(),
            index: interface.index,
            mtu: interface.mtu,
            features: changeable.map(|one| (one.name.clone(), one.wanted)).collect(),
        }
    }

    fn wanted(&self, name: &str) -> Option<bool> {
        self.features.iter().find(|(one, _)| one == name).map(|(_, wanted)| *wanted)
    }
}

/// What has to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangePlan {
    /// The MTU to set.
    mtu: Option<u32>,
    /// Offloads to switch.
    features: Vec<(String, bool)>,
}

impl ChangePlan {
    pub(super) fn is_empty(&self) -> bool {
        self.mtu.is_none() && self.features.is_empty()
    }
}

/// How an offload should be under a wish.
fn should(found: &OriginalSettings, name: &str, frames: NetFrames) -> Option<bool> {
    let before = found.wanted(name)?;
    Some(match frames.offload {
        Some(true) if name == RX_LRO => before,
        Some(on) => on,
        None => before,
    })
}

/// From the current settings to the original ones overlaid with the request.
pub(super) fn plan(found: &OriginalSettings, now: &Interface, frames: NetFrames) -> ChangePlan {
    let mtu = frames.mtu.unwrap_or(found.mtu);
    let switch = |name: &&str| {
        let on = should(found, name, frames)?;
        let feature = now.feature(name)?;
        (!feature.fixed && feature.wanted != on).then(|| ((*name).to_owned(), on))
    };
    ChangePlan {
        mtu: (mtu != now.mtu).then_some(mtu),
        features: OFFLOADS.iter().filter_map(switch).collect(),
    }
}

/// Offloads that differ from the request: fixed ones, and those that the driver or another feature keeps off. One that could
/// be off and stays on against the request is an error.
fn held(
    found: &OriginalSettings,
    now: &Interface,
    frames: NetFrames,
) -> Result<Vec<String>, InterfaceError> {
    let Some(wish) = frames.offload else { return Ok(Vec::new()) };
    let mut held = Vec::new();
    for feature in &now.features {
        let on = should(found, &feature.name, frames).unwrap_or(wish);
        let lro_left = feature.name == RX_LRO && wish;
        if feature.on == on || lro_left {
            continue;
        }
        if !feature.fixed && !on {
            let (interface, what) = (now.name.clone(), feature.name.clone());
            return Err(InterfaceError::Held { interface, what });
        }
        let why = if feature.fixed { "fixed" } else { "its driver keeps it so" };
        held.push(format!("{} stays {} ({why})", feature.name, named(feature.on)));
    }
    Ok(held)
}

fn named(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Checks an MTU before anything is changed.
fn check_mtu(now: &Interface, mtu: u32) -> Result<(), InterfaceError> {
    let interface = now.name.clone();
    let (least, most) = now.mtu_range.unwrap_or((0, IP_MOST));
    let least = least.max(IP_LEAST);
    if !(least..=most).contains(&mtu) {
        return Err(InterfaceError::MtuRange { interface, mtu, least, most });
    }
    let failed = |source| InterfaceError::reading(&now.name, source);
    let mine =
        |(index, address): &(u32, std::net::IpAddr)| *index == now.index && address.is_ipv6();
    if mtu < IPV6_LEAST && netlink::addresses().map_err(failed)?.iter().any(mine) {
        return Err(InterfaceError::MtuOfIpv6 { interface, mtu });
    }
    Ok(())
}

/// Whether this process may change an interface. The kernel judges that before it looks at what is asked.
pub(super) fn check_permission(now: &Interface) -> Result<(), InterfaceError> {
    let failed = |source| InterfaceError::setting(&now.name, "its MTU".to_owned(), source);
    netlink::set_mtu(now.index, now.mtu).map_err(failed)
}

/// What a wish asks of an interface, checked as far as it can be before anything is done.
pub(super) fn prepare(
    found: &OriginalSettings,
    now: &Interface,
    frames: NetFrames,
) -> Result<ChangePlan, InterfaceError> {
    let plan = plan(found, now, frames);
    if let Some(mtu) = plan.mtu {
        check_mtu(now, mtu)?;
    }
    Ok(plan)
}

/// Applies a plan and verifies it.
pub(super) fn carry_out(
    plan: &ChangePlan,
    found: &OriginalSettings,
    before: &Interface,
    frames: NetFrames,
) -> Result<Adjusted, InterfaceError> {
    // First the MTU: a driver may drop offloads, or bring them back, when that changes.
    if let Some(mtu) = plan.mtu {
        set_mtu(before, mtu)?;
    }
    if !plan.features.is_empty() {
        switch(before, &plan.features)?;
    }
    let now = if plan.is_empty() { before.clone() } else { come_back(before)? };
    if let Some(mtu) = plan.mtu.filter(|mtu| *mtu != now.mtu) {
        let what = format!("its MTU, {} B instead of {mtu} B,", now.mtu);
        return Err(InterfaceError::Held { interface: now.name, what });
    }
    let held = held(found, &now, frames)?;
    Ok(Adjusted { changed: differences(before, &now), held, interface: now })
}

fn set_mtu(interface: &Interface, mtu: u32) -> Result<(), InterfaceError> {
    let failed = |e| InterfaceError::setting(&interface.name, format!("an MTU of {mtu} B"), e);
    netlink::set_mtu(interface.index, mtu).map_err(failed)
}

fn switch(interface: &Interface, features: &[(String, bool)]) -> Result<(), InterfaceError> {
    let what = || {
        let all: Vec<String> =
            features.iter().map(|(name, on)| format!("{name} {}", named(*on))).collect();
        all.join(", ")
    };
    let failed = |source| InterfaceError::setting(&interface.name, what(), source);
    let tool = Ethtool::open(&interface.name).map_err(failed)?;
    let names = tool.names().map_err(failed)?;
    let (mut which, mut on) = (0u128, 0u128);
    for (name, wanted) in features {
        if let Some(bit) = names.iter().position(|one| one == name) {
            which |= 1 << bit;
            on |= u128::from(*wanted) << bit;
        }
    }
    tool.set_features(names.len(), which, on).map_err(failed)
}

/// The interface once its link is up again, where it was up before.
fn come_back(before: &Interface) -> Result<Interface, InterfaceError> {
    let until = clock::now().plus(UP_AGAIN);
    loop {
        let now = Interface::named(&before.name)?;
        if now.carrier || !before.carrier {
            return Ok(now);
        }
        if clock::now() >= until {
            let seconds = UP_AGAIN.0 / 1_000_000_000;
            return Err(InterfaceError::Down { interface: now.name, seconds });
        }
        clock::sleep_until(clock::now().plus(LOOK));
    }
}

/// What is different, offloads by whether they are on.
fn differences(before: &Interface, now: &Interface) -> Vec<String> {
    let mut all = Vec::new();
    if before.mtu != now.mtu {
        all.push(format!("MTU {} to {}", before.mtu, now.mtu));
    }
    for feature in &now.features {
        let was = before.feature(&feature.name);
        if let Some(was) = was.filter(|was| was.on != feature.on) {
            all.push(format!("{} {} to {}", feature.name, named(was.on), named(feature.on)));
        }
    }
    all
}

/// Restores the original settings; returns the changes.
pub(super) fn put_back(found: &OriginalSettings) -> Result<Adjusted, InterfaceError> {
    let link = netlink::link(LinkSelector::Name(&found.name))
        .map_err(|source| InterfaceError::reading(&found.name, source))?;
    if link.index != found.index {
        return Err(InterfaceError::Another { interface: found.name.clone() });
    }
    let now = Interface::read(link)?;
    let plan = plan(found, &now, NetFrames::default());
    carry_out(&plan, found, &now, NetFrames::default())
}

#[cfg(test)]
mod tests {
    use super::super::Feature;
    use super::*;

    /// Features by a letter each: `+` and `-` can be changed, `1` and `0` are fixed, `w` is wanted and kept off.
    fn interface(mtu: u32, features: &[(&str, char)]) -> Interface {
        let feature = |(name, state): &(&str, char)| Feature {
            name: (*name).to_owned(),
            on: matches!(state, '+' | '1'),
            wanted: matches!(state, '+' | '1' | 'w'),
            fixed: matches!(state, '1' | '0'),
        };
        Interface {
            name: "eth9".to_owned(),
            index: 9,
            mtu,
            mtu_range: Some((68, 9600)),
            carrier: true,
            speed: None,
            driver: None,
            features: features.iter().map(feature).collect(),
        }
    }

    const TSO: &str = "tx-tcp-segmentation";
    const GRO: &str = "rx-gro";

    fn frames(mtu: impl Into<Option<u32>>, offload: impl Into<Option<bool>>) -> NetFrames {
        NetFrames { mtu: mtu.into(), offload: offload.into() }
    }

    /// What a wish asks of an interface that was found with an MTU of 1500, TSO on, and GRO off.
    #[track_caller]
    fn check(now: (u32, char, char), wish: NetFrames, expected: &str) {
        let found =
            OriginalSettings::of(&interface(1500, &[(TSO, '+'), (GRO, '-'), (RX_LRO, '-')]));
        let now = interface(now.0, &[(TSO, now.1), (GRO, now.2), (RX_LRO, '-')]);
        let plan = plan(&found, &now, wish);
        let mtu = plan.mtu.map(|mtu| mtu.to_string());
        let switched = plan.features.iter().map(|(name, on)| format!("{name}={}", named(*on)));
        let told: Vec<String> = mtu.into_iter().chain(switched).collect();
        assert_eq!(told.join(" "), expected, "{wish:?}");
        assert_eq!(plan.is_empty(), expected.is_empty());
    }

    #[test]
    fn only_differences_are_changed() {
        let none = NetFrames::default();
        check((1500, '+', '-'), none, "");
        check((1500, '+', '-'), frames(1500, None), "");
        check((1500, '+', '-'), frames(9000, None), "9000");
        check((1500, '+', '-'), frames(None, true), "rx-gro=on");
        check((1500, '+', '-'), frames(None, false), "tx-tcp-segmentation=off");
        check((1500, '+', '-'), frames(9000, false), "9000 tx-tcp-segmentation=off");
        check((9000, '-', '-'), frames(9000, true), "tx-tcp-segmentation=on rx-gro=on");
    }

    #[test]
    fn unnamed_settings_return_to_their_original_value() {
        check((9000, '-', '+'), NetFrames::default(), "1500 tx-tcp-segmentation=on rx-gro=off");
        check((9000, '-', '+'), frames(9000, None), "tx-tcp-segmentation=on rx-gro=off");
        check((9000, '+', '+'), frames(None, true), "1500");
        // Wanted all along, and kept off by something else: nothing to ask for.
        check((1500, 'w', '-'), NetFrames::default(), "");
        check((1500, 'w', '-'), frames(None, false), "tx-tcp-segmentation=off");
    }

    #[track_caller]
    fn check_held(features: &[(&str, char)], on: bool, expected: Result<&[&str], &str>) {
        let now = interface(1500, features);
        let result = held(&OriginalSettings::of(&now), &now, frames(None, on));
        match (result, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(e), Err(hint)) => assert!(e.to_string().contains(hint), "{e}"),
            (result, _) => panic!("{result:?}"),
        }
    }

    #[test]
    fn fixed_offloads_are_reported_and_refused_changes_are_errors() {
        check_held(&[(TSO, '+'), (GRO, '+')], true, Ok(&[]));
        check_held(&[(TSO, '0')], true, Ok(&["tx-tcp-segmentation stays off (fixed)"]));
        check_held(&[(TSO, '1')], false, Ok(&["tx-tcp-segmentation stays on (fixed)"]));
        check_held(
            &[(TSO, 'w')],
            true,
            Ok(&["tx-tcp-segmentation stays off (its driver keeps it so)"]),
        );
        check_held(&[(TSO, '+')], false, Err("eth9: tx-tcp-segmentation did not become"));
        // Left as it is found; but off is off.
        check_held(&[(RX_LRO, '-')], true, Ok(&[]));
        check_held(&[(RX_LRO, '+')], false, Err("rx-lro"));
    }

    #[test]
    fn differences_are_listed() {
        let before = interface(1500, &[(TSO, '+'), (GRO, '-')]);
        let now = interface(9000, &[(TSO, '-'), (GRO, '-')]);
        assert_eq!(
            differences(&before, &now),
            ["MTU 1500 to 9000", "tx-tcp-segmentation on to off"]
        );
        assert_eq!(differences(&now, &now), [""; 0]);
    }

    #[track_caller]
    fn check_range(mtu: u32, hint: Option<&str>) {
        let lo = Interface { mtu_range: Some((68, 9600)), ..Interface::named("lo").unwrap() };
        let result = check_mtu(&lo, mtu);
        match hint {
            None => assert!(result.is_ok(), "{result:?}"),
            Some(hint) => assert!(result.unwrap_err().to_string().contains(hint)),
        }
    }

    #[test]
    fn an_mtu_is_checked_before_anything_is_changed() {
        check_range(9600, None);
        check_range(1500, None);
        check_range(
            9601,
            Some("lo: an MTU of 9601 B is out of the range of its driver, 68 to 9600 B"),
        );
        check_range(67, Some("out of the range"));
        let unbounded = Interface { mtu_range: None, ..Interface::named("lo").unwrap() };
        assert!(check_mtu(&unbounded, 0).is_err() && check_mtu(&unbounded, u32::MAX).is_err());
        assert!(check_mtu(&unbounded, 65_536).is_ok());
    }
}
