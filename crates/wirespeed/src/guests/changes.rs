//! What happens to guests in a step: one stands still and goes on, or moves to another QEMU while it runs.
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
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// The guests of a run that take orders, by name.
#[derive(Clone, Default)]
pub struct GuestOrders(Arc<Mutex<BTreeMap<String, Sender<Order>>>>);

impl GuestOrders {
    /// A guest that has started.
    pub fn add(&self, name: &str, orders: Sender<Order>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), orders);
    }

    fn of(&self, name: &str) -> Option<Sender<Order>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
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
        let planned = changes.into_iter().map(|change| match self.of(&change.part) {
            Some(orders) => Ok((change.at, (change, orders))),
            None => Err(EngineError::Unsupported(format!("no guest is `{}`", change.part))),
        });
        let changes = planned.collect::<Result<_, _>>()?;
        let site = Guests { orders: self.clone(), still: BTreeSet::new() };
        Ok(Box::new(Changes::new(step, site, changes)))
    }
}

/// The guests of a step.
struct Guests {
    orders: GuestOrders,
    /// Those that stand still.
    still: BTreeSet<String>,
}

impl Site for Guests {
    type Change = (LabChange, Sender<Order>);

    fn carry_out(&mut self, (change, orders): Self::Change) -> Result<Told, String> {
        let LabChange { part, event, .. } = change;
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
        Ok(told(&part, &event, carried_out(&orders, what)))
    }

    fn mend(&mut self) {
        for orders in self.still.iter().filter_map(|name| self.orders.of(name)) {
            // One that has ended needs nothing.
            let _ = carried_out(&orders, What::GoOn);
        }
    }
}

/// Has a guest do something; what it was, or why it was not done.
fn carried_out(orders: &Sender<Order>, what: What) -> Result<Done, String> {
    let (answer, answered) = mpsc::channel();
    let gone = || "it has ended".to_owned();
    orders.send(Order { what, answer }).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
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
}
