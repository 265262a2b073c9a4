//! What an I/O does over and over in the background, as a destage of many stripes does, is solved once: items of a load that are
//! the same in everything are one that it comes to as often as to all of them. Only while the network is solved: how arrivals
//! follow each other, and how a time is made up, depends on each.

use super::lumped::{ItemJoin, ItemKind, Lumped, LumpedItem, LumpedLoad};
use super::state::SolverState;
use std::borrow::Cow;

/// A network in which items stand for others.
pub struct Repeats {
    /// Nothing where no item is like another.
    short: Option<Lumped>,
    /// Per load and item of the whole network: the one that stands for it.
    item_of: Vec<Vec<usize>>,
}

impl Repeats {
    /// Finds like items of a network.
    pub fn of(whole: &Lumped) -> Repeats {
        let item_of: Vec<Vec<usize>> = whole.loads.iter().map(stands_for).collect();
        let repeats =
            item_of.iter().any(|of| of.iter().max().is_some_and(|last| last + 1 < of.len()));
        let short = repeats.then(|| shorten(whole, &item_of));
        Repeats { short, item_of }
    }

    /// A network of the same items, as it is solved.
    pub fn network<'a>(&self, whole: &'a Lumped) -> Cow<'a, Lumped> {
        let Some(short) = &self.short else { return Cow::Borrowed(whole) };
        let mut short = short.clone();
        short.spots.clone_from(&whole.spots);
        for (load, of) in short.loads.iter_mut().zip(&whole.loads) {
            load.mix.clone_from(&of.mix);
        }
        Cow::Owned(short)
    }

    /// A state of the whole network as one of that which is solved.
    pub fn state<'a>(&self, whole: &'a SolverState) -> Cow<'a, SolverState> {
        if self.short.is_none() {
            return Cow::Borrowed(whole);
        }
        let first = |all: &Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let of_load = |(all, item_of): (&Vec<f64>, &Vec<usize>)| firsts(item_of, all).collect();
            all.iter().zip(&self.item_of).map(of_load).collect()
        };
        let (stays, weights) = (first(&whole.stays), first(&whole.weights));
        Cow::Owned(SolverState { rates: whole.rates.clone(), stays, weights })
    }

    /// A solution, as a state of the whole network.
    pub fn whole<'a>(&self, short: &'a SolverState) -> Cow<'a, SolverState> {
        if self.short.is_none() {
            return Cow::Borrowed(short);
        }
        let each = |all: &Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let of_load = |(all, item_of): (&Vec<f64>, &Vec<usize>)| {
                item_of.iter().map(|item| all[*item]).collect()
            };
            all.iter().zip(&self.item_of).map(of_load).collect()
        };
        let (stays, weights) = (each(&short.stays), each(&short.weights));
        Cow::Owned(SolverState { rates: short.rates.clone(), stays, weights })
    }
}

/// Of each item that is left the first value.
fn firsts<'a, T: Clone>(item_of: &'a [usize], all: &'a [T]) -> impl Iterator<Item = T> + 'a {
    let mut next = 0;
    item_of.iter().zip(all).filter_map(move |(item, value)| {
        let is_first = *item == next;
        next += usize::from(is_first);
        is_first.then(|| value.clone())
    })
}

/// Per item: the number of the one that stands for it, among those that are left.
fn stands_for(load: &LumpedLoad) -> Vec<usize> {
    let mut left: Vec<usize> = Vec::new();
    let joins: Vec<Option<&ItemJoin>> = joins(load);
    let stands_for = |at: usize| {
        let item = &load.items[at];
        let can = item.background && !matches!(item.kind, ItemKind::Tokens(_));
        let alike = |first: &usize| {
            let joined = match (joins[*first], joins[at]) {
                (None, None) => true,
                (Some(one), Some(other)) => same_join(one, other),
                _ => false,
            };
            joined && load.items[*first] == *item
        };
        let like = if can && !is_parallel(load, at) { left.iter().rposition(alike) } else { None };
        like.unwrap_or_else(|| {
            left.push(at);
            left.len() - 1
        })
    };
    (0..load.items.len()).map(stands_for).collect()
}

/// Per item: the join that it is in.
fn joins(load: &LumpedLoad) -> Vec<Option<&ItemJoin>> {
    let mut joins = vec![None; load.items.len()];
    for join in load.classes.iter().flat_map(|class| &class.joins) {
        joins[join.items.clone()].fill(Some(join));
    }
    joins
}

/// Whether two items that are each a join for themselves are joined alike.
fn same_join(one: &ItemJoin, other: &ItemJoin) -> bool {
    let alone = |join: &ItemJoin| join.items.len() == 1;
    let like = ItemJoin { items: one.items.clone(), ..other.clone() };
    alone(one) && alone(other) && *one == like
}

/// Whether an item is in one of several copies that run at once.
fn is_parallel(load: &LumpedLoad, at: usize) -> bool {
    let mut groups = load.classes.iter().flat_map(|class| class.together.iter().flatten());
    groups.any(|range| range.contains(&at))
}

/// The network without the items for which others stand.
fn shorten(whole: &Lumped, item_of: &[Vec<usize>]) -> Lumped {
    let loads = whole.loads.iter().zip(item_of).map(|(load, item_of)| {
        let mut items: Vec<LumpedItem> = firsts(item_of, &load.items).collect();
        let mut seen = vec![false; items.len()];
        for (item, of) in load.items.iter().zip(item_of) {
            if std::mem::replace(&mut seen[*of], true) {
                let first = &mut items[*of];
                first.visits += item.visits;
                first.chance += item.chance;
                first.times += item.times;
            }
        }
        // By item of the whole: how many of those before it are left.
        let mut left = Vec::with_capacity(item_of.len() + 1);
        let mut next = 0;
        for of in item_of {
            left.push(next);
            next += usize::from(*of == next);
        }
        left.push(next);
        let mut classes = load.classes.clone();
        for class in &mut classes {
            class.items = left[class.items.start]..left[class.items.end];
            for range in class.together.iter_mut().flatten() {
                *range = left[range.start]..left[range.end];
            }
            for join in &mut class.joins {
                join.items = left[join.items.start]..left[join.items.end];
            }
            class.joins.retain(|join| !join.items.is_empty());
        }
        LumpedLoad { classes, items, ..load.clone() }
    });
    let loads: Vec<LumpedLoad> = loads.collect();
    let mut short = Lumped { loads, ..whole.clone() };
    for flow in &mut short.flows {
        flow.item = item_of[flow.load][flow.item];
    }
    short
}
