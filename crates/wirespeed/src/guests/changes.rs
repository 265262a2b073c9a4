//! What happens to guests in a step: one stands still and goes on, or moves to another QEMU while it runs; all of a host lose
//! their power and boot again.
//!
//! All of it is carried out on the thread that watches the guest ([`super::body`]): the kernel ends a QEMU with the thread that
//! has started it.

use super::body::{Done, Order, What};
use crate::moments::{Changes, Site, Told};
use engine::{
    Engine, EngineError, IntervalTx, LabChange, LabEvent, LabStep, Prepared, StepSpec, Stop,
};
use record::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The guests of a run that take orders, by name.
#[derive(Clone, Default)]
pub struct GuestOrders(Arc<Mutex<BTreeMap<String, OrderedGuest>>>);

/// A guest that takes orders.
struct OrderedGuest {
    /// Where it is now.
    host: Option<String>,
    orders: Sender<Order>,
}

impl GuestOrders {
    /// A guest that has started on a host.
    pub fn add(&self, name: &str, host: Option<&str>, orders: Sender<Order>) {
        let host = host.map(str::to_owned);
        self.all().insert(name.to_owned(), OrderedGuest { host, orders });
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, OrderedGuest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, name: &str) -> Option<Sender<Order>> {
        self.all().get(name).map(|guest| guest.orders.clone())
    }

    /// The guests that are on a host now.
    fn on(&self, host: &str) -> Vec<String> {
        let all = self.all();
        let here = all.iter().filter(|(_, guest)| guest.host.as_deref() == Some(host));
        here.map(|(name, _)| name.clone()).collect()
    }

    /// Has guests do something, all at once; what each did, or why it did not.
    fn have(&self, names: &[String], what: What) -> Vec<(String, Result<Done, String>)> {
        let order = |name: &String| {
            let (answer, answered) = mpsc::channel();
            let sent = self.of(name).is_some_and(|to| to.send(Order { what, answer }).is_ok());
            (name.clone(), sent.then_some(answered))
        };
        let ordered: Vec<_> = names.iter().map(order).collect();
        let gone = || "it has ended".to_owned();
        let answer = |(name, answered): (String, Option<Receiver<Result<Done, String>>>)| {
            let done = answered.ok_or_else(gone).and_then(|it| it.recv().map_err(|_| gone())?);
            (name, done)
        };
        ordered.into_iter().map(answer).collect()
    }
}

impl Engine for GuestOrders {
    fn prepare(
        &mut self,
        step: &StepSpec,
        _: &IntervalTx,
        _: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let LabStep { changes } = step.lab.clone().unwrap_or_default();
        let changes = changes.into_iter().map(|change| (change.at, change)).collect();
        let site = Guests { orders: self.clone(), still: BTreeSet::new(), off: BTreeMap::new() };
        Ok(Box::new(Changes::new(step, site, changes)))
    }
}

/// The guests of a step.
struct Guests {
    orders: GuestOrders,
    /// Those that stand still.
    still: BTreeSet<String>,
    /// Those that have lost their power, by the host with which they did.
    off: BTreeMap<String, Vec<String>>,
}

impl Site for Guests {
    type Change = LabChange;

    fn carry_out(&mut self, change: LabChange) -> Result<Told, String> {
        let LabChange { part, event, .. } = change;
        if self.orders.of(&part).is_none() {
            return self.switch(&part, &event);
        }
        let what = match event {
            LabEvent::Fail => What::Stand,
            LabEvent::Restore => What::GoOn,
            LabEvent::Move(_) => What::Move,
            other => return Err(format!("{part}: nothing of a guest is {other:?}")),
        };
        match what {
            What::Stand => self.still.insert(part.clone()),
            _ => self.still.remove(&part),
        };
        let done = self.carried_out(&part, what);
        if let (LabEvent::Move(host), Ok(_)) = (&event, &done)
            && let Some(guest) = self.orders.all().get_mut(&part)
        {
            guest.host = Some(host.clone());
        }
        Ok(told(&part, &event, done))
    }

    fn mend(&mut self) {
        for name in std::mem::take(&mut self.still) {
            // One that has ended needs nothing.
            let _ = self.carried_out(&name, What::GoOn);
        }
        for guests in std::mem::take(&mut self.off).into_values() {
            let _ = self.orders.have(&guests, What::SwitchOn);
        }
    }
}

impl Guests {
    /// Has a guest do something; what it was, or why it was not done.
    fn carried_out(&self, name: &str, what: What) -> Result<Done, String> {
        let done = self.orders.have(&[name.to_owned()], what).pop();
        done.map_or_else(|| Err("it has ended".to_owned()), |(_, done)| done)
    }

    /// Switches all guests of a host off or on.
    fn switch(&mut self, host: &str, event: &LabEvent) -> Result<Told, String> {
        let (what, guests) = match event {
            LabEvent::Fail | LabEvent::Kill => (What::SwitchOff, self.orders.on(host)),
            LabEvent::Restore => (What::SwitchOn, self.off.remove(host).unwrap_or_default()),
            other => return Err(format!("{host}: nothing of a host of guests is {other:?}")),
        };
        let done = self.orders.have(&guests, what);
        if matches!(what, What::SwitchOff) {
            self.still.retain(|name| !guests.contains(name));
            self.off.insert(host.to_owned(), guests);
        }
        Ok(told_of_host(host, event, &done))
    }
}

/// What is said of a host whose guests were switched off or on.
fn told_of_host(host: &str, event: &LabEvent, done: &[(String, Result<Done, String>)]) -> Told {
    let (code, how, each) = match event {
        LabEvent::Restore => ("incident-restore", "works again", "boot again"),
        LabEvent::Kill => ("incident-kill", "is killed", "have lost their power"),
        _ => ("incident-fail", "failed", "have lost their power"),
    };
    let (well, not): (Vec<_>, Vec<_>) = done.iter().partition(|(_, done)| done.is_ok());
    let names: Vec<&str> = well.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = match names.is_empty() {
        true => format!("{host} {how}: no guest is concerned"),
        false => format!("{host} {how}: its guests {each} ({})", names.join(", ")),
    };
    for (name, done) in &not {
        let why = done.as_ref().err().map_or("", String::as_str);
        text.push_str(&format!("; {name} did not: {why}"));
    }
    let level = if not.is_empty() { Level::Info } else { Level::Error };
    Told { level, code, text }
}

fn told(guest: &str, event: &LabEvent, done: Result<Done, String>) -> Told {
    let (code, aim) = match event {
        LabEvent::Move(host) => ("incident-move", format!("move to {host}")),
        LabEvent::Restore => ("incident-restore", "go on".to_owned()),
        _ => ("incident-fail", "stand still".to_owned()),
    };
    let done = match (event, done) {
        (_, Err(why)) => {
            let text = format!("{guest} was to {aim}, and did not: {why}");
            return Told { level: Level::Error, code, text };
        }
        (LabEvent::Move(host), Ok(Done::Moved(moved))) => {
            let ms = |time: clock::Ns| format!("{} ms", units::count((time.0 / 1_000_000) as f64));
            format!(
                "moved to {host} within {}: {} were copied while it ran, and it stood still for {}, in which its own clock \
                 stood still as well",
                ms(moved.total),
                units::size(units::Bytes(moved.copied)),
                ms(moved.stood_still)
            )
        }
        (LabEvent::Restore, Ok(_)) => "goes on".to_owned(),
        (_, Ok(_)) => "was paused: its processors stand still".to_owned(),
    };
    Told { level: Level::Info, code, text: format!("{guest} {done}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;

    #[test]
    fn a_guest_that_did_not_move_is_an_error() {
        let event = LabEvent::Move("b".to_owned());
        let moved = guest::Moved {
            total: Ns::millis(1500),
            stood_still: Ns::millis(80),
            copied: 150_000_000,
        };
        let Told { level, code, text } = told("vm1", &event, Ok(Done::Moved(moved)));
        assert_eq!((level, code), (Level::Info, "incident-move"));
        assert!(text.starts_with("vm1 moved to b within 1,500 ms: 150 MB were copied"), "{text}");
        let Told { level, text, .. } = told("vm1", &event, Err("no memory".to_owned()));
        assert_eq!(level, Level::Error);
        assert_eq!(text, "vm1 was to move to b, and did not: no memory");
    }

    #[test]
    fn a_host_takes_along_the_guests_that_are_on_it_by_then() {
        let orders = GuestOrders::default();
        let (heard, guests) = mpsc::channel();
        for (name, host) in [("vm1", Some("east")), ("vm2", Some("west")), ("vm3", None)] {
            let (to, inbox) = mpsc::channel::<Order>();
            orders.add(name, host, to);
            let heard = heard.clone();
            std::thread::spawn(move || {
                for Order { what, answer } in inbox {
                    let _ = heard.send((name, matches!(what, What::SwitchOff)));
                    let moved = guest::Moved { total: Ns::ZERO, stood_still: Ns::ZERO, copied: 0 };
                    let done =
                        if matches!(what, What::Move) { Done::Moved(moved) } else { Done::Obeyed };
                    let _ = answer.send(Ok(done));
                }
            });
        }
        let mut site = Guests { orders, still: BTreeSet::new(), off: BTreeMap::new() };
        let mut does = |part: &str, event| {
            let change = LabChange { at: Ns::ZERO, part: part.to_owned(), event };
            let told = site.carry_out(change).expect("it can be");
            (told.code, told.text, guests.try_iter().collect::<Vec<_>>())
        };
        does("vm1", LabEvent::Move("west".to_owned()));
        let (code, text, mut off) = does("west", LabEvent::Kill);
        off.sort_unstable();
        assert_eq!(text, "west is killed: its guests have lost their power (vm1, vm2)");
        assert_eq!((code, off), ("incident-kill", vec![("vm1", true), ("vm2", true)]));
        assert_eq!(does("east", LabEvent::Fail).1, "east failed: no guest is concerned");
        let (code, text, on) = does("west", LabEvent::Restore);
        assert_eq!(text, "west works again: its guests boot again (vm1, vm2)");
        assert_eq!((code, on.len()), ("incident-restore", 2));
    }
}
