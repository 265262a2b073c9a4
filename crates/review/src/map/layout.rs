//! Gives everything of a scene a place: columns of boxes from hosts to arrays with links in between, and lines that end at
//! the edges of what they join. The same scene always gives the same picture.

pub(crate) use super::block::Rect;
use super::block::{Block, LINK, SwitchSide, block};
use super::order::{Columns, Item, Join};
use super::scene::Scene;
use findings::map::DeviceKind;
use std::collections::BTreeMap;

/// Space between a column and the next.
const GUTTER: f64 = 32.0;
/// Vertical space between items.
const GAP: f64 = 14.0;
/// Height of a line's way through a column of boxes.
const LANE: f64 = 4.0;
/// Space around the whole.
const MARGIN: f64 = 4.0;
/// Columns of boxes at most; a lab with more switches in a row is folded into the last ones.
const RANKS_MAX: usize = 7;

/// Where everything lies.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MapLayout {
    pub width: f64,
    pub height: f64,
    /// By box of the scene.
    pub boxes: Vec<Rect>,
    /// By row of the scene.
    pub rows: Vec<Rect>,
    /// By edge of the scene.
    pub lines: Vec<Line>,
}

/// How an edge is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// Where it goes: horizontal at each point.
    pub points: Vec<(f64, f64)>,
    /// The link that it belongs to, if it ends at one.
    pub link: Option<usize>,
}

/// Places for a scene.
pub(crate) fn layout(scene: &Scene) -> MapLayout {
    let mut plan = ColumnPlan::of(scene);
    let mut columns = Columns::new(plan.items(), GAP);
    columns.sort(|columns| plan.arrange(columns));
    let joins = plan.joins();
    columns.level(&joins);
    plan.draw(&columns)
}

/// What an item of a column is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Box(usize),
    Link(usize),
    /// A line that passes through.
    Lane,
}

/// A scene with columns assigned.
struct ColumnPlan<'a> {
    scene: &'a Scene,
    whats: Vec<(What, usize)>,
    /// The item of each outer box and each link.
    of_box: BTreeMap<usize, usize>,
    of_link: BTreeMap<usize, usize>,
    /// The items that each edge goes through, at least two.
    ways: Vec<Vec<usize>>,
    blocks: BTreeMap<usize, Block>,
    sides: Vec<SwitchSide>,
}

impl<'a> ColumnPlan<'a> {
    fn of(scene: &'a Scene) -> ColumnPlan<'a> {
        let ranks = ranks(scene);
        let mut plan = ColumnPlan {
            scene,
            whats: Vec::new(),
            of_box: BTreeMap::new(),
            of_link: BTreeMap::new(),
            ways: Vec::new(),
            blocks: BTreeMap::new(),
            sides: vec![SwitchSide::Left; scene.rows.len()],
        };
        for at in (0..scene.boxes.len()).filter(|at| scene.boxes[*at].host.is_none()) {
            plan.of_box.insert(at, plan.whats.len());
            plan.whats.push((What::Box(at), 2 * ranks[at]));
        }
        for row in (0..scene.rows.len()).filter(|row| scene.rows[*row].in_box.is_none()) {
            plan.of_link.insert(row, plan.whats.len());
            plan.whats.push((What::Link(row), link_column(scene, row, &ranks)));
        }
        plan.sides();
        plan.ways();
        for at in plan.of_box.keys() {
            plan.blocks.insert(*at, block(scene, *at, &plan.sides, &|_| 0.0));
        }
        plan
    }

    /// The item that a row belongs to.
    fn item(&self, row: usize) -> usize {
        match self.scene.outer_of(row) {
            Some(at) => self.of_box[&at],
            None => self.of_link[&row],
        }
    }

    fn column(&self, item: usize) -> usize {
        self.whats[item].1
    }

    /// A port that leads to the right lies on the right.
    fn sides(&mut self) {
        for (from, to) in &self.scene.edges {
            let (a, b) = (self.column(self.item(*from)), self.column(self.item(*to)));
            let right = if a <= b { *from } else { *to };
            self.sides[right] = SwitchSide::Right;
        }
    }

    /// Lines that are longer than from one column to the next go through lanes.
    fn ways(&mut self) {
        for (from, to) in &self.scene.edges {
            let (a, b) = (self.item(*from), self.item(*to));
            let (first, last) = (self.column(a), self.column(b));
            let mut way = vec![a];
            let between: Vec<usize> = match first <= last {
                true => (first + 1..last).collect(),
                false => (last + 1..first).rev().collect(),
            };
            for column in between {
                way.push(self.whats.len());
                self.whats.push((What::Lane, column));
            }
            way.push(b);
            self.ways.push(way);
        }
    }

    fn items(&self) -> Vec<Item> {
        let item = |(what, column): &(What, usize)| Item {
            column: *column,
            h: match what {
                What::Box(at) => self.blocks[at].h,
                What::Link(_) => LINK.1,
                What::Lane => LANE,
            },
            y: 0.0,
        };
        self.whats.iter().map(item).collect()
    }

    /// How far below its item's upper edge a row's lines end.
    fn anchor(&self, row: usize) -> f64 {
        let Some(at) = self.scene.outer_of(row) else { return LINK.1 / 2.0 };
        let rows = &self.blocks[&at].rows;
        rows.iter().find(|(known, _)| *known == row).map_or(0.0, |(_, rect)| rect.middle())
    }

    fn joins(&self) -> Vec<Join> {
        let mut joins = Vec::new();
        for ((from, to), way) in self.scene.edges.iter().zip(&self.ways) {
            let end = |n: usize| match n {
                0 => self.anchor(*from),
                n if n == way.len() - 1 => self.anchor(*to),
                _ => LANE / 2.0,
            };
            let segments = way.windows(2).enumerate();
            joins.extend(segments.map(|(n, pair)| [(pair[0], end(n)), (pair[1], end(n + 1))]));
        }
        joins
    }

    /// Orders ports within boxes by where they lead, and gives the anchors that follow.
    fn arrange(&mut self, columns: &Columns) -> Vec<Join> {
        let mut sums = vec![(0.0, 0.0); self.scene.rows.len()];
        for ((from, to), way) in self.scene.edges.iter().zip(&self.ways) {
            // The neighbour on the way, which may be a lane.
            for (row, next) in [(*from, way[1]), (*to, way[way.len() - 2])] {
                let item = &columns.items[next];
                let sum = &mut sums[row];
                *sum = (sum.0 + item.y + item.h / 2.0, sum.1 + 1.0);
            }
        }
        let rank = |row: usize| match sums[row] {
            (_, 0.0) => f64::MAX,
            (sum, n) => sum / n,
        };
        for (at, known) in &mut self.blocks {
            *known = block(self.scene, *at, &self.sides, &rank);
        }
        self.joins()
    }

    fn draw(&self, columns: &Columns) -> MapLayout {
        let (lefts, widths) = self.across(columns.order.len());
        let scene = self.scene;
        let mut layout = MapLayout {
            boxes: vec![Rect::default(); scene.boxes.len()],
            rows: vec![Rect::default(); scene.rows.len()],
            ..MapLayout::default()
        };
        for (item, (what, column)) in self.whats.iter().enumerate() {
            let y = columns.items[item].y + MARGIN;
            let middle = |w: f64| (lefts[*column] + (widths[*column] - w) / 2.0).round();
            match what {
                What::Box(at) => {
                    let block = &self.blocks[at];
                    let x = middle(block.w);
                    block.boxes.iter().for_each(|(n, r)| layout.boxes[*n] = r.moved(x, y));
                    block.rows.iter().for_each(|(n, r)| layout.rows[*n] = r.moved(x, y));
                }
                What::Link(row) => {
                    layout.rows[*row] = Rect { x: middle(LINK.0), y, w: LINK.0, h: LINK.1 };
                }
                What::Lane => {}
            }
        }
        let ends = self.scene.edges.iter().zip(&self.ways);
        let lines =
            ends.map(|(edge, way)| self.line(*edge, way, columns, &layout, &lefts, &widths));
        layout.lines = lines.collect();
        let all = || layout.boxes.iter().chain(&layout.rows);
        let points = || layout.lines.iter().flat_map(|line| &line.points);
        let right = all().map(Rect::right).chain(points().map(|p| p.0));
        let bottom = all().map(Rect::bottom).chain(points().map(|p| p.1));
        layout.width = right.fold(0.0, f64::max).ceil() + MARGIN;
        layout.height = bottom.fold(0.0, f64::max).ceil() + MARGIN;
        layout
    }

    /// The left edges and the widths of columns.
    fn across(&self, count: usize) -> (Vec<f64>, Vec<f64>) {
        let mut widths = vec![0.0_f64; count];
        for (what, column) in &self.whats {
            let w = match what {
                What::Box(at) => self.blocks[at].w,
                What::Link(_) => LINK.0,
                What::Lane => 0.0,
            };
            widths[*column] = widths[*column].max(w);
        }
        let mut x = MARGIN;
        let mut lefts = Vec::with_capacity(count);
        for w in &widths {
            lefts.push(x);
            x += w + GUTTER;
        }
        (lefts, widths)
    }

    fn line(
        &self,
        (from, to): (usize, usize),
        way: &[usize],
        columns: &Columns,
        layout: &MapLayout,
        lefts: &[f64],
        widths: &[f64],
    ) -> Line {
        let outer = |row: usize| match self.scene.outer_of(row) {
            Some(at) => layout.boxes[at],
            None => layout.rows[row],
        };
        let (first, last) = (self.column(way[0]), self.column(way[way.len() - 1]));
        let right = |row: usize| (outer(row).right(), layout.rows[row].middle());
        let left = |row: usize| (outer(row).x, layout.rows[row].middle());
        let link = [from, to].into_iter().find(|row| self.scene.rows[*row].in_box.is_none());
        let mut points = vec![if first <= last { right(from) } else { left(from) }];
        for lane in &way[1..way.len() - 1] {
            let y = columns.items[*lane].y + MARGIN + LANE / 2.0;
            let column = self.column(*lane);
            let (l, r) = (lefts[column], lefts[column] + widths[column]);
            points.extend(if first <= last { [(l, y), (r, y)] } else { [(r, y), (l, y)] });
        }
        // Within one column the line goes out and comes back on the right.
        points.push(if first < last { left(to) } else { right(to) });
        Line { points, link }
    }
}

/// The column of each box, hosts at 0 and arrays last, by the longest way to it.
fn ranks(scene: &Scene) -> Vec<usize> {
    let mut joins = box_joins(scene);
    // Nothing leads from an array back to a host.
    joins.retain(|(a, b)| scene.boxes[*a].kind <= scene.boxes[*b].kind);
    let mut ranks = vec![0; scene.boxes.len()];
    // As many rounds as there are ranks: a cycle ends there.
    for _ in 0..RANKS_MAX {
        for (from, to) in &joins {
            ranks[*to] = ranks[*to].max((ranks[*from] + 1).min(RANKS_MAX - 1));
        }
    }
    let joined = |at: usize| joins.iter().any(|(a, b)| *a == at || *b == at);
    let leads = |at: usize| joins.iter().any(|(a, _)| *a == at);
    let is_end = |kind: DeviceKind| {
        matches!(
            kind,
            DeviceKind::Array | DeviceKind::Target | DeviceKind::Receiver | DeviceKind::Other
        )
    };
    let switches = scene.boxes.iter().any(|b| b.kind == DeviceKind::Switch);
    let least = usize::from(scene.boxes.len() > 1) + usize::from(switches);
    let last = ranks.iter().copied().max().unwrap_or(0).max(least);
    for (at, mine) in scene.boxes.iter().enumerate() {
        match mine.kind {
            kind if is_end(kind) && !leads(at) => ranks[at] = last,
            DeviceKind::Switch if !joined(at) => ranks[at] = 1,
            _ => {}
        }
    }
    // Columns that nothing lies in are left away.
    let outer: Vec<usize> = (0..ranks.len()).map(|at| ranks[scene.outer(at)]).collect();
    let mut used = outer.clone();
    used.sort_unstable();
    used.dedup();
    outer.iter().map(|rank| used.iter().position(|u| u == rank).unwrap_or(0)).collect()
}

/// Which outer boxes are joined, directly or through links.
fn box_joins(scene: &Scene) -> Vec<(usize, usize)> {
    let mut joins = Vec::new();
    for (from, to) in &scene.edges {
        match (scene.outer_of(*from), scene.outer_of(*to)) {
            (Some(a), Some(b)) => joins.push((a, b)),
            (Some(a), None) => {
                let on = scene.edges.iter().filter(|edge| edge.0 == *to);
                joins.extend(on.filter_map(|edge| Some((a, scene.outer_of(edge.1)?))));
            }
            _ => {}
        }
    }
    joins.retain(|(a, b)| a != b);
    joins.sort_unstable();
    joins.dedup();
    joins
}

/// A link lies behind the left one of what it joins.
fn link_column(scene: &Scene, link: usize, ranks: &[usize]) -> usize {
    let ends = scene.edges.iter().filter_map(|(from, to)| match (*from == link, *to == link) {
        (true, false) => scene.outer_of(*to),
        (false, true) => scene.outer_of(*from),
        _ => None,
    });
    2 * ends.map(|at| ranks[at]).min().unwrap_or(0) + 1
}
