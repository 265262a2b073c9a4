//! The rules of a specification: every problem of a spec is found once, when it is built.
//!
//! What depends on the targets (room, logical blocks) is found when a stream is built; see [`SpecError`].

use crate::spec::SHARES_TOLERANCE;
use crate::{
    Access, Arrivals, Durability, Ladder, Process, Row, Skew, Spec, SpecError, TraceSpec,
    Transaction, WorkingSet, WorkloadKind,
};
use clock::Ns;

/// The most rows of an access specification, as in Iometer.
const ROWS_MAX: usize = 100;
/// The largest operation in bytes.
const SIZE_MAX: u32 = 64 << 20;
/// Addresses are aligned to multiples of a sector.
const SECTOR: u32 = 512;
/// The most operations outstanding per worker.
const DEPTH_MAX: u32 = 4096;
/// The highest rate: one operation a nanosecond.
const RATE_MAX: f64 = 1e9;
/// Length of a burst, and of the time between two, at least.
const STATE_MIN: Ns = Ns(1000);
/// Operations of a burst and the pause behind it at least, on average: what lies between two operations is drawn.
const ARRIVALS_MIN: f64 = 0.001;
/// The most pages of each kind in one transaction.
const PAGES_MAX: u32 = 1_000_000;

impl Spec {
    /// Everything that is wrong with this spec for any targets; empty when it is valid.
    pub fn problems(&self) -> Vec<SpecError> {
        let mut found = SpecProblems::default();
        if let Some(trace) = &self.trace {
            found.trace(trace, self.outstanding_max());
            if self.passes > 0 {
                found.report("passes", "a trace has addresses of its own; limit it by `amount`");
            }
            return found.list;
        }
        match &self.kind {
            WorkloadKind::Access(access) => found.access(access),
            WorkloadKind::Transaction(transaction) => found.transaction(transaction),
        }
        match self.arrivals {
            Arrivals::Closed { depth, .. } => found.whole("depth", depth, 1, DEPTH_MAX),
            Arrivals::Open { process, limit } => {
                found.whole("limit", limit, 1, DEPTH_MAX);
                found.process(process);
            }
        }
        match self.working_set {
            Some(WorkingSet::Bytes(0)) => {
                found.report("working_set", "0 bytes leave nothing to do")
            }
            Some(WorkingSet::Percent(p)) if !(p > 0.0 && p <= 100.0) => {
                found.report("working_set", format!("{p}% is not above 0% and at most 100%"));
            }
            _ => {}
        }
        found.durability(self);
        found.passes(self);
        found.list
    }
}

/// Collects problems.
#[derive(Default)]
struct SpecProblems {
    list: Vec<SpecError>,
    /// The row that is being checked, counted from 1, if there are several.
    row: Option<usize>,
}

impl SpecProblems {
    fn report(&mut self, field: &'static str, problem: impl Into<String>) {
        let problem = match self.row {
            Some(row) => format!("row {row}: {}", problem.into()),
            None => problem.into(),
        };
        self.list.push(SpecError::Invalid { field, problem });
    }

    fn whole(&mut self, field: &'static str, value: u32, min: u32, max: u32) {
        if !(min..=max).contains(&value) {
            self.report(field, format!("{value} is not between {min} and {max}"));
        }
    }

    fn percent(&mut self, field: &'static str, value: f64) {
        if !(0.0..=100.0).contains(&value) {
            self.report(field, format!("{value}% is not between 0% and 100%"));
        }
    }

    fn size(&mut self, field: &'static str, bytes: u32) {
        if bytes == 0 || bytes > SIZE_MAX {
            self.report(field, format!("{bytes} bytes is not between 1 byte and 64 MiB"));
        }
    }

    fn access(&mut self, access: &Access) {
        let count = access.rows.len();
        if count == 0 || count > ROWS_MAX {
            self.report("rows", format!("{count} rows; there must be 1 to {ROWS_MAX}"));
        }
        for (index, row) in access.rows.iter().enumerate() {
            self.row = (count > 1).then_some(index + 1);
            self.row(row, access);
        }
        self.row = None;
        let sum: f64 = access.rows.iter().map(|row| row.share).sum();
        // NaN fails too, and has been reported with its row.
        if count > 0 && (sum - 100.0).abs() > SHARES_TOLERANCE {
            self.report("share", format!("the shares sum to {sum}%, not to 100%"));
        }
        self.skew("skew", access.skew);
        if let Some(ladder) = access.ladder {
            self.ladder(ladder);
        }
    }

    fn row(&mut self, row: &Row, access: &Access) {
        if access.ladder.is_none() {
            self.size("size", row.size);
        }
        self.percent("share", row.share);
        self.percent("read", row.read);
        self.percent("trim", row.trim);
        self.percent("zeroes", row.zeroes);
        self.kinds(row);
        self.percent("random", row.random);
        if row.burst == 0 {
            self.report("burst", "a burst has at least 1 operation");
        }
        if !row.align.is_multiple_of(SECTOR) || row.align > SIZE_MAX {
            let align = row.align;
            self.report(
                "align",
                format!(
                    "{align} bytes is not a multiple of {SECTOR} up to 64 MiB; 0 aligns to the size"
                ),
            );
        }
        match (access.stride, access.ladder) {
            (None, _) => {}
            (Some(stride), None) => self.stride(stride, row.size, row.align),
            (Some(stride), Some(ladder)) => {
                ladder.sizes().for_each(|size| self.stride(stride, size, row.align));
            }
        }
    }

    /// Reads, trims and zeroes are shares of one whole, of which writes are the rest.
    fn kinds(&mut self, row: &Row) {
        let sum = row.read + row.trim + row.zeroes;
        if sum <= 100.0 + SHARES_TOLERANCE || row.trim + row.zeroes <= 0.0 {
            return;
        }
        let field = if row.trim > 0.0 { "trim" } else { "zeroes" };
        let most = 100.0 - row.trim - row.zeroes;
        let hint = match row.read {
            100.0 if most >= 0.0 => {
                format!(
                    "; without `read` all operations are reads: say `read = \"{most}%\"` or less"
                )
            }
            _ => String::new(),
        };
        self.report(
            field,
            format!(
                "{}% reads, {}% trims and {}% zeroes are {sum}% of the operations; they and writes share 100%{hint}",
                row.read, row.trim, row.zeroes
            ),
        );
    }

    /// A trace is checked when it is loaded; here only how it is replayed.
    fn trace(&mut self, trace: &TraceSpec, outstanding: u32) {
        if trace.file.is_empty() {
            self.report("file", "the trace's file is missing");
        }
        if !(trace.speed >= 1e-6 && trace.speed <= 1e6) {
            self.report("speed", format!("{} is not from 0.000001 to 1,000,000", trace.speed));
        }
        // Zero: as many as the trace had, once it is known.
        self.whole("depth", outstanding, 0, DEPTH_MAX);
    }

    /// A pass uses each address once, so that all operations have the same addresses to choose from.
    fn passes(&mut self, spec: &Spec) {
        if spec.passes == 0 {
            return;
        }
        let access = match &spec.kind {
            WorkloadKind::Access(access) => access,
            WorkloadKind::Transaction(_) => {
                return self.report(
                    "passes",
                    "transactions choose their pages by skew, some often and some never; limit them by `amount`",
                );
            }
        };
        let shapes = access.rows.iter().map(|row| (row.size, row.align));
        let first = access.rows.first().map(|row| (row.size, row.align));
        let all = |random: f64| access.rows.iter().all(|row| row.random == random);
        let problem = if spec.uniform_size().is_none()
            || shapes.into_iter().any(|s| Some(s) != first)
        {
            "a pass uses each block once, so that all operations have one size and one alignment; limit a mix of sizes \
             by `amount`"
        } else if !all(0.0) && !all(100.0) {
            "a pass is either sequential or random: give `random` 0% or 100%, or limit the load by `amount`"
        } else if access.skew != Skew::Uniform && all(100.0) {
            "a skew uses some blocks often and others never, a pass each once; remove `skew`, or limit the load by \
             `amount`"
        } else {
            return;
        };
        self.report("passes", problem);
    }

    /// Flushes and FUA are of writes.
    fn durability(&mut self, spec: &Spec) {
        let Durability { flush_every, fua } = spec.durability;
        self.percent("fua", fua);
        let writes = match &spec.kind {
            WorkloadKind::Access(access) => {
                access.rows.iter().any(|row| row.share > 0.0 && row.write() > 0.0)
            }
            WorkloadKind::Transaction(of) => of.table_pages > 0 && of.read < 100.0,
        };
        let asked = [("flush_every", flush_every > 0), ("fua", fua > 0.0)];
        for (field, _) in asked.into_iter().filter(|(_, asked)| *asked && !writes) {
            self.report(field, "the workload writes nothing; give `read` below 100%, or remove it");
        }
    }

    fn ladder(&mut self, ladder: Ladder) {
        self.size("ladder.from", ladder.from);
        self.size("ladder.to", ladder.to);
        if ladder.from >= ladder.to {
            let Ladder { from, to, .. } = ladder;
            self.report(
                "ladder",
                format!("it climbs from {from} to {to} bytes; `to` must be larger"),
            );
        }
        if ladder.factor < 2 {
            self.report(
                "ladder.factor",
                format!("{} does not climb; use 2 or more", ladder.factor),
            );
        }
        if ladder.every == 0 {
            self.report("ladder.every", "at least 1 operation is needed at each size");
        }
    }

    /// A stride keeps every operation's alignment and never overlaps the previous operation.
    fn stride(&mut self, stride: u64, size: u32, align: u32) {
        let align = if align == 0 { size } else { align };
        if stride < u64::from(size) {
            self.report(
                "stride",
                format!("{stride} bytes is less than an operation of {size} bytes"),
            );
        } else if align > 0 && !stride.is_multiple_of(u64::from(align)) {
            self.report(
                "stride",
                format!("{stride} bytes is not a multiple of the alignment of {align} bytes"),
            );
        }
    }

    fn skew(&mut self, field: &'static str, skew: Skew) {
        match skew {
            Skew::Uniform => {}
            Skew::Zipf(theta) if theta > 0.0 && theta < 2.0 => {}
            Skew::Zipf(theta) => self.report(
                field,
                format!("a zipf exponent of {theta} is not above 0 and below 2; 0.99 is usual"),
            ),
            Skew::Pareto(h) if h > 0.0 && h < 1.0 => {}
            Skew::Pareto(h) => self.report(
                field,
                format!("a pareto shape of {h} is not above 0 and below 1; 0.2 is 80/20"),
            ),
            Skew::HotSpot { accesses, blocks } => {
                self.percent(field, accesses);
                if !(blocks > 0.0 && blocks <= 100.0) {
                    self.report(
                        field,
                        format!("a hot part of {blocks}% is not above 0% and at most 100%"),
                    );
                }
            }
        }
    }

    fn rate(&mut self, value: f64, zero_allowed: bool) {
        let sound = (value > 0.0 && value <= RATE_MAX) || (zero_allowed && value == 0.0);
        if !sound {
            let least = if zero_allowed { "at least" } else { "above" };
            self.report(
                "rate",
                format!("{value} a second is not {least} 0 and at most {RATE_MAX}"),
            );
        }
    }

    fn process(&mut self, process: Process) {
        match process {
            Process::Fixed { rate } | Process::Poisson { rate } => self.rate(rate, false),
            Process::Ramp { from, to, .. } => {
                self.rate(from, true);
                self.rate(to, true);
                if from == 0.0 && to == 0.0 {
                    self.report("rate", "a ramp from 0 to 0 issues nothing");
                }
            }
            Process::Bursts { high, low, burst, pause } => {
                self.rate(high, false);
                self.rate(low, true);
                if low > high {
                    self.report("low", "more operations between bursts than in them");
                }
                let each = (high * burst.0 as f64 + low * pause.0 as f64) / 1e9;
                if burst < STATE_MIN || pause < STATE_MIN || each < ARRIVALS_MIN {
                    self.report("bursts", "a burst and a pause last 1 us at least each, and hold an operation in a thousand times together at least");
                }
            }
        }
    }

    fn transaction(&mut self, transaction: &Transaction) {
        self.size("page", transaction.page);
        if !(transaction.index > 0.0 && transaction.index < 100.0) {
            let index = transaction.index;
            self.report(
                "index",
                format!("{index}% is not above 0% and below 100% of the working set"),
            );
        }
        self.whole("index_pages", transaction.index_pages, 1, PAGES_MAX);
        self.whole("table_pages", transaction.table_pages, 1, PAGES_MAX);
        self.skew("index_skew", transaction.index_skew);
        self.skew("table_skew", transaction.table_skew);
        self.percent("read", transaction.read);
    }
}
