//! The transaction model: index first, then the table, one access at a time.

use crate::common::*;
use clock::Ns;
use workload::*;

const MODEL: Transaction = Transaction {
    page: 8192,
    index: 10.0,
    index_pages: 3,
    table_pages: 2,
    index_skew: Skew::Zipf(0.99),
    table_skew: Skew::Uniform,
    read: 40.0,
};

fn spec(model: Transaction) -> Spec {
    Spec { kind: WorkloadKind::Transaction(model), ..closed(access(vec![]), 4) }
}

#[test]
fn a_transaction_reads_its_index_and_then_touches_its_table() {
    let (pages, table_start) = (1000u64, 100 * 8192);
    let drawn = ops(&spec(MODEL), &place(&[pages * 8192, pages * 8192]), 50_000);
    let mut reads = 0;
    for transaction in drawn.chunks(5) {
        assert!(transaction.iter().all(|op| op.target == transaction[0].target));
        assert!(transaction.iter().all(|op| op.len == 8192 && op.offset % 8192 == 0));
        let (index, table) = transaction.split_at(3);
        assert!(index.iter().all(|op| op.dir == Dir::Read && op.offset < table_start));
        assert!(table.iter().all(|op| (table_start..pages * 8192).contains(&op.offset)));
        reads += table.iter().filter(|op| op.dir == Dir::Read).count();
    }
    let share = reads as f64 / 20_000.0;
    assert!((share - 0.4).abs() < 0.02, "{share}");
}

#[test]
fn both_targets_serve_transactions_equally() {
    let drawn = ops(&spec(MODEL), &place(&[8 * MIB, 80 * MIB]), 50_000);
    let first = drawn.chunks(5).filter(|transaction| transaction[0].target == 0).count();
    assert!((4750..5250).contains(&first), "{first}");
}

#[test]
fn every_access_waits_for_the_one_before() {
    let mut stream = slots(&spec(MODEL), &place(&[8 * MIB])).swap_remove(0);
    for at in 0..10 {
        assert!(matches!(stream.next(Ns(at)), Next::Op(_)));
        assert_eq!(stream.next(Ns(at)), Next::AwaitCompletion);
        stream.completed(Ns(at));
    }
}

#[test]
fn an_open_loop_keeps_the_order_of_accesses() {
    let arrivals = Arrivals::Open { process: Process::Fixed { rate: 1000.0 }, limit: 8 };
    let mut stream =
        Stream::new(&Spec { arrivals, ..spec(MODEL) }, &place(&[8 * MIB]), key(0)).expect("sound");
    for at in 0..50 {
        let Next::Op(op) = stream.next(Ns::secs(1)) else { panic!("due at {at} ms") };
        assert_eq!(op.due, Ns::millis(at));
        assert_eq!(op.offset < 102 * 8192, at % 5 < 3);
    }
}

#[test]
fn extreme_shares_leave_a_page_to_both_parts() {
    for (index, table_start) in [(1e-9, 1), (99.999_999, 9)] {
        let model = Transaction { index, ..MODEL };
        for op in ops(&spec(model), &place(&[10 * 8192]), 5).iter().skip(3) {
            assert!(op.offset >= table_start * 8192);
        }
    }
}

#[test]
fn one_page_is_too_little_for_a_database() {
    let outcome = Stream::new(&spec(MODEL), &place(&[12_288]), key(0)).err();
    assert_eq!(outcome, Some(SpecError::TooSmall { target: 0, room: 12_288, block: 16_384 }));
}

#[test]
fn transactions_are_counted_in_operations() {
    assert_eq!(spec(MODEL).ops_per_transaction(), Some(5));
    assert_eq!(closed(access(vec![row(512, 0.0, 0.0)]), 1).ops_per_transaction(), None);
}
