//! The map of a run in progress: the lab of its scenario, each hop with its load of the last second.

use super::layout::layout;
use super::scene::scene;
use super::svg::svg;
use super::values::{StepValues, row_values};
use super::{Map, first_rows};
use findings::HopLoad;
use findings::map::LabMap;

/// The picture of a lab, as markup. `load` gives what is known of a hop by its name; what is alike is drawn together whatever
/// the loads, so that the picture keeps its shape.
pub fn live_map(lab: &LabMap, load: &dyn Fn(&str) -> Option<HopLoad>, label: &str) -> String {
    let loads: Vec<Option<HopLoad>> = lab
        .hops
        .iter()
        .map(|hop| load(&hop.name).or_else(|| load(hop.counted_as.as_deref()?)))
        .collect();
    let scene = scene(lab, &Vec::new());
    let rows = row_values(&scene, &loads);
    // What is full limits, as a review would mark it.
    let full = |hop: &usize| {
        let share = loads[*hop].as_ref().and_then(|load| load.utilization);
        share.is_some_and(|share| share >= findings::SATURATED_FROM)
    };
    let first = (0..first_rows(&scene).len()).filter(|row| scene.rows[*row].hops.iter().any(full));
    let values = StepValues { first: first.collect(), rows, ..StepValues::default() };
    let map = Map {
        layout: layout(&scene),
        scene,
        steps: Vec::new(),
        values: vec![values],
        opens_on: 0,
        names: Vec::new(),
        wired: lab.wired,
        left_out: lab.left_out,
    };
    svg(&map, label).into_string()
}
