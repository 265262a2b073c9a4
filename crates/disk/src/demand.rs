//! What a workload asks of its targets, read off its specification before anything is opened.

use workload::{Kind, Spec};

/// Directions and the largest block of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// It may read.
    pub reads: bool,
    /// It may write.
    pub writes: bool,
    /// Its largest block in bytes.
    pub block_max: u32,
}

impl Demand {
    /// What `spec` asks for.
    pub fn of(spec: &Spec) -> Demand {
        match &spec.kind {
            Kind::Access(access) => {
                let rows = || access.rows.iter().filter(|row| row.share > 0.0);
                let largest = rows().map(|row| row.size).max().unwrap_or(0);
                Demand {
                    reads: rows().any(|row| row.read > 0.0),
                    writes: rows().any(|row| row.read < 100.0),
                    block_max: access.ladder.map_or(largest, |ladder| ladder.to),
                }
            }
            Kind::Transaction(t) => Demand {
                reads: t.index_pages > 0 || t.read > 0.0,
                writes: t.table_pages > 0 && t.read < 100.0,
                block_max: t.page,
            },
        }
    }
}
