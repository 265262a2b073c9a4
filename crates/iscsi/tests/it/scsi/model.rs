//! Persistent reservations against a slow reference: after any sequence of service actions by any nexuses the keys,
//! the reservation, the access and the unit attentions are those of plain rules.
//!
//! The reference numbers nexuses, keeps one record for each, and contains the tables of SPC-4 literally.

use std::collections::BTreeSet;

use iscsi::scsi::{Action, Device, Ending, Nexus, ScsiStatus};
use proptest::prelude::*;

use crate::scsi::rig::{code, description, parse, reply};

const NEXUSES: usize = 4;
const KINDS: [u8; 6] = [1, 3, 5, 6, 7, 8];

#[derive(Clone, Debug)]
enum Step {
    Register { key: u64, to: u64, ignore: bool },
    Reserve { key: u64, kind: u8 },
    Release { key: u64, kind: u8 },
    Clear { key: u64 },
    Preempt { key: u64, victim: u64, kind: u8 },
    Move { key: u64, to: u64, target: usize, unregister: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Good,
    Conflict,
    Sense(u16),
}

#[derive(Clone, Debug, Default)]
struct Reference {
    keys: [u64; NEXUSES],
    held: Option<(usize, u8)>,
    generation: u32,
    told: [BTreeSet<u16>; NEXUSES],
}

fn shared(kind: u8) -> bool {
    kind >= 7
}

fn for_registrants(kind: u8) -> bool {
    kind >= 5
}

impl Reference {
    fn registered(&self) -> Vec<usize> {
        (0..NEXUSES).filter(|one| self.keys[*one] != 0).collect()
    }

    fn holds(&self, who: usize) -> bool {
        match self.held {
            Some((_, kind)) if shared(kind) => self.keys[who] != 0,
            Some((holder, _)) => holder == who,
            None => false,
        }
    }

    fn tell(&mut self, code: u16, except: usize) {
        for one in self.registered() {
            if one != except {
                self.told[one].insert(code);
            }
        }
    }

    fn unregister(&mut self, who: usize) {
        let held = self.holds(who);
        self.keys[who] = 0;
        if let Some((_, kind)) = self.held
            && held
            && (!shared(kind) || self.registered().is_empty())
        {
            self.held = None;
            if for_registrants(kind) {
                self.tell(0x2a04, who);
            }
        }
    }

    fn act(&mut self, who: usize, step: &Step) -> End {
        let key = match step {
            Step::Register { key, to, ignore } => return self.register(who, *key, *to, *ignore),
            Step::Reserve { key, .. } | Step::Release { key, .. } | Step::Clear { key } => *key,
            Step::Preempt { key, .. } | Step::Move { key, .. } => *key,
        };
        if self.keys[who] == 0 || self.keys[who] != key {
            return End::Conflict;
        }
        match *step {
            Step::Reserve { kind, .. } => match self.held {
                None => {
                    self.held = Some((who, kind));
                    End::Good
                }
                Some((_, old)) if self.holds(who) && old == kind => End::Good,
                Some(_) => End::Conflict,
            },
            Step::Release { kind, .. } => self.release(who, kind),
            Step::Clear { .. } => {
                self.tell(0x2a03, who);
                self.keys = [0; NEXUSES];
                self.held = None;
                self.generation += 1;
                End::Good
            }
            Step::Preempt { victim, kind, .. } => self.preempt(who, victim, kind),
            Step::Move { to, target, unregister, .. } => self.relocate(who, to, target, unregister),
            Step::Register { .. } => unreachable!("done above"),
        }
    }

    fn register(&mut self, who: usize, key: u64, to: u64, ignore: bool) -> End {
        if !ignore && key != self.keys[who] {
            return End::Conflict;
        }
        if self.keys[who] == 0 && to == 0 {
            return End::Good;
        }
        if to == 0 {
            self.unregister(who)
        } else {
            self.keys[who] = to
        }
        self.generation += 1;
        End::Good
    }

    fn release(&mut self, who: usize, kind: u8) -> End {
        if !self.holds(who) {
            return End::Good;
        }
        if self.held.map(|held| held.1) != Some(kind) {
            return End::Sense(0x2604);
        }
        self.held = None;
        if for_registrants(kind) {
            self.tell(0x2a04, who);
        }
        End::Good
    }

    fn preempt(&mut self, who: usize, victim: u64, kind: u8) -> End {
        let takes = match self.held {
            Some((_, old)) if shared(old) => victim == 0,
            Some((holder, _)) => self.keys[holder] == victim,
            None => false,
        };
        if !takes && victim == 0 {
            return End::Sense(0x2600);
        }
        let all = takes && victim == 0;
        let mut gone: Vec<usize> =
            self.registered().into_iter().filter(|one| all || self.keys[*one] == victim).collect();
        if !takes && gone.is_empty() {
            return End::Conflict;
        }
        if takes {
            gone.retain(|one| *one != who);
        }
        for one in &gone {
            self.keys[*one] = 0;
            if *one != who {
                self.told[*one].insert(0x2a05);
            }
        }
        if let Some((_, old)) = self.held.filter(|_| takes) {
            self.held = Some((who, kind));
            if old != kind {
                self.tell(0x2a04, who);
            }
        }
        if self.registered().is_empty() {
            self.held = None;
        }
        self.generation += 1;
        End::Good
    }

    fn relocate(&mut self, who: usize, to: u64, target: usize, unregister: bool) -> End {
        match self.held {
            Some((holder, kind)) if holder == who && !shared(kind) => {
                if to == 0 || target == who {
                    return End::Sense(0x2600);
                }
                self.keys[target] = to;
                self.held = Some((target, kind));
                if unregister {
                    self.keys[who] = 0;
                }
                self.generation += 1;
                End::Good
            }
            _ => End::Conflict,
        }
    }

    /// May it read, may it write (SPC-4, tables 66 and 67)?
    fn access(&self, who: usize) -> (bool, bool) {
        let Some((_, kind)) = self.held else { return (true, true) };
        let all = self.holds(who) || (for_registrants(kind) && self.keys[who] != 0);
        (all || matches!(kind, 1 | 5 | 7), all)
    }
}

/// A key, whether it holds the reservation, of which type, and the nexus.
type Registered = (u64, bool, u8, String, u16);

struct Real {
    device: Device,
    nexuses: Vec<Nexus>,
}

impl Real {
    fn new() -> Real {
        let device = Device::new("iqn.t", &[1, 2], vec![description("model")]);
        let nexuses: Vec<Nexus> = (0..NEXUSES)
            .map(|one| Nexus::new("iqn.i", [0, 0, 0, 0, 0, one as u8 / 2], 1 + one as u16 % 2))
            .collect();
        for nexus in &nexuses {
            device.join(nexus);
            device.begin(0, nexus, &parse("00"), 0);
        }
        Real { device, nexuses }
    }

    fn act(&self, who: usize, step: &Step) -> End {
        let (action, kind, key, service_key) = match *step {
            Step::Register { key, to, ignore } => (if ignore { 6 } else { 0 }, 0, key, to),
            Step::Reserve { key, kind } => (1, kind, key, 0),
            Step::Release { key, kind } => (2, kind, key, 0),
            Step::Clear { key } => (3, 0, key, 0),
            Step::Preempt { key, victim, kind } => (4, kind, key, victim),
            Step::Move { key, to, .. } => (7, 0, key, to),
        };
        let mut list = [key.to_be_bytes(), service_key.to_be_bytes(), [0; 8]].concat();
        if let Step::Move { target, unregister, .. } = *step {
            let nexus = &self.nexuses[target];
            list[17] = u8::from(unregister) << 1;
            list[19] = nexus.port as u8;
            list[23] = 32;
            let mut name = nexus.initiator.as_bytes().to_vec();
            name.resize(28, 0);
            list.extend([0x45, 0, 0, 28]);
            list.extend(name);
        }
        let cdb = parse(&format!("5f {action:02x} {kind:02x} 00 00 {:08x} 00", list.len()));
        // No attention interferes: it was reported after the previous step.
        match self.device.parameters(0, &self.nexuses[who], &cdb, &list) {
            Action::End(Ending::GOOD) => End::Good,
            Action::End(Ending { status: ScsiStatus::ReservationConflict, .. }) => End::Conflict,
            other => End::Sense(code(&other).unwrap_or_else(|| panic!("{other:?}"))),
        }
    }

    fn told(&self, who: usize) -> BTreeSet<u16> {
        let ask = || code(&self.device.begin(0, &self.nexuses[who], &parse("00"), 0));
        std::iter::from_fn(ask).collect()
    }

    /// The generation, and the registrations of READ FULL STATUS.
    fn keys(&self) -> (u32, BTreeSet<Registered>) {
        let bytes = reply(self.device.begin(
            0,
            &self.nexuses[0],
            &parse("5e 03 00 00 00 00 00 ffff 00"),
            0,
        ));
        let generation = u32::from_be_bytes(bytes[..4].try_into().unwrap());
        let (mut at, mut keys) = (8, BTreeSet::new());
        while at < bytes.len() {
            let one = &bytes[at..at + 24 + usize::from(bytes[at + 23])];
            let key = u64::from_be_bytes(one[..8].try_into().unwrap());
            let name =
                String::from_utf8(one[28..].to_vec()).unwrap().trim_end_matches('\0').to_owned();
            keys.insert((key, one[12] & 1 == 1, one[13], name, u16::from(one[19])));
            at += one.len();
        }
        (generation, keys)
    }
}

fn agree(real: &Real, reference: &mut Reference) {
    for one in 0..NEXUSES {
        assert_eq!(real.told(one), std::mem::take(&mut reference.told[one]), "nexus {one}");
    }
    let (generation, keys) = real.keys();
    assert_eq!(generation, reference.generation);
    let wanted: BTreeSet<_> = reference
        .registered()
        .into_iter()
        .map(|one| {
            let kind = reference.held.filter(|_| reference.holds(one)).map_or(0, |held| held.1);
            let nexus = &real.nexuses[one];
            (reference.keys[one], kind != 0, kind, nexus.initiator.to_string(), nexus.port)
        })
        .collect();
    assert_eq!(keys, wanted);
    for one in 0..NEXUSES {
        let view = real.device.units()[0].view(&real.nexuses[one]);
        assert_eq!((view.reads, view.writes), reference.access(one), "nexus {one}");
    }
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let key = || 0..4_u64;
    let kind = || proptest::sample::select(&KINDS[..]);
    let step = prop_oneof![
        4 => (key(), key(), any::<bool>()).prop_map(|(key, to, ignore)| Step::Register { key, to, ignore }),
        4 => (key(), kind()).prop_map(|(key, kind)| Step::Reserve { key, kind }),
        2 => (key(), kind()).prop_map(|(key, kind)| Step::Release { key, kind }),
        1 => key().prop_map(|key| Step::Clear { key }),
        3 => (key(), key(), kind()).prop_map(|(key, victim, kind)| Step::Preempt { key, victim, kind }),
        2 => (key(), key(), 0..NEXUSES, any::<bool>())
            .prop_map(|(key, to, target, unregister)| Step::Move { key, to, target, unregister }),
    ];
    (0..NEXUSES, step)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reservations_follow_the_reference(
        steps in proptest::collection::vec((step(), any::<bool>()), 1..60),
    ) {
        let real = Real::new();
        let mut reference = Reference::default();
        for ((who, mut step), right_key) in steps {
            // Most steps use the right key, otherwise they would only fail.
            if right_key {
                match &mut step {
                    Step::Register { key, .. } | Step::Reserve { key, .. } | Step::Release { key, .. }
                    | Step::Clear { key } | Step::Preempt { key, .. } | Step::Move { key, .. } => {
                        *key = reference.keys[who];
                    }
                }
            }
            prop_assert_eq!(real.act(who, &step), reference.act(who, &step), "{} {:?}", who, step);
            agree(&real, &mut reference);
        }
    }
}
