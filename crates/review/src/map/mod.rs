//! The map: the lab of a record as a picture, from hosts to arrays, with the load of a step on it.
//!
//! Made in four stages, each a pure function: [`scene`] puts together what is alike, so that any lab fits on a page;
//! [`layout`] gives everything a place; [`values`] says what is shown of each step; [`svg`] draws the step that is shown first. The
//! page's script changes words, widths and classes of what is drawn, and no place: a picture keeps its shape over the plan.
//! Layers and the order within them follow K. Sugiyama, S. Tagawa and M. Toda, "Methods for Visual Understanding of
//! Hierarchical System Structures" (1981).

mod block;
mod layout;
mod live;
mod natural;
mod order;
mod scene;
mod stack;
mod svg;
#[cfg(test)]
mod tests;
mod values;

pub use live::live_map;
pub(crate) use scene::{Scene, word};
pub(crate) use svg::{first_rows, svg};
pub(crate) use values::{COLUMNS, class_words};

use crate::answers;
use findings::map::{LabMap, loads};
use findings::{Analysis, HopLoad, StepFigures};
use layout::{MapLayout, layout};
use scene::scene;
use values::{StepValues, values};

/// Cells of all steps at most: rows of the table times steps. More steps are passed over at equal distances.
const CELLS_MAX: usize = 12_000;
/// Steps at most.
const STEPS_MAX: usize = 128;

/// A map with what is to be shown of it.
pub(crate) struct Map<'a> {
    pub scene: Scene,
    pub layout: MapLayout,
    /// The steps that can be shown, at least one, in the order of the run.
    pub steps: Vec<&'a StepFigures>,
    /// What each of them shows, in the same order.
    pub values: Vec<StepValues>,
    /// The one of them that is shown first: that of which the first finding speaks.
    pub opens_on: usize,
    /// The names of all hops of the lab, in the map's order.
    pub names: Vec<&'a str>,
    /// Whether the ways between hops are known.
    pub wired: bool,
    /// Hops that are nowhere on it.
    pub left_out: usize,
}

/// The map of an analysis; `None` where there is none, or no step to be shown on it.
pub(crate) fn map(analysis: &Analysis) -> Option<Map<'_>> {
    let lab = analysis.map.as_ref()?;
    let all: Vec<&StepFigures> = analysis.steps.iter().collect();
    let scene = scene(lab, &all_loads(lab, &all));
    let mut steps = chosen(&all, CELLS_MAX / scene.rows_and_members().max(1));
    let interest = answers::step_of_interest(analysis);
    let wanted = all.iter().find(|step| Some(step.index) == interest).copied();
    // Where steps are passed over, the next one makes room for the step that matters.
    if let Some(wanted) = wanted.filter(|w| steps.iter().all(|step| step.index != w.index)) {
        let next = steps.iter().position(|step| step.index > wanted.index);
        let place = next.unwrap_or(steps.len() - 1);
        steps[place] = wanted;
    }
    let opens_on = steps.iter().position(|step| Some(step.index) == interest).unwrap_or(0);
    if steps.is_empty() {
        return None;
    }
    let values = steps.iter().map(|step| values(lab, &scene, step)).collect();
    let layout = layout(&scene);
    let names = lab.hops.iter().map(|hop| hop.name.as_str()).collect();
    let (wired, left_out) = (lab.wired, lab.left_out);
    Some(Map { scene, layout, steps, values, opens_on, names, wired, left_out })
}

/// Loads by step and hop, of the steps that decide what is alike.
fn all_loads(lab: &LabMap, steps: &[&StepFigures]) -> Vec<Vec<Option<HopLoad>>> {
    chosen(steps, STEPS_MAX).iter().map(|step| loads(lab, step)).collect()
}

/// At most so many steps, at equal distances, the first and the last among them; at least one.
fn chosen<'a>(steps: &[&'a StepFigures], room: usize) -> Vec<&'a StepFigures> {
    let room = room.clamp(1, STEPS_MAX);
    if steps.len() <= room {
        return steps.to_vec();
    }
    let last = steps.len() - 1;
    (0..room).map(|n| steps[if room == 1 { 0 } else { n * last / (room - 1) }]).collect()
}
