//! Branches and changes in the naive reference: a failing arm looks at all I/Os in the network.

use super::{Customer, Frame, Who, World};
use sim::model::{Change, Hop, Network, Policy, Station};
use std::collections::VecDeque;
use std::rc::Rc;

/// The initial state of the selectors.
pub(super) fn selecting(network: &Network) -> Vec<super::Selecting> {
    let arms = |selector: usize| {
        let mut most = 0;
        for class in network.loads().iter().flat_map(|load| &load.classes) {
            most = most.max(arms_of(&class.route, selector));
        }
        most
    };
    let new = |number: usize| super::Selecting {
        alive: vec![true; arms(number)],
        inside: vec![0; arms(number)],
        current: 0,
        left: match network.selectors()[number].policy {
            Policy::RoundRobin { ios } => ios.into(),
            Policy::RoundRobinBytes { bytes } => bytes,
            _ => 0,
        },
        parked: VecDeque::new(),
    };
    (0..network.selectors().len()).map(new).collect()
}

fn arms_of(hops: &[Hop], selector: usize) -> usize {
    let of = |hop: &Hop| match hop {
        Hop::Branch { selector: of, arms } => {
            let within = arms.iter().map(|arm| arms_of(arm, selector)).max().unwrap_or(0);
            if of.0 as usize == selector { arms.len() } else { within }
        }
        Hop::Together { routes } => {
            routes.iter().map(|route| arms_of(route, selector)).max().unwrap_or(0)
        }
        Hop::Fork { route } => arms_of(route, selector),
        _ => 0,
    };
    hops.iter().map(of).max().unwrap_or(0)
}

fn is_on(customer: &Customer, arm: (usize, usize)) -> bool {
    customer.frames.iter().any(|frame| frame.arm == Some(arm))
}

fn set_on(who: &Who, selector: usize, arm: usize, arms: &[Vec<Hop>]) {
    let mut customer = who.borrow_mut();
    let (held, hops) = (customer.held.clone(), arms[arm].clone());
    customer.frames.push(Frame { hops, at: 0, arm: Some((selector, arm)), held });
}

impl World {
    /// The chosen arm.
    fn choose(&mut self, selector: usize, bytes: u32) -> Option<usize> {
        let of = &mut self.selectors[selector];
        let count = of.alive.len();
        let first = (0..count).find(|arm| of.alive[*arm])?;
        let next = |after: usize| {
            (1..=count).map(|by| (after + by) % count).find(|arm| of.alive[*arm]).unwrap()
        };
        match self.network.selectors()[selector].policy {
            Policy::Fixed => Some(first),
            Policy::ActivePassive => {
                if !of.alive[of.current] {
                    of.current = first;
                }
                Some(of.current)
            }
            Policy::RoundRobin { ios } => {
                if of.left == 0 || !of.alive[of.current] {
                    (of.current, of.left) = (next(of.current), ios.into());
                }
                of.left -= 1;
                Some(of.current)
            }
            Policy::RoundRobinBytes { bytes: turn } => {
                if of.left == 0 || !of.alive[of.current] {
                    (of.current, of.left) = (next(of.current), turn);
                }
                of.left = of.left.saturating_sub(bytes.into());
                Some(of.current)
            }
            Policy::LeastQueue => {
                (0..count).filter(|arm| of.alive[*arm]).min_by_key(|arm| of.inside[*arm])
            }
        }
    }

    /// `who` takes an arm, or waits for one to recover.
    pub(super) fn branch(&mut self, selector: usize, arms: &[Vec<Hop>], who: Who) {
        let bytes = self.class(&who).bytes;
        let Some(arm) = self.choose(selector, bytes) else { return self.park(selector, who) };
        self.selectors[selector].inside[arm] += 1;
        set_on(&who, selector, arm, arms);
        self.walk(who);
    }

    fn park(&mut self, selector: usize, who: Who) {
        self.selectors[selector].parked.push_back(who.clone());
        let give_up = self.network.selectors()[selector].give_up.0;
        if give_up < u64::MAX {
            let version = who.borrow().version;
            self.at(self.now + give_up, self.place_of_selector(selector), move |world| {
                if who.borrow().version == version {
                    world.selectors[selector].parked.retain(|other| !Rc::ptr_eq(other, &who));
                    world.end(&who, true);
                }
            });
        }
    }

    fn place_of_selector(&self, selector: usize) -> usize {
        self.places.len() + self.sources.len() + selector
    }

    pub(super) fn change(&mut self, change: Change) {
        match change {
            Change::ArmDown { selector, arm } => {
                self.arm_down((selector.0 as usize, arm as usize));
            }
            Change::ArmUp { selector, arm } => {
                let of = &mut self.selectors[selector.0 as usize];
                of.alive[arm as usize] = true;
                for who in std::mem::take(&mut of.parked) {
                    who.borrow_mut().version += 1;
                    self.again(selector.0 as usize, who);
                }
            }
            Change::LinkRate { station, link, rate } => {
                let station = station.0 as usize;
                self.flow(station);
                self.places[station].capacity[usize::from(link)] = rate;
                self.divide(station);
            }
            Change::Stop(station) => self.places_stop(station.0 as usize, true),
            Change::Go(station) => self.places_stop(station.0 as usize, false),
            Change::LoadStop(load) => self.sources[load.0 as usize].stopped = true,
            Change::LoadStart(load) => {
                let load = load.0 as usize;
                self.sources[load].stopped = false;
                for _ in 0..std::mem::take(&mut self.sources[load].parked) {
                    match self.network.loads()[load].source {
                        sim::model::Source::Open { .. } => self.await_arrival(load),
                        _ => {
                            let (now, place) = (self.now, self.place_of(load));
                            self.at(now, place, move |world| world.issue(load));
                        }
                    }
                }
            }
        }
    }

    /// Takes an arm at once, and continues after all I/Os that are already ready.
    fn again(&mut self, selector: usize, who: Who) {
        let Some(Hop::Branch { arms, .. }) = self.standing_at(&who) else {
            unreachable!("a branch")
        };
        let bytes = self.class(&who).bytes;
        let Some(arm) = self.choose(selector, bytes) else { return self.park(selector, who) };
        self.selectors[selector].inside[arm] += 1;
        set_on(&who, selector, arm, &arms);
        self.ready.push_back(who);
    }

    fn places_stop(&mut self, station: usize, stopped: bool) {
        if matches!(
            self.network.stations()[station],
            Station::Links { .. } | Station::Sharing { .. }
        ) {
            self.flow(station);
            self.places[station].stopped = stopped;
            return self.divide(station);
        }
        self.places[station].stopped = stopped;
        if stopped {
            return;
        }
        match self.network.stations()[station] {
            Station::Delay => {
                for who in std::mem::take(&mut self.places[station].gathering) {
                    self.pass(station, who);
                }
            }
            Station::Batch { .. } => self.gathered(station),
            _ => self.refill(station),
        }
    }

    /// Serves and admits all I/Os possible.
    fn refill(&mut self, station: usize) {
        loop {
            while self.call(station) {}
            let place = &self.places[station];
            let room = match self.network.stations()[station] {
                Station::Queue { capacity: Some(capacity), .. } => place.present < capacity,
                _ => false,
            };
            if !room || !self.let_in(station) {
                return;
            }
        }
    }

    fn arm_down(&mut self, arm: (usize, usize)) {
        if !std::mem::take(&mut self.selectors[arm.0].alive[arm.1]) {
            return;
        }
        let mut owners: Vec<Who> =
            self.going.iter().filter(|who| is_on(&who.borrow(), arm)).cloned().collect();
        owners.sort_by_key(|who| who.borrow().number);
        let of_owner = |who: &&Who| {
            let mut ancestor = who.borrow().parent.clone();
            while let Some(above) = ancestor {
                if is_on(&above.borrow(), arm) {
                    return true;
                }
                ancestor = above.borrow().parent.clone();
            }
            false
        };
        let copies: Vec<Who> = self.going.iter().filter(of_owner).cloned().collect();
        let mut back = vec![0; self.free.len()];
        for who in owners.iter().chain(&copies) {
            self.take_out(who);
        }
        for who in &copies {
            let customer = who.borrow();
            back.iter_mut().zip(&customer.held).for_each(|(sum, held)| *sum += held);
            for (selector, arm) in customer.frames.iter().filter_map(|frame| frame.arm) {
                self.selectors[selector].inside[arm] -= 1;
            }
        }
        self.going.retain(|who| !copies.iter().any(|copy| Rc::ptr_eq(who, copy)));
        for who in &owners {
            let mut customer = who.borrow_mut();
            let level = customer.frames.iter().position(|frame| frame.arm == Some(arm)).unwrap();
            for (selector, arm) in customer.frames[level..].iter().filter_map(|frame| frame.arm) {
                self.selectors[selector].inside[arm] -= 1;
            }
            let before = customer.frames[level].held.clone();
            for ((sum, held), kept) in back.iter_mut().zip(&customer.held).zip(&before) {
                *sum += held - kept;
            }
            customer.held = before;
            customer.frames.truncate(level);
        }
        (0..self.places.len()).for_each(|station| self.refill(station));
        for (pool, tokens) in back.into_iter().enumerate() {
            self.give(pool, tokens);
        }
        let patience = self.network.selectors()[arm.0].patience.0;
        for who in owners {
            let (place, version) = (self.place_of_selector(arm.0), who.borrow().version);
            self.at(self.now + patience, place, move |world| {
                if who.borrow().version == version {
                    world.again(arm.0, who);
                }
            });
        }
    }

    /// Removes `who` from wherever it is.
    fn take_out(&mut self, who: &Who) {
        who.borrow_mut().version += 1;
        let other = |of: &Who| !Rc::ptr_eq(of, who);
        self.lines.iter_mut().for_each(|line| line.retain(|(of, _)| other(of)));
        self.selectors.iter_mut().for_each(|of| of.parked.retain(other));
        for station in 0..self.places.len() {
            let before = self.flowing(station);
            let place = &mut self.places[station];
            place.gathering.retain(other);
            let waiting: usize = place.line.iter().map(|line| line.len()).sum();
            place.line.iter_mut().for_each(|line| line.retain(other));
            let waits: usize = place.line.iter().map(|line| line.len()).sum();
            place.present -= (waiting - waits) as u32;
            if place.door.iter().any(|of| !other(of)) {
                place.door.retain(other);
                if let Some(kept) = who.borrow_mut().keeps.take() {
                    self.places[kept].present -= 1;
                    self.places[kept].busy -= 1;
                }
                return;
            }
            if waiting > waits {
                return;
            }
            if before && self.places[station].flows.iter().any(|(of, ..)| !other(of)) {
                self.flow(station);
                let place = &mut self.places[station];
                let at = place.flows.iter().position(|(of, ..)| !other(of)).unwrap();
                place.flows.remove(at);
                return self.divide(station);
            }
        }
        if let Some(station) = who.borrow_mut().served_at.take() {
            self.places[station].present -= 1;
            self.places[station].busy -= 1;
        }
    }

    fn flowing(&self, station: usize) -> bool {
        !self.places[station].flows.is_empty()
    }
}
