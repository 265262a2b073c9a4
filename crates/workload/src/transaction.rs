//! The transaction model: each transaction walks an index and then touches a table, page by page.
//!
//! Modelled on oblLoad of openBench Labs, whose daemons issue one dependent access after the other. Every target
//! holds its own database; a transaction stays on one target.

use crate::address::{AddressGrid, OpShape, regions};
use crate::draw::{Draw, ReadShare, Rngs};
use crate::skew::IndexSampler;
use crate::{Dir, Placement, Skew, Spec, SpecError, StreamKey, Transaction};
use clock::{Ns, Rng};

/// Draws the accesses of one daemon.
pub(crate) struct Transactions {
    databases: Box<[Database]>,
    page: u32,
    index_pages: u32,
    pages: u32,
    read: ReadShare,
    rngs: Rngs,
    /// The current transaction's database, and how many of its pages have been drawn.
    database: usize,
    drawn: u32,
}

struct Database {
    pages: AddressGrid,
    index: IndexSampler,
    table: IndexSampler,
    /// The table's first page.
    table_start: u64,
}

impl Transactions {
    /// The accesses of slot `key.slot`.
    pub fn new(
        spec: &Spec,
        transaction: &Transaction,
        place: &Placement,
        key: StreamKey,
    ) -> Result<Transactions, SpecError> {
        let shape = OpShape { size: transaction.page, align: 0 };
        let popular = Rngs::popular(key);
        let databases = regions(spec, place, &[shape])?
            .iter()
            .map(|region| Ok(Database::new(region.grid(shape, 2)?, transaction, &popular)))
            .collect::<Result<Box<[Database]>, SpecError>>()?;
        Ok(Transactions {
            databases,
            page: transaction.page,
            index_pages: transaction.index_pages,
            pages: transaction.index_pages.saturating_add(transaction.table_pages),
            read: ReadShare::percent(transaction.read),
            rngs: Rngs::new(key),
            database: 0,
            drawn: 0,
        })
    }

    /// The next access.
    pub fn draw(&mut self) -> Draw {
        let address = &mut self.rngs.address;
        if self.drawn == 0 && self.databases.len() > 1 {
            self.database = address.below(self.databases.len() as u64) as usize;
        }
        let database = &self.databases[self.database];
        let (dir, page) = if self.drawn < self.index_pages {
            (Dir::Read, database.index.draw(address))
        } else {
            let dir = self.read.dir(self.rngs.mix.next_u64() as u32);
            (dir, database.table_start + database.table.draw(address))
        };
        self.drawn += 1;
        if self.drawn >= self.pages {
            self.drawn = 0;
        }
        Draw {
            dir,
            target: self.database as u16,
            offset: database.pages.offset(page),
            len: self.page,
            fua: false,
            pause: Ns::ZERO,
        }
    }
}

impl Database {
    fn new(pages: AddressGrid, transaction: &Transaction, popular: &Rng) -> Database {
        let share = transaction.index / 100.0;
        let index = ((pages.count as f64 * share).round() as u64).clamp(1, pages.count - 1);
        let sampler = |skew: Skew, n| IndexSampler::new(skew, n, popular);
        Database {
            pages,
            index: sampler(transaction.index_skew, index),
            table: sampler(transaction.table_skew, pages.count - index),
            table_start: index,
        }
    }
}
