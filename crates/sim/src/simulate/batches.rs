//! The scatter of the parts of a step: of each group, of sums of groups, and of requested hops, batch by batch.
//!
//! Between the cells of a step nothing of this is known: groups are summed by the meter as their I/Os end, and hops are
//! read off the engine at the end of a batch. So it costs the same whatever the load; its memory is [`BATCHES`] cells for
//! each of [`GROUPS_MOST`] groups and each hop that is named.

use super::confidence;
use super::hops::HopReader;
use super::meter::{Cell, Meter, groups};
use super::named::Named;
use super::pairs::NetBatches;
use super::step_event::Reading;
use crate::engine::Simulation;
use crate::plant::{Plant, PlantHop};
use crate::study::{BATCHES, CELLS};
use record::{Confidence, CounterId};

/// Cells of a batch.
const EACH: usize = CELLS / BATCHES;
/// Groups that have intervals at most: the first ones, in the order of the record.
const GROUPS_MOST: usize = 1024;

/// What has been seen of the parts of a step.
pub(super) struct Batches {
    groups: Vec<String>,
    /// Sums of groups, by name and by their places among the groups.
    sums: Vec<(String, Vec<usize>)>,
    hops: Vec<String>,
    hop_reader: HopReader,
    /// Cells since the last batch.
    cells: usize,
    /// Batches of each group, and of each hop.
    of_groups: Vec<Vec<Cell>>,
    of_hops: Vec<Vec<Cell>>,
    nets: NetBatches,
}

impl Batches {
    /// Of a plant that has not moved yet.
    pub fn new(plant: &Plant, named: &Named) -> Batches {
        let mut groups = groups(plant);
        groups.truncate(GROUPS_MOST);
        let sum = |names: &Vec<String>| {
            let places = names.iter().map(|name| groups.iter().position(|group| group == name));
            Some((names.join("+"), places.collect::<Option<Vec<usize>>>()?))
        };
        let sums = named.sums.iter().filter_map(sum).collect();
        // The I/Os of a hop of a group's name are those of the group.
        let wanted = |hop: &PlantHop| named.hops.contains(&hop.name) && !groups.contains(&hop.name);
        let hops: Vec<String> =
            plant.hops.iter().filter(|hop| wanted(hop)).map(|hop| hop.name.clone()).collect();
        let hop_reader = HopReader::of(plant, wanted);
        let (of_groups, of_hops) = (vec![Vec::new(); groups.len()], vec![Vec::new(); hops.len()]);
        let nets = NetBatches::new(plant);
        Batches { groups, sums, hops, hop_reader, cells: 0, of_groups, of_hops, nets }
    }

    /// The measured time begins.
    pub fn begin(&mut self, simulation: &mut Simulation<Meter>) {
        simulation.observer_mut().take_groups();
        self.nets.begin(simulation);
        if !self.hops.is_empty() {
            self.hop_reader.readings(simulation);
        }
    }

    /// A cell of the measured time is over.
    pub fn look(&mut self, simulation: &mut Simulation<Meter>) {
        self.cells += 1;
        // What a span leaves over its cells is no batch of its own.
        let full = self.nets.batches() >= BATCHES
            || self.of_groups.iter().chain(&self.of_hops).any(|all| all.len() == BATCHES);
        if self.cells < EACH || full {
            return;
        }
        self.cells = 0;
        self.nets.look(simulation);
        let groups = simulation.observer_mut().take_groups();
        for (all, cell) in self.of_groups.iter_mut().zip(groups) {
            all.push(cell);
        }
        if self.hops.is_empty() {
            return;
        }
        let readings = self.hop_reader.readings(simulation);
        for (all, readings) in self.of_hops.iter_mut().zip(readings) {
            all.push(counted(&readings));
        }
    }

    /// The intervals of all parts, from cells of so many seconds. One group alone is the whole step.
    pub fn intervals(&self, step: u32, seconds: f64) -> Vec<Confidence> {
        let seconds = seconds * EACH as f64;
        let of =
            |name: &str, cells: &[Cell]| confidence::intervals(step, Some(name), cells, seconds);
        let mut all = Vec::new();
        if self.groups.len() > 1 {
            let groups = self.groups.iter().zip(&self.of_groups);
            all.extend(groups.flat_map(|(name, cells)| of(name, cells)));
        }
        for (name, places) in &self.sums {
            all.extend(of(name, &self.sum(places)));
        }
        let hops = self.hops.iter().zip(&self.of_hops);
        all.extend(hops.flat_map(|(name, cells)| of(name, cells)));
        all.extend(self.nets.intervals(step, seconds));
        all
    }

    /// Batches of several groups together.
    fn sum(&self, places: &[usize]) -> Vec<Cell> {
        let batches = places.iter().map(|place| self.of_groups[*place].len()).min().unwrap_or(0);
        let joined = |batch: usize| {
            let cells = places.iter().map(|place| &self.of_groups[*place][batch]);
            cells.fold(Cell::default(), |sum, cell| sum.joined(cell))
        };
        (0..batches).map(joined).collect()
    }
}

/// What a hop counted, as a cell: data and operations alone.
fn counted(readings: &[Reading]) -> Cell {
    let of = |id: CounterId| {
        let reading = readings.iter().find(|(counter, _)| *counter == id);
        reading.map_or(0.0, |(_, value)| *value)
    };
    Cell {
        ops: [of(CounterId::ReadOps), of(CounterId::WriteOps)],
        bytes: [of(CounterId::ReadBytes), of(CounterId::WriteBytes)],
        ..Cell::default()
    }
}
