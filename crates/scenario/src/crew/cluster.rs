//! Which sets hang together: a union-find over their members (Galler and Fischer, 1964).

use std::collections::BTreeMap;

/// Numbers sets, from 0 by first appearance, so that those with a common member, also indirectly, have the same number.
pub fn cluster<'a>(sets: impl ExactSizeIterator<Item = &'a [usize]>) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..sets.len()).collect();
    let mut first_with: BTreeMap<usize, usize> = BTreeMap::new();
    for (set, members) in sets.enumerate() {
        for &member in members {
            let other = *first_with.entry(member).or_insert(set);
            let (a, b) = (root(&mut parents, set), root(&mut parents, other));
            // The earlier set leads, so that numbers follow the order of appearance.
            parents[a.max(b)] = a.min(b);
        }
    }
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    (0..parents.len())
        .map(|set| {
            let (leader, next) = (root(&mut parents, set), numbers.len());
            *numbers.entry(leader).or_insert(next)
        })
        .collect()
}

/// The leader of a set; halves the way on the way.
fn root(parents: &mut [usize], mut set: usize) -> usize {
    while parents[set] != set {
        parents[set] = parents[parents[set]];
        set = parents[set];
    }
    set
}
