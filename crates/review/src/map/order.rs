//! The order of items within columns, and their heights: barycentres, swept there and back; the best order seen is
//! kept. No order of more than a few items can be proved best in useful time; few items are drawn.

/// Sweeps there and back.
const SWEEPS: usize = 8;

/// Something in a column that has a height and a place.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub column: usize,
    pub h: f64,
    /// Its upper edge.
    pub y: f64,
}

/// What joins two items: an item with the height of the anchor within it, twice.
pub(super) type Join = [(usize, f64); 2];

/// Neighbours that stand in each other's way, and so keep together.
struct Neighbours {
    /// Where each would like the first of the column to be, added up.
    sum: f64,
    /// The items, and their distances below the first of the column.
    members: Vec<(usize, f64)>,
}

impl Neighbours {
    fn mean(&self) -> f64 {
        self.sum / self.members.len() as f64
    }
}

/// Items in columns, and what joins neighbours.
pub(super) struct Columns {
    pub items: Vec<Item>,
    pub order: Vec<Vec<usize>>,
    gap: f64,
}

impl Columns {
    /// Items in the order in which they are given.
    pub fn new(items: Vec<Item>, gap: f64) -> Columns {
        let count = items.iter().map(|item| item.column + 1).max().unwrap_or(0);
        let mut order = vec![Vec::new(); count];
        items.iter().enumerate().for_each(|(at, item)| order[item.column].push(at));
        let mut columns = Columns { items, order, gap };
        columns.stack();
        columns
    }

    /// Every column centred beside the others.
    fn stack(&mut self) {
        let height = |column: &Vec<usize>| -> f64 {
            column.iter().map(|at| self.items[*at].h + self.gap).sum::<f64>() - self.gap
        };
        let heights: Vec<f64> = self.order.iter().map(height).collect();
        let tallest = heights.iter().copied().fold(0.0, f64::max);
        for (column, height) in self.order.iter().zip(heights) {
            let mut y = (tallest - height) / 2.0;
            for at in column {
                self.items[*at].y = y;
                y += self.items[*at].h + self.gap;
            }
        }
    }

    /// Finds an order with few crossings. `joins` gives the anchors after each sweep, because ports move in boxes.
    pub fn sort(&mut self, mut joins: impl FnMut(&Columns) -> Vec<Join>) {
        let mut known = joins(self);
        let mut best = (self.crossings(&known), self.order.clone());
        for sweep in 0..SWEEPS {
            for step in 0..self.order.len() {
                let column = if sweep % 2 == 0 { step } else { self.order.len() - 1 - step };
                let wanted = self.wanted(&known);
                let middle =
                    |at: &usize| wanted[*at].unwrap_or(self.items[*at].y) + self.items[*at].h / 2.0;
                let mut sorted = self.order[column].clone();
                sorted.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
                self.order[column] = sorted;
                self.stack();
                known = joins(self);
            }
            let crossings = self.crossings(&known);
            if crossings < best.0 {
                best = (crossings, self.order.clone());
            }
        }
        self.order = best.1;
        self.stack();
        joins(self);
    }

    /// Where each item would like its upper edge, so that what joins it lies level.
    fn wanted(&self, joins: &[Join]) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0.0); self.items.len()];
        for [a, b] in joins {
            for ((at, dy), (other, other_dy)) in [(*a, *b), (*b, *a)] {
                let sum = &mut sums[at];
                *sum = (sum.0 + self.items[other].y + other_dy - dy, sum.1 + 1.0);
            }
        }
        sums.into_iter().map(|(sum, n)| (n > 0.0).then(|| sum / n)).collect()
    }

    /// Moves columns so that what is joined lies level where there is room; the order stays.
    pub fn level(&mut self, joins: &[Join]) {
        for round in 0..4 {
            for step in 0..self.order.len() {
                let column = if round % 2 == 0 { step } else { self.order.len() - 1 - step };
                let wanted = self.wanted(joins);
                self.settle(column, &wanted);
            }
        }
        let top = self.items.iter().map(|item| item.y).fold(f64::INFINITY, f64::min);
        if top.is_finite() {
            self.items.iter_mut().for_each(|item| item.y = (item.y - top).round());
        }
    }

    /// The places nearest to the wanted ones that keep the order and the gaps: isotonic regression by pooling neighbours
    /// that are in each other's way.
    fn settle(&mut self, column: usize, wanted: &[Option<f64>]) {
        let mut before = 0.0;
        let mut pools: Vec<Neighbours> = Vec::new();
        for at in &self.order[column] {
            let wish = wanted[*at].unwrap_or(self.items[*at].y) - before;
            pools.push(Neighbours { sum: wish, members: vec![(*at, before)] });
            before += self.items[*at].h + self.gap;
            while let [.., a, b] = pools.as_slice()
                && a.mean() > b.mean()
            {
                let Some(last) = pools.pop() else { break };
                if let Some(pool) = pools.last_mut() {
                    pool.sum += last.sum;
                    pool.members.extend(last.members);
                }
            }
        }
        for pool in pools {
            let mean = pool.mean();
            pool.members.into_iter().for_each(|(at, below)| self.items[at].y = mean + below);
        }
    }

    /// How often lines between neighbouring columns cross.
    pub fn crossings(&self, joins: &[Join]) -> usize {
        let line = |join: &Join| {
            let [a, b] = join.map(|(at, dy)| (self.items[at].column, self.items[at].y + dy));
            if a.0 <= b.0 { (a.0, a.1, b.1) } else { (b.0, b.1, a.1) }
        };
        let lines: Vec<_> = joins.iter().map(line).collect();
        let crosses = |(n, a): (usize, &(usize, f64, f64))| {
            let others = lines[n + 1..].iter().filter(|b| b.0 == a.0);
            others.filter(|b| (a.1 - b.1) * (a.2 - b.2) < 0.0).count()
        };
        lines.iter().enumerate().map(crosses).sum()
    }
}
