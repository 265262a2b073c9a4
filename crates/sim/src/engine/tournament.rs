//! The least of many values, each of which changes often: the tree of a tournament.
//!
//! The leaves are the values, and each inner node holds the lesser of its two children. A change compares upwards: in a
//! small tree up to the root, without branches that nobody can predict, and in a large one until nothing changes, which is
//! soon unless the value is the least.

/// A tree of so many nodes is small.
const SMALL: usize = 64;

/// So many values.
#[derive(Clone, Debug)]
pub struct Tournament<T> {
    /// Node 1 is the root; the children of n are 2n and 2n + 1. The leaves are the second half.
    nodes: Box<[T]>,
}

impl<T: Copy + Ord> Tournament<T> {
    /// `count` values, all `most`, which is the greatest of all.
    pub fn new(count: usize, most: T) -> Tournament<T> {
        Tournament { nodes: vec![most; 2 * count.next_power_of_two()].into() }
    }

    /// The least.
    #[inline]
    pub fn first(&self) -> T {
        self.nodes[1]
    }

    /// The number of the first of those that are the least.
    #[inline]
    pub fn holder(&self) -> usize {
        let (half, least) = (self.nodes.len() / 2, self.nodes[1]);
        let mut at = 1;
        while at < half {
            at *= 2;
            at += usize::from(self.nodes[at] != least);
        }
        at - half
    }

    /// All values, and some that are the greatest behind them.
    #[inline]
    pub fn all(&self) -> &[T] {
        &self.nodes[self.nodes.len() / 2..]
    }

    /// Changes a value.
    #[inline]
    pub fn set(&mut self, number: usize, value: T) {
        let nodes = &mut *self.nodes;
        if let [_, root, first, second] = nodes {
            *(if number == 0 { &mut *first } else { &mut *second }) = value;
            *root = (*first).min(*second);
            return;
        }
        let small = nodes.len() <= SMALL;
        let mut at = nodes.len() / 2 + number;
        let mut least = value;
        nodes[at] = least;
        while at > 1 {
            // Compares with the sibling.
            least = least.min(nodes[at ^ 1]);
            at /= 2;
            if !small && nodes[at] == least {
                return;
            }
            nodes[at] = least;
        }
    }

    /// Calls `each` with the numbers of all values up to `most`, in order.
    #[inline]
    pub fn up_to(&self, most: T, each: &mut impl FnMut(usize)) {
        self.below(1, most, each);
    }

    fn below(&self, node: usize, most: T, each: &mut impl FnMut(usize)) {
        let half = self.nodes.len() / 2;
        let mut at = node;
        while self.nodes[at] <= most {
            if at >= half {
                return each(at - half);
            }
            // Nearly always only one side has any.
            if self.nodes[2 * at + 1] > most {
                at *= 2;
                continue;
            }
            self.below(2 * at, most, each);
            at = 2 * at + 1;
        }
    }
}
