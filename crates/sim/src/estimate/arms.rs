//! Arms of a branch that are alike become one, and so do classes of a load: an I/O that takes sixteen paths in turn, to one of
//! ten disks, costs no more than one with a single path and a single disk. The one that is left stands for all; its visits
//! are spread over the sites of all of them.

use super::lumped::{ItemKind, ItemSite, LumpedClass, LumpedItem, LumpedLoad, TokenSection};
use std::ops::Range;
use std::sync::Arc;

/// The arms of one branch of a class: ranges of its load's items, each taken as often.
pub struct EqualArms {
    /// The class.
    pub class: usize,
    /// The arms.
    pub arms: Vec<Range<usize>>,
}

/// Folds the branches of a load, inner ones before those that enclose them. Returns the new number of each item; `None` of
/// those that are gone.
pub fn fold(load: &mut LumpedLoad, branches: &[EqualArms]) -> Vec<Option<usize>> {
    let mut folder = Folder { gone: vec![false; load.items.len()], dropped: Vec::new() };
    for branch in branches {
        folder.branch(load, branch);
    }
    folder.classes(load);
    let mut left = 0;
    let numbers = folder.gone.iter().map(|gone| {
        left += usize::from(!gone);
        (!gone).then(|| left - 1)
    });
    let numbers = numbers.collect();
    if !folder.dropped.is_empty() {
        folder.close(load);
    }
    numbers
}

struct Folder {
    /// Per item: whether another stands for it.
    gone: Vec<bool>,
    /// The arms that are gone.
    dropped: Vec<Range<usize>>,
}

impl Folder {
    /// Folds one branch, if its arms are alike and each of their sites is visited as often.
    fn branch(&mut self, load: &mut LumpedLoad, branch: &EqualArms) {
        let class = &load.classes[branch.class];
        let arms: Vec<Vec<usize>> = branch.arms.iter().map(|arm| self.live(arm)).collect();
        let Some((first, others)) = arms.split_first().filter(|(_, others)| !others.is_empty())
        else {
            return;
        };
        let shape = self.shape(class, &branch.arms[0]);
        let alike = |(arm, range): (&Vec<usize>, &Range<usize>)| {
            are_alike(load, first, arm) && self.shape(class, range) == shape
        };
        if !others.iter().zip(&branch.arms[1..]).all(alike) {
            return;
        }
        let spreads: Option<Vec<Vec<(usize, f64)>>> =
            (0..first.len()).map(|at| spread(load, &arms, at)).collect();
        let Some(spreads) = spreads else { return };
        let count = arms.len() as f64;
        stand_for(load, first, spreads, count);
        first.iter().for_each(|item| load.items[*item].chance *= count);
        branch.arms[1..].iter().for_each(|arm| self.drop(arm));
    }

    /// Folds classes that are alike. Those that are gone stay as classes without I/Os.
    fn classes(&mut self, load: &mut LumpedLoad) {
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        for number in (0..load.classes.len()).filter(|number| load.classes[*number].share > 0.0) {
            let alike = |kind: &&mut Vec<usize>| self.same_class(load, kind[0], number);
            match kinds.iter_mut().find(alike) {
                Some(kind) => kind.push(number),
                None => kinds.push(vec![number]),
            }
        }
        for kind in kinds.into_iter().filter(|kind| kind.len() > 1) {
            let live = |class: &usize| self.live(&load.classes[*class].items);
            let arms: Vec<Vec<usize>> = kind.iter().map(live).collect();
            let spreads: Option<Vec<Vec<(usize, f64)>>> =
                (0..arms[0].len()).map(|at| spread(load, &arms, at)).collect();
            let Some(spreads) = spreads else { continue };
            let count = arms.len() as f64;
            stand_for(load, &arms[0], spreads, count);
            load.classes[kind[0]].share *= count;
            for class in &kind[1..] {
                load.classes[*class].share = 0.0;
                self.drop(&load.classes[*class].items.clone());
            }
        }
    }

    fn same_class(&self, load: &LumpedLoad, first: usize, other: usize) -> bool {
        let [a, b] = [first, other].map(|class| &load.classes[class]);
        let figures = |class: &LumpedClass| [class.share, class.bytes, class.range];
        (figures(a), a.dir) == (figures(b), b.dir)
            && are_alike(load, &self.live(&a.items), &self.live(&b.items))
            && self.shape(a, &a.items) == self.shape(b, &b.items)
    }

    fn drop(&mut self, items: &Range<usize>) {
        self.gone[items.clone()].fill(true);
        self.dropped.push(items.clone());
    }

    /// The items of a range that are left.
    fn live(&self, range: &Range<usize>) -> Vec<usize> {
        range.clone().filter(|item| !self.gone[*item]).collect()
    }

    /// What runs at once within an arm, and what stands for several disk I/Os: by items that are left, counted from its
    /// first.
    fn shape(&self, class: &LumpedClass, arm: &Range<usize>) -> [Vec<Vec<Range<usize>>>; 2] {
        let count = |upto: usize| self.gone[arm.start..upto].iter().filter(|gone| !**gone).count();
        let within = |range: &Range<usize>| {
            arm.start <= range.start && range.end <= arm.end && !self.is_dropped(range)
        };
        let from = |range: &Range<usize>| count(range.start)..count(range.end);
        let together = class.together.iter().filter(|group| group.iter().all(within));
        let together = together.map(|group| group.iter().map(from).collect());
        let joins = class.joins.iter().map(|join| &join.items).filter(|items| within(items));
        [together.collect(), joins.map(|items| vec![from(items)]).collect()]
    }

    fn is_dropped(&self, range: &Range<usize>) -> bool {
        self.dropped.iter().any(|arm| arm.start <= range.start && range.end <= arm.end)
    }

    /// Takes out what is gone.
    fn close(&self, load: &mut LumpedLoad) {
        let mut before = vec![0; self.gone.len() + 1];
        for (item, gone) in self.gone.iter().enumerate() {
            before[item + 1] = before[item] + usize::from(!gone);
        }
        let now = |range: &Range<usize>| before[range.start]..before[range.end];
        for class in &mut load.classes {
            class.together.retain(|group| !group.iter().all(|range| self.is_dropped(range)));
            for range in class.together.iter_mut().flatten() {
                *range = now(range);
            }
            class.joins.retain(|join| !self.is_dropped(&join.items));
            for join in &mut class.joins {
                join.items = now(&join.items);
            }
            class.items = now(&class.items);
        }
        let mut number = 0;
        load.items.retain(|_| {
            number += 1;
            !self.gone[number - 1]
        });
        // Sections whose tokens no item that is left takes.
        let mut taken = vec![false; load.sections.len()];
        for item in &load.items {
            if let ItemKind::Tokens(section) = item.kind {
                taken[section] = true;
            }
        }
        let mut numbers = vec![0; taken.len()];
        for section in 1..taken.len() {
            numbers[section] = numbers[section - 1] + usize::from(taken[section - 1]);
        }
        for item in &mut load.items {
            if let ItemKind::Tokens(section) = &mut item.kind {
                *section = numbers[*section];
            }
            Arc::make_mut(&mut item.within)
                .iter_mut()
                .for_each(|section| *section = numbers[*section]);
        }
        let mut number = 0;
        load.sections.retain(|_| {
            number += 1;
            taken[number - 1]
        });
    }
}

/// Lets the items of one arm stand for those of `count` alike, each at the sites of all.
fn stand_for(load: &mut LumpedLoad, items: &[usize], spreads: Vec<Vec<(usize, f64)>>, count: f64) {
    for (item, touches) in items.iter().zip(spreads) {
        let item = &mut load.items[*item];
        item.visits *= count;
        for (touch, (local, spread)) in Arc::make_mut(&mut item.touches).iter_mut().zip(touches) {
            (touch.local, touch.spread) = (local, spread);
        }
        if let ItemKind::Tokens(section) = item.kind {
            load.sections[section].visits *= count;
        }
    }
}

/// Whether two arms are alike: item by item the same at like sites, with like tokens held.
fn are_alike(load: &LumpedLoad, first: &[usize], other: &[usize]) -> bool {
    // Sections of the other arm, with those of the first in their place.
    let mut sections: Vec<(usize, usize)> = Vec::new();
    first.len() == other.len()
        && first.iter().zip(other).all(|(a, b)| {
            let (a, b) = (&load.items[*a], &load.items[*b]);
            if let (ItemKind::Tokens(a), ItemKind::Tokens(b)) = (a.kind, b.kind) {
                sections.push((b, a));
            }
            same_item(load, a, b, &sections)
        })
}

fn same_item(load: &LumpedLoad, a: &LumpedItem, b: &LumpedItem, of: &[(usize, usize)]) -> bool {
    let in_place = |section: usize| {
        of.iter().find(|(other, _)| *other == section).map_or(section, |(_, first)| *first)
    };
    let kind = match (a.kind, b.kind) {
        (ItemKind::Tokens(a), ItemKind::Tokens(b)) => {
            let alike = |section: usize| {
                let TokenSection { spot, tokens, visits, .. } = load.sections[section];
                (spot, tokens.to_bits(), visits.to_bits())
            };
            alike(a) == alike(b)
        }
        (a, b) => a == b,
    };
    let figures = |item: &LumpedItem| {
        [item.visits, item.chance, item.time, item.scv, item.skew, item.random, item.wire]
    };
    let place = |touch: &ItemSite| (touch.spot, touch.spread.to_bits());
    kind && figures(a) == figures(b)
        && (a.background, a.dir) == (b.background, b.dir)
        && a.touches.iter().map(place).eq(b.touches.iter().map(place))
        && a.touches.iter().zip(b.touches.iter()).all(|(a, b)| a.pairs == b.pairs)
        && a.within.iter().copied().eq(b.within.iter().map(|section| in_place(*section)))
}

/// Of each touch of the item at this place of all arms: the site that stands for all, and how many there are; `None` where
/// one is visited more often than another.
fn spread(load: &LumpedLoad, arms: &[Vec<usize>], at: usize) -> Option<Vec<(usize, f64)>> {
    let touches = load.items[arms[0][at]].touches.len();
    let spread = |number: usize| {
        let touch = |arm: &Vec<usize>| &load.items[arm[at]].touches[number];
        let mut locals: Vec<usize> = arms.iter().map(|arm| touch(arm).local).collect();
        locals.sort_unstable();
        let often = locals.chunk_by(|a, b| a == b);
        let (sites, each) = (often.clone().count(), often.clone().map(<[usize]>::len));
        let spread = touch(&arms[0]).spread;
        let even = each.clone().min() == each.max() && (sites == 1 || spread <= 1.0);
        even.then(|| (locals[0], spread * sites as f64))
    };
    (0..touches).map(spread).collect()
}
