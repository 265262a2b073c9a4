//! The I/O sizes of a workload in a direction, with their weights.

use workload::{Dir, IoDemand, Row, Spec, WorkloadKind};

/// Bytes and weights of what `spec` moves by operations of a kind, none by those without data; empty where it has none.
pub fn sizes(spec: &Spec, dir: Dir) -> Vec<(u32, f64)> {
    if !dir.moves_data() {
        return if IoDemand::of(spec).has(dir) { vec![(0, 1.0)] } else { Vec::new() };
    }
    let access = match &spec.kind {
        // Every operation is a page, whatever its kind.
        WorkloadKind::Transaction(transaction) => return vec![(transaction.page, 1.0)],
        WorkloadKind::Access(access) => access,
    };
    let weight = |row: &Row| match dir {
        Dir::Read => row.share * row.read / 100.0,
        _ => row.share * row.write() / 100.0,
    };
    let rows = access.rows.iter().map(|row| (row.size, weight(row)));
    let rows: Vec<(u32, f64)> = rows.filter(|(_, weight)| *weight > 0.0).collect();
    match access.ladder {
        Some(ladder) if !rows.is_empty() => ladder.sizes().map(|size| (size, 1.0)).collect(),
        _ => rows,
    }
}

/// The mean of sizes with their weights; `None` of none.
pub fn mean_size(sizes: &[(u32, f64)]) -> Option<f64> {
    let weights: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    let bytes: f64 = sizes.iter().map(|(size, weight)| f64::from(*size) * weight).sum();
    (weights > 0.0).then_some(bytes / weights)
}

/// The mean range of the trims, or of the zeroes, of `spec`; 0 for flushes.
pub fn range(spec: &Spec, dir: Dir) -> u32 {
    let WorkloadKind::Access(access) = &spec.kind else { return 0 };
    let share = |row: &Row| match dir {
        Dir::Trim => row.share * row.trim,
        Dir::Zero => row.share * row.zeroes,
        _ => 0.0,
    };
    let size = |row: &Row| match access.ladder {
        None => f64::from(row.size),
        Some(ladder) => {
            let (sum, count) =
                ladder.sizes().fold((0.0, 0.0), |(s, n), size| (s + f64::from(size), n + 1.0));
            sum / f64::max(count, 1.0)
        }
    };
    let weight: f64 = access.rows.iter().map(share).sum();
    let bytes: f64 = access.rows.iter().map(|row| share(row) * size(row)).sum();
    if weight > 0.0 { (bytes / weight).round() as u32 } else { 0 }
}

/// Whether all that `spec` does is to read on from where it stopped.
pub fn is_sequential_read(spec: &Spec) -> bool {
    match &spec.kind {
        WorkloadKind::Transaction(_) => false,
        WorkloadKind::Access(access) => {
            access.rows.iter().all(|row| row.read >= 100.0 && row.random <= 0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Ladder, preset};

    fn spec() -> Spec {
        preset("file-server").expect("a preset").spec()
    }

    #[test]
    fn rows_weigh_by_their_direction() {
        let (reads, writes) = (sizes(&spec(), Dir::Read), sizes(&spec(), Dir::Write));
        let all = |sizes: &[(u32, f64)]| sizes.iter().map(|(_, weight)| weight).sum::<f64>();
        assert!((all(&reads) + all(&writes) - 100.0).abs() < 1e-9);
        assert!(reads.len() > 1, "{reads:?}");
    }

    #[test]
    fn a_ladder_takes_the_place_of_rows() {
        let mut spec = spec();
        let WorkloadKind::Access(access) = &mut spec.kind else { panic!("a preset of rows") };
        access.ladder = Some(Ladder { from: 4096, to: 16_384, factor: 2, every: 1 });
        assert_eq!(sizes(&spec, Dir::Read), [(4096, 1.0), (8192, 1.0), (16_384, 1.0)]);
        let WorkloadKind::Access(access) = &mut spec.kind else { panic!("a preset of rows") };
        access.rows.iter_mut().for_each(|row| row.read = 0.0);
        assert_eq!(sizes(&spec, Dir::Read), []);
    }
}
