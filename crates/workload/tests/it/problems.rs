//! The rules of specifications: one bad value each, and its message.

use crate::common::*;
use clock::Ns;
use workload::*;

fn spec() -> Spec {
    closed(access(vec![row(4096, 67.0, 100.0)]), 1)
}

/// The spec's problems, one a line.
#[track_caller]
fn check(spec: Spec, expected: &str) {
    let lines: Vec<String> = spec.problems().iter().map(SpecError::to_string).collect();
    assert_eq!(lines.join("\n"), expected);
    let refused = Stream::new(&spec, &place(&[MIB]), key(0)).map(|_| ()).map_err(|e| e.to_string());
    assert_eq!(refused, Err(lines[0].clone()));
}

#[track_caller]
fn check_row(row: Row, expected: &str) {
    check(closed(access(vec![row]), 1), expected);
}

#[track_caller]
fn check_access(change: impl Fn(&mut Access), expected: &str) {
    let mut access = access(vec![row(4096, 67.0, 100.0)]);
    change(&mut access);
    check(closed(access, 1), expected);
}

#[track_caller]
fn check_arrivals(arrivals: Arrivals, expected: &str) {
    check(Spec { arrivals, ..spec() }, expected);
}

#[track_caller]
fn check_process(process: Process, expected: &str) {
    check_arrivals(Arrivals::Open { process, limit: 1 }, expected);
}

#[track_caller]
fn check_transaction(change: impl Fn(&mut Transaction), expected: &str) {
    let Some(WorkloadKind::Transaction(mut transaction)) = preset("oblload").map(|p| p.spec().kind)
    else {
        panic!("oblload is a transaction")
    };
    change(&mut transaction);
    check(Spec { kind: WorkloadKind::Transaction(transaction), ..spec() }, expected);
}

#[test]
fn shares_of_kinds_and_durability() {
    let fine = row(4096, 67.0, 100.0);
    let over = "trim: 67% reads, 40% trims and 0% zeroes are 107% of the operations; they and writes share 100%";
    check_row(Row { trim: 40.0, ..fine }, over);
    let all_reads = "zeroes: 100% reads, 0% trims and 10% zeroes are 110% of the operations; they and writes share 100%; \
                     without `read` all operations are reads: say `read = \"90%\"` or less";
    check_row(Row { read: 100.0, zeroes: 10.0, ..fine }, all_reads);
    check_row(Row { trim: -1.0, ..fine }, "trim: -1% is not between 0% and 100%");
    let durable = |read, flush_every, fua, expected: &str| {
        let durability = Durability { flush_every, fua };
        check(Spec { durability, ..closed(access(vec![row(4096, read, 0.0)]), 1) }, expected);
    };
    let nothing = "the workload writes nothing; give `read` below 100%, or remove it";
    durable(100.0, 8, 0.0, &format!("flush_every: {nothing}"));
    durable(100.0, 0, 50.0, &format!("fua: {nothing}"));
    durable(0.0, 0, 101.0, "fua: 101% is not between 0% and 100%");
}

#[test]
fn rows() {
    let fine = row(4096, 67.0, 100.0);
    check_row(Row { size: 0, ..fine }, "size: 0 bytes is not between 1 byte and 64 MiB");
    let big = (64 << 20) + 1;
    check_row(Row { size: big, ..fine }, "size: 67108865 bytes is not between 1 byte and 64 MiB");
    check_row(Row { read: -1.0, ..fine }, "read: -1% is not between 0% and 100%");
    check_row(Row { read: f64::NAN, ..fine }, "read: NaN% is not between 0% and 100%");
    check_row(Row { random: 100.1, ..fine }, "random: 100.1% is not between 0% and 100%");
    check_row(Row { burst: 0, ..fine }, "burst: a burst has at least 1 operation");
    let align = "align: 1000 bytes is not a multiple of 512 up to 64 MiB; 0 aligns to the size";
    check_row(Row { align: 1000, ..fine }, align);
    check_row(Row { share: 99.0, ..fine }, "share: the shares sum to 99%, not to 100%");
    check_row(Row { share: f64::NAN, ..fine }, "share: NaN% is not between 0% and 100%");
}

#[test]
fn several_rows() {
    check_access(|access| access.rows.clear(), "rows: 0 rows; there must be 1 to 100");
    let many = |access: &mut Access| {
        access.rows = vec![Row { share: 100.0 / 101.0, ..access.rows[0] }; 101];
    };
    check_access(many, "rows: 101 rows; there must be 1 to 100");
    let two = |access: &mut Access| {
        let half = Row { share: 50.0, ..access.rows[0] };
        access.rows = vec![half, Row { size: 0, burst: 0, share: 49.9, ..half }];
    };
    check_access(
        two,
        "size: row 2: 0 bytes is not between 1 byte and 64 MiB\n\
         burst: row 2: a burst has at least 1 operation\n\
         share: the shares sum to 99.9%, not to 100%",
    );
}

#[test]
fn thirds_are_whole() {
    let rows = [33.333, 33.333, 33.333].map(|share| Row { share, ..row(4096, 0.0, 0.0) });
    assert_eq!(closed(access(rows.into()), 1).problems(), []);
}

#[test]
fn strides() {
    let stride = |bytes| move |access: &mut Access| access.stride = Some(bytes);
    check_access(stride(2048), "stride: 2048 bytes is less than an operation of 4096 bytes");
    check_access(stride(0), "stride: 0 bytes is less than an operation of 4096 bytes");
    check_access(
        stride(6144),
        "stride: 6144 bytes is not a multiple of the alignment of 4096 bytes",
    );
}

#[test]
fn ladders() {
    let fine = Ladder { from: 4096, to: 65_536, factor: 2, every: 1 };
    let ladder = |ladder| move |access: &mut Access| access.ladder = Some(ladder);
    let flat = Ladder { to: 4096, ..fine };
    check_access(ladder(flat), "ladder: it climbs from 4096 to 4096 bytes; `to` must be larger");
    let factor = Ladder { factor: 1, ..fine };
    check_access(ladder(factor), "ladder.factor: 1 does not climb; use 2 or more");
    let every = Ladder { every: 0, ..fine };
    check_access(ladder(every), "ladder.every: at least 1 operation is needed at each size");
    let from = Ladder { from: 0, ..fine };
    check_access(ladder(from), "ladder.from: 0 bytes is not between 1 byte and 64 MiB");
    let to = Ladder { to: u32::MAX, ..fine };
    check_access(ladder(to), "ladder.to: 4294967295 bytes is not between 1 byte and 64 MiB");
}

#[test]
fn a_ladder_replaces_the_size_of_rows() {
    let ladder = Some(Ladder { from: 4096, to: 65_536, factor: 4, every: 1 });
    let spec = closed(Access { ladder, ..access(vec![row(0, 100.0, 0.0)]) }, 1);
    assert_eq!(spec.problems(), []);
}

#[test]
fn skews() {
    let skew = |skew| move |access: &mut Access| access.skew = skew;
    for theta in ["0", "2", "-0.5", "NaN", "inf"] {
        let expected =
            format!("skew: a zipf exponent of {theta} is not above 0 and below 2; 0.99 is usual");
        check_access(skew(Skew::Zipf(theta.parse().expect("a number"))), &expected);
    }
    for h in ["0", "1", "NaN"] {
        let expected =
            format!("skew: a pareto shape of {h} is not above 0 and below 1; 0.2 is 80/20");
        check_access(skew(Skew::Pareto(h.parse().expect("a number"))), &expected);
    }
    check_access(
        skew(Skew::HotSpot { accesses: 101.0, blocks: 0.0 }),
        "skew: 101% is not between 0% and 100%\n\
         skew: a hot part of 0% is not above 0% and at most 100%",
    );
}

#[test]
fn arrivals() {
    let closed = |depth| Arrivals::Closed { depth, think: Ns::ZERO };
    check_arrivals(closed(0), "depth: 0 is not between 1 and 4096");
    check_arrivals(closed(4097), "depth: 4097 is not between 1 and 4096");
    let open = |limit| Arrivals::Open { process: Process::Fixed { rate: 1.0 }, limit };
    check_arrivals(open(0), "limit: 0 is not between 1 and 4096");
    check_arrivals(open(4097), "limit: 4097 is not between 1 and 4096");
    for rate in ["0", "-1", "NaN", "inf", "2000000000"] {
        let expected = format!("rate: {rate} a second is not above 0 and at most 1000000000");
        let rate = rate.parse().expect("a number");
        check_process(Process::Fixed { rate }, &expected);
        check_process(Process::Poisson { rate }, &expected);
    }
    let bursts = |high, low, pause| Process::Bursts { high, low, burst: Ns::millis(1), pause };
    let short = "bursts: a burst and a pause last 1 us at least each, and hold an operation in a thousand times together at least";
    check_process(
        bursts(10.0, 20.0, Ns::millis(1)),
        "low: more operations between bursts than in them",
    );
    check_process(bursts(10.0, 0.0, Ns(10)), short);
    check_process(bursts(0.5, 0.0, Ns::millis(1)), short);
    let ramp = |from, to| Process::Ramp { from, to, over: Ns(1) };
    check_process(ramp(-1.0, 1.0), "rate: -1 a second is not at least 0 and at most 1000000000");
    check_process(ramp(0.0, 0.0), "rate: a ramp from 0 to 0 issues nothing");
}

#[test]
fn working_sets() {
    let set = |set| Spec { working_set: Some(set), ..spec() };
    check(set(WorkingSet::Bytes(0)), "working_set: 0 bytes leave nothing to do");
    for percent in ["0", "-1", "100.5", "NaN"] {
        let expected = format!("working_set: {percent}% is not above 0% and at most 100%");
        check(set(WorkingSet::Percent(percent.parse().expect("a number"))), &expected);
    }
}

#[test]
fn transactions() {
    check_transaction(|t| t.page = 0, "page: 0 bytes is not between 1 byte and 64 MiB");
    check_transaction(
        |t| t.index = 100.0,
        "index: 100% is not above 0% and below 100% of the working set",
    );
    check_transaction(|t| t.index_pages = 0, "index_pages: 0 is not between 1 and 1000000");
    check_transaction(|t| t.table_pages = 0, "table_pages: 0 is not between 1 and 1000000");
    check_transaction(|t| t.read = 101.0, "read: 101% is not between 0% and 100%");
    check_transaction(
        |t| (t.index_skew, t.table_skew) = (Skew::Zipf(3.0), Skew::Pareto(2.0)),
        "index_skew: a zipf exponent of 3 is not above 0 and below 2; 0.99 is usual\n\
         table_skew: a pareto shape of 2 is not above 0 and below 1; 0.2 is 80/20",
    );
}

/// Problems that depend on the targets.
#[track_caller]
fn check_place(spec: &Spec, place: &Placement, key: StreamKey, expected: &str) {
    let refused = Stream::new(spec, place, key).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(refused, Err(expected.to_owned()));
}

#[test]
fn places() {
    let one = place(&[MIB]);
    let none = place(&[]);
    check_place(&spec(), &none, key(0), "the worker has no targets; name at least one");
    let room = "target 1 offers this slot 4095 bytes, less than one block of 4096 bytes";
    let odd = Extent { size: 4095, block: 1 };
    let small = Placement { targets: vec![one.targets[0], odd], ..one.clone() };
    check_place(&spec(), &small, key(0), room);
    check_place(&spec(), &one, key(1), "slot: slot 1 is not one of the 1");
    let lost = Placement { sharer: 2, sharers: 2, ..one.clone() };
    check_place(&spec(), &lost, key(0), "sharers: worker 2 is not one of the 2 that share");
    let coarse = Placement { targets: vec![Extent { size: MIB, block: 8192 }], ..one.clone() };
    check_place(
        &spec(),
        &coarse,
        key(0),
        "target 0 has logical blocks of 8192 bytes, and an operation of 4096 bytes is not a multiple of them",
    );
}

#[test]
fn regions_that_are_too_small() {
    let own = Spec { regions: Regions::Own, ..spec() };
    let place = Placement { sharers: 300, ..place(&[MIB]) };
    let room = "target 0 offers this slot 3072 bytes, less than one block of 4096 bytes";
    check_place(&own, &place, key(0), room);
    let set = Spec { working_set: Some(WorkingSet::Bytes(1000)), ..spec() };
    let room = "target 0 offers this slot 512 bytes, less than one block of 4096 bytes";
    check_place(&set, &place, key(0), room);
    let stream = closed(access(vec![row(4096, 67.0, 0.0)]), 1);
    let set = Spec { working_set: Some(WorkingSet::Percent(0.1)), ..stream };
    let room = "target 0 offers this slot 1024 bytes, less than one block of 4096 bytes";
    check_place(&set, &place, key(0), room);
}

#[test]
fn a_stride_must_suit_the_logical_block() {
    let rows = access(vec![Row { align: 512, ..row(4096, 67.0, 0.0) }]);
    let spec = closed(Access { stride: Some(4608), ..rows }, 1);
    assert_eq!(ops(&spec, &place(&[MIB]), 2)[1].offset, 4608);
    let coarse = Placement { targets: vec![Extent { size: MIB, block: 4096 }], ..place(&[]) };
    check_place(
        &spec,
        &coarse,
        key(0),
        "target 0 has logical blocks of 4096 bytes, and a stride of 4608 bytes is not a multiple of them",
    );
}
