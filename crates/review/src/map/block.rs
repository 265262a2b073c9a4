//! The inside of a box: its title, its guests, and its rows in up to two columns, as a block that can be put anywhere.

use super::natural;
use super::scene::Scene;
use findings::map::{DeviceKind, Role};

/// Height of a row.
const ROW: f64 = 27.0;
/// Width of a row, and of a port of a switch, whose name is short.
const ROW_WIDTH: f64 = 158.0;
const PORT_WIDTH: f64 = 104.0;
/// Space around the content of a box, and between columns in it.
const PAD: f64 = 9.0;
/// Height of a title, and of the line below it with the model.
const TITLE: f64 = 26.0;
const PART: f64 = 15.0;
/// Size of a link.
pub(super) const LINK: (f64, f64) = (158.0, 60.0);

/// Where something lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rect {
    pub x: f64,
    pub y: f64,
    pub w: f64,
    pub h: f64,
}

impl Rect {
    pub fn right(&self) -> f64 {
        self.x + self.w
    }

    pub fn bottom(&self) -> f64 {
        self.y + self.h
    }

    pub fn middle(&self) -> f64 {
        self.y + self.h / 2.0
    }

    pub(super) fn moved(self, x: f64, y: f64) -> Rect {
        Rect { x: self.x + x, y: self.y + y, ..self }
    }
}

/// A box with everything in it, from its own upper left corner.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub w: f64,
    pub h: f64,
    /// The box itself and those of its guests.
    pub boxes: Vec<(usize, Rect)>,
    pub rows: Vec<(usize, Rect)>,
}

/// Which side of a box the ports of a switch lie on, by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwitchSide {
    Left,
    Right,
}

/// An outer box as a block. `rank` orders its ports, from above to below.
pub(super) fn block(
    scene: &Scene,
    at: usize,
    sides: &[SwitchSide],
    rank: &dyn Fn(usize) -> f64,
) -> Block {
    let mut columns: Vec<Vec<BlockPart>> = Vec::new();
    let guests: Vec<BlockPart> = (0..scene.boxes.len())
        .filter(|guest| scene.boxes[*guest].host == Some(at))
        .map(|guest| BlockPart::Guest(guest_block(scene, guest)))
        .collect();
    columns.push(guests);
    let mut rows: [Vec<usize>; 2] = Default::default();
    let switch = scene.boxes[at].kind == DeviceKind::Switch;
    for row in rows_in(scene, at) {
        // What faces the devices lies on the right of a switch; other boxes have one column.
        rows[usize::from(switch && sides[row] == SwitchSide::Right)].push(row);
    }
    for column in &mut rows {
        order(scene, column, rank);
    }
    let width = if switch { PORT_WIDTH } else { ROW_WIDTH };
    let parts = |rows: Vec<usize>| rows.into_iter().map(|row| BlockPart::Row(row, width)).collect();
    columns.extend(rows.into_iter().map(parts));
    columns.retain(|column| !column.is_empty());
    stacked(scene, at, columns)
}

enum BlockPart {
    /// A row and its width.
    Row(usize, f64),
    Guest(Block),
}

impl BlockPart {
    fn size(&self) -> (f64, f64) {
        match self {
            BlockPart::Row(_, width) => (*width, ROW),
            BlockPart::Guest(block) => (block.w, block.h),
        }
    }
}

fn rows_in(scene: &Scene, at: usize) -> Vec<usize> {
    (0..scene.rows.len()).filter(|row| scene.rows[*row].in_box == Some(at)).collect()
}

fn guest_block(scene: &Scene, guest: usize) -> Block {
    let rows =
        rows_in(scene, guest).into_iter().map(|row| BlockPart::Row(row, ROW_WIDTH)).collect();
    stacked(scene, guest, vec![rows])
}

/// Ports by where they lead, before everything else; each adapter above its own ports; the rest by role and name.
fn order(scene: &Scene, rows: &mut [usize], rank: &dyn Fn(usize) -> f64) {
    let class = |row: usize| match scene.rows[row].role {
        Role::SwitchPort | Role::TargetPort => 0,
        Role::Adapter | Role::InitiatorPort => 2,
        _ => 1,
    };
    // Stable: what is neither port nor adapter stays as it is.
    rows.sort_by(|a, b| {
        let names = || natural::compare(&scene.rows[*a].name, &scene.rows[*b].name);
        class(*a).cmp(&class(*b)).then_with(|| match class(*a) {
            0 => rank(*a).total_cmp(&rank(*b)).then_with(names),
            2 => names(),
            _ => std::cmp::Ordering::Equal,
        })
    });
}

/// A box around columns of parts.
fn stacked(scene: &Scene, at: usize, columns: Vec<Vec<BlockPart>>) -> Block {
    let mine = &scene.boxes[at];
    let top = TITLE + if mine.part.is_some() { PART } else { 0.0 };
    let mut block = Block::default();
    let (mut x, mut h) = (PAD, top);
    for column in columns {
        let w = column.iter().map(|part| part.size().0).fold(0.0, f64::max);
        let mut y = top;
        for part in column {
            let (_, height) = part.size();
            match part {
                BlockPart::Row(row, _) => block.rows.push((row, Rect { x, y, w, h: height })),
                BlockPart::Guest(inner) => {
                    let put = |(at, rect): (usize, Rect)| (at, rect.moved(x, y));
                    block.boxes.extend(inner.boxes.into_iter().map(put));
                    block.rows.extend(inner.rows.into_iter().map(put));
                }
            }
            y += height + if height > ROW { PAD } else { 0.0 };
        }
        h = h.max(y);
        x += w + PAD;
    }
    (block.w, block.h) = (x.max(ROW_WIDTH + 2.0 * PAD), h + PAD);
    block.boxes.insert(0, (at, Rect { x: 0.0, y: 0.0, w: block.w, h: block.h }));
    block
}
