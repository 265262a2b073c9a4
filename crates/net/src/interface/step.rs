//! The interfaces of a step: set before its streams connect, recorded, and restored before it ends. Several loads may share a
//! receiver, whose interfaces are read and set once.

use super::{AdjustPermission, Adjusted, Feature, Guardian, Interface, PathInterfaces};
use crate::{NetError, SendConfig};
use clock::Ns;
use engine::{EventNote, IntervalTx, NetSpec, Output};
use record::{Counter, CounterId, Event, Fact, Level, SourceId};

/// The interfaces of a step's loads. Dropping it restores the original settings; events of that have no time.
#[derive(Debug)]
pub struct Interfaces {
    step: u32,
    each: Vec<ReceiverPath>,
    /// Takes the events of a step that is dropped.
    notes: Option<IntervalTx>,
}

/// Both ends of the way to one receiver.
#[derive(Debug)]
struct ReceiverPath {
    receiver: String,
    /// The machines at both ends, in the record.
    machines: (SourceId, SourceId),
    ends: PathInterfaces,
}

impl Interfaces {
    /// Of a step, which has no loads yet.
    pub fn new(step: u32) -> Interfaces {
        Interfaces { step, each: Vec::new(), notes: None }
    }

    /// Looks at the interfaces by which a load goes, and sets both where the step asks for it; to be called before its streams
    /// are connected, since they agree on segment sizes then. `notes` takes an event for each changed end.
    /// # Errors
    /// As [`PathInterfaces::prepare`]. What was set for loads before stays set until this is dropped.
    pub fn prepare(
        &mut self,
        net: &NetSpec,
        config: &SendConfig,
        guardian: Option<&Guardian>,
        notes: &IntervalTx,
    ) -> Result<(), NetError> {
        if self.of(net).is_some() {
            return Ok(());
        }
        let permission = AdjustPermission { adjust: net.receiver.adjust.as_deref(), guardian };
        let ends = PathInterfaces::prepare(config, permission, net.frames)?;
        let pair = ReceiverPath {
            receiver: net.receiver.name.clone(),
            machines: (net.sources.sender, net.sources.receiver),
            ends,
        };
        for (whose, source, adjusted) in both(pair.machines, &pair.ends.near, &pair.ends.far) {
            for note in notes_of(whose, adjusted, "interface-set") {
                // A listener that is gone has dropped the step.
                let _ = notes.send(Output::Event(note.event(self.step, Some(source))));
            }
        }
        self.notes = Some(notes.clone());
        self.each.push(pair);
        Ok(())
    }

    fn of(&self, net: &NetSpec) -> Option<&ReceiverPath> {
        self.each.iter().find(|pair| pair.receiver == net.receiver.name)
    }

    /// Which interfaces a load uses, for the record.
    pub fn facts(&self, net: &NetSpec) -> Vec<Fact> {
        let Some(ReceiverPath { ends, .. }) = self.of(net) else { return Vec::new() };
        let fact = |key: &str, interface: &Interface| Fact {
            subject: net.name.clone(),
            key: key.to_owned(),
            value: interface.to_string(),
        };
        vec![
            fact("sender-interface", &ends.near.interface),
            fact("receiver-interface", &ends.far.interface),
        ]
    }

    /// What the interfaces of a load were while it was measured, from `from` to `to` on the record's time base: MTU, speed
    /// where there is a wire, and offloads, for the machine at each end.
    pub fn counters(&self, net: &NetSpec, from: Ns, to: Ns) -> Vec<Counter> {
        let Some(ReceiverPath { ends, .. }) = self.of(net) else { return Vec::new() };
        let both = [
            (net.sources.sender, &ends.near.interface),
            (net.sources.receiver, &ends.far.interface),
        ];
        let counter = |source, (id, part, value): InterfaceCounter| Counter {
            source,
            step: Some(self.step),
            from,
            to,
            kind: id.into(),
            part,
            value,
        };
        let of = |(source, interface): (SourceId, &Interface)| {
            figures(interface).into_iter().map(move |figure| counter(source, figure)).collect()
        };
        both.into_iter().flat_map(|one| -> Vec<Counter> { of(one) }).collect()
    }

    /// Puts back what was found, at both ends of each way, and waits for it; `at` tells the moment on the record's time base.
    /// What could not be put back is an event too.
    pub fn put_back(mut self, at: impl Fn() -> Ns) -> Vec<Event> {
        self.undo(at)
    }

    fn undo(&mut self, at: impl Fn() -> Ns) -> Vec<Event> {
        let mut events = Vec::new();
        for pair in std::mem::take(&mut self.each) {
            let machines = pair.machines;
            let Some((near, far)) = pair.ends.put_back() else { continue };
            for (whose, source, result) in both(machines, near, far) {
                let notes = match result {
                    Ok(adjusted) => notes_of(whose, &adjusted, "interface-restored"),
                    Err(e) => vec![EventNote {
                        level: Level::Error,
                        code: "interface-not-restored",
                        text: e.to_string(),
                    }],
                };
                let step = self.step;
                let event = |note: EventNote| Event { at: at(), ..note.event(step, Some(source)) };
                events.extend(notes.into_iter().map(event));
            }
        }
        events
    }
}

impl Drop for Interfaces {
    fn drop(&mut self) {
        let notes = self.notes.take();
        for event in self.undo(|| Ns::ZERO) {
            if let Some(notes) = &notes {
                // A listener that is gone has dropped the step.
                let _ = notes.send(Output::Event(event));
            }
        }
    }
}

/// Something of each end, with its machine.
fn both<T>(machines: (SourceId, SourceId), near: T, far: T) -> [(&'static str, SourceId, T); 2] {
    [("the sender's", machines.0, near), ("the receiver's", machines.1, far)]
}

/// What was done to an interface, and what it would not take.
fn notes_of(whose: &str, adjusted: &Adjusted, code: &'static str) -> Vec<EventNote> {
    let name = &adjusted.interface.name;
    let note = |level, code, all: &[String]| EventNote {
        level,
        code,
        text: format!("{whose} {name}: {}", all.join(", ")),
    };
    let changed =
        (!adjusted.changed.is_empty()).then(|| note(Level::Info, code, &adjusted.changed));
    let held = (!adjusted.held.is_empty())
        .then(|| note(Level::Info, "interface-offload-fixed", &adjusted.held));
    changed.into_iter().chain(held).collect()
}

/// What there is to count of an interface: name, value and unit.
/// A counter, the part of the machine that it is of, and its value.
type InterfaceCounter = (CounterId, Option<String>, f64);

fn figures(interface: &Interface) -> Vec<InterfaceCounter> {
    let mtu = Some((CounterId::InterfaceMtu, None, f64::from(interface.mtu)));
    let speed = interface.speed.map(|speed| (CounterId::InterfaceSpeed, None, speed as f64));
    let offload = |feature: &Feature| {
        (CounterId::Offload, Some(feature.name.clone()), f64::from(u8::from(feature.on)))
    };
    mtu.into_iter().chain(speed).chain(interface.features.iter().map(offload)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface() -> Interface {
        let feature =
            |name: &str, on| Feature { name: name.to_owned(), on, wanted: on, fixed: false };
        Interface {
            name: "eth9".to_owned(),
            index: 9,
            mtu: 9000,
            mtu_range: None,
            carrier: true,
            speed: Some(1_250_000_000),
            driver: Some("ixgbe".to_owned()),
            features: vec![feature("rx-gro", true), feature("rx-lro", false)],
        }
    }

    #[track_caller]
    fn check(interface: &Interface, expected: &str) {
        let told: Vec<String> = figures(interface)
            .into_iter()
            .map(|(id, part, value)| {
                let part = part.map_or(String::new(), |part| format!("/{part}"));
                format!("{}{part}={value} {}", id.name(), id.info().unit)
            })
            .collect();
        assert_eq!(told.join(", "), expected);
    }

    #[test]
    fn an_interface_is_counted_under_the_names_of_the_record() {
        let offloads = "offload/rx-gro=1 1, offload/rx-lro=0 1";
        check(
            &interface(),
            &format!("interface-mtu=9000 B, interface-speed=1250000000 B/s, {offloads}"),
        );
        check(
            &Interface { speed: None, ..interface() },
            &format!("interface-mtu=9000 B, {offloads}"),
        );
    }

    #[test]
    fn what_was_done_is_noted() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let adjusted = |changed: &[&str], held: &[&str]| Adjusted {
            interface: interface(),
            changed: words(changed),
            held: words(held),
        };
        let told = |adjusted: &Adjusted| -> Vec<String> {
            let notes = notes_of("the sender's", adjusted, "interface-set").into_iter();
            notes.map(|note| format!("{} {}", note.code, note.text)).collect()
        };
        assert_eq!(told(&adjusted(&[], &[])), [""; 0]);
        let expected = [
            "interface-set the sender's eth9: MTU 1500 to 9000, rx-gro off to on",
            "interface-offload-fixed the sender's eth9: rx-lro stays off (fixed)",
        ];
        let both =
            adjusted(&["MTU 1500 to 9000", "rx-gro off to on"], &["rx-lro stays off (fixed)"]);
        assert_eq!(told(&both), expected);
    }
}
