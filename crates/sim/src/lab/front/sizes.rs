//! The I/O sizes of a workload in a direction, with their weights.

use workload::{Dir, Spec, WorkloadKind};

/// Bytes and weights of what `spec` reads or writes; empty where it does not.
pub fn sizes(spec: &Spec, dir: Dir) -> Vec<(u32, f64)> {
    let access = match &spec.kind {
        // Every operation is a page, whatever its kind.
        WorkloadKind::Transaction(transaction) => return vec![(transaction.page, 1.0)],
        WorkloadKind::Access(access) => access,
    };
    let weight = |share: f64, read: f64| match dir {
        Dir::Read => share * read / 100.0,
        Dir::Write => share * (100.0 - read) / 100.0,
    };
    let rows = access.rows.iter().map(|row| (row.size, weight(row.share, row.read)));
    let rows: Vec<(u32, f64)> = rows.filter(|(_, weight)| *weight > 0.0).collect();
    match access.ladder {
        Some(ladder) if !rows.is_empty() => ladder.sizes().map(|size| (size, 1.0)).collect(),
        _ => rows,
    }
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
