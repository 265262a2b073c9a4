//! What people see: reviews of records written by hand, as text.

use crate::support::{Sketch, Work};
use findings::Analysis;
use insta::assert_snapshot;
use record::{Level, Status};
use review::{Style, terminal};
use scenario::Step;
use unicode_width::UnicodeWidthStr;

const PLAIN: Style = Style { color: false, width: 100 };

/// A review without colour; no line is too long, and nothing in it could steer a terminal.
#[track_caller]
fn rendered(analysis: &Analysis) -> String {
    let text = terminal(analysis, PLAIN);
    for line in text.lines() {
        assert!(line.width() <= PLAIN.width, "{} columns: {line}", line.width());
        assert!(!line.chars().any(char::is_control), "{line:?}");
        assert_eq!(line, line.trim_end());
    }
    text
}

/// The review without sections that another test shows.
#[track_caller]
fn without(sections: &[&str], analysis: &Analysis) -> String {
    let text = rendered(analysis);
    let shown = |part: &&str| !sections.contains(&part.lines().next().unwrap_or_default());
    text.split("\n\n").filter(shown).collect::<Vec<_>>().join("\n\n")
}

fn depth(step: &Step) -> f64 {
    step.settings.iter().find(|(k, _)| k == "depth").map_or(1.0, |(_, v)| v.parse().unwrap())
}

/// A device that saturates: Gunther's law with a little contention.
fn saturating(step: &Step, _: &str) -> Work {
    let n = depth(step);
    let ops = 900.0 * n / (1.0 + 0.15 * (n - 1.0) + 0.0005 * n * (n - 1.0));
    Work { ops: ops as u64, service_ns: n / ops * 1e9, ..Work::default() }
}

fn one_file(plan: &str, rest: &str) -> String {
    format!(
        r#"
scenario.title = "Random reads from one file"
target = [{{ name = "data", file = "data.bin", create = "1GiB" }}]
[workload.reads]
block = "8KiB"
random = 100
{plan}
{rest}
"#
    )
}

const SWEEP: &str = r#"
[plan]
workload = "reads"
on = "data"
measure = "10s"
sweep = { depth = [1, 2, 4, 8, 16, 32, 64] }
"#;

const ONE: &str = r#"
[plan]
workload = "reads"
on = "data"
measure = "10s"
"#;

#[test]
fn a_normal_sweep() {
    let scenario = one_file(
        SWEEP,
        r#"
[[goal]]
step = { depth = 16 }
latency = { point = "p99", at_most = "5ms" }
[[goal]]
iops = { at_least = "700 IOPS" }
[[claim]]
step = { depth = 64 }
iops = "4600 IOPS"
relation = "about"
kind = "held-out"
"#,
    );
    let analysis = Sketch::of(&scenario)
        .fact("local", "kernel", "6.12.1")
        .fact("local", "cpu-model", "Example CPU 3.0 GHz")
        .fact("local", "cpu-count", "8")
        .fact("local", "memory", "32016 MiB")
        .fact("data", "file-system", "ext4")
        .fact("data", "model", "Example NVMe 1 TB")
        .fact("data/reads/0", "depth", "64")
        .analyse(saturating);
    assert_snapshot!(rendered(&analysis), @r#"
Random reads from one file
✔ All 2 goals are met.

Findings
  • knee at depth 16; from depth 32 to 64, 2.00 × the load, costs 1.4% (4,620 IOPS).
  • Peak throughput: 38.4 MB/s, 4,685 IOPS at depth 32, p99 13.7 ms (closed loop).
  • Knee over depth: 16 (within error, 8 to 16), 91% of the peak; from there to 64, 4.00 × the load
    brings 1.08 × the IOPS at 3.70 × the latency.
  • Generator: not the limit; overhead at most 2.0%.

Steps
  closed loop: latency is service time, from submission to completion
  depth   IOPS  total     p50     p99   p99.9     max  in flight  gen  IOPS
           1/s   MB/s      us      us      us      us       mean    %
      1    900   7.37   1,099   1,264   5,558   5,558      0.999  2.0  █▌
      2  1,563   12.8   1,265   1,454   6,398   6,398       2.00  2.0  ██▋
      4  2,472   20.3   1,599   1,840   8,090   8,090       4.00  2.0  ████▎
      8  3,464   28.4   2,284   2,626  11,551  11,551       8.00  2.0  █████▉
     16  4,272   35.0   3,703   4,260   7,492  18,727       16.0  2.0  ███████▎ knee
     32  4,685   38.4   6,754  13,664  34,177  34,177       32.0  2.0  ████████
     64  4,620   37.8  13,697  15,753  69,272  69,272       64.0  2.0  ███████▉

Goals
         goal                                     observed  where
  ✔ met  p99 service time at most 5 ms, depth=16   4.26 ms  depth 16
  ✔ met  IOPS at least 700 IOPS                   900 IOPS  depth 1

What was published
  Held out: 1 met, 0 missed, 0 undecided.
  for comparison; it never changes the verdict
         claim                                   published        ours  error
                                                                            %
  ✔ met  IOPS about 4,600 IOPS, depth=64  about 4,600 IOPS  4,620 IOPS   +0.4

Warnings
  · Closed loops in all 7 steps: latency is service time, and a stall of the target also stops the
    load.
    → To see what users of an independent load would see, set `rate` (an open loop).

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
local: Linux 6.12.1 · Example CPU 3.0 GHz · 8 CPUs · 32016 MiB
data: file-system ext4 · model Example NVMe 1 TB
"#);
}

#[test]
fn one_step() {
    let analysis =
        Sketch::of(&one_file(ONE, "")).analyse(|_, _| Work { ops: 1000, ..Work::default() });
    assert_snapshot!(rendered(&analysis), @r#"
Random reads from one file
• Measured; the scenario sets no goals.

Findings
  • 8.19 MB/s, 1,000 IOPS, p99 1.14 ms (closed loop).
  • Generator: not the limit; overhead at most 2.0%.

Steps
  closed loop: latency is service time, from submission to completion
   IOPS  total  p50    p99  p99.9    max  in flight  gen
    1/s   MB/s   us     us     us     us       mean    %
  1,000   8.19  988  1,138  2,001  5,001       1.00  2.0

Warnings
  · Closed loops in the step: latency is service time, and a stall of the target also stops the
    load.
    → To see what users of an independent load would see, set `rate` (an open loop).

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
"#);
}

#[test]
fn data_that_is_none() {
    let thin = "800 unwritten, 32 zero, 5 repeated of 1000 blocks of 4096 B over 1099511627776 B";
    let full = "0 unwritten, 0 zero, 0 repeated of 1000 blocks of 4096 B over 1099511627776 B";
    let scenario = one_file(ONE, "");
    let sketch = Sketch::of(&scenario).fact("data", "sample", thin);
    let analysis = sketch.fact("log", "sample", full).analyse(|_, _| Work::default());
    assert_snapshot!(rendered(&analysis), @r#"
Random reads from one file
• Measured; the scenario sets no goals.
! 83.2% of data (80.8% to 85.4%) holds nothing: reading unwritten data measures nothing; see the
  warnings.

Findings
  • 8.19 MB/s, 1,000 IOPS, p99 1.14 ms (closed loop).
  • Generator: not the limit; overhead at most 2.0%.
  • Data: none of 1,000 sampled blocks of log is unwritten, zero or repeated (with 95% confidence at
    most 0.4%).

Steps
  closed loop: latency is service time, from submission to completion
   IOPS  total  p50    p99  p99.9    max  in flight  gen
    1/s   MB/s   us     us     us     us       mean    %
  1,000   8.19  988  1,138  2,001  5,001       1.00  2.0

Warnings
  ! 832 of 1,000 sampled blocks of data hold nothing (83.2%; with 95% confidence 80.8% to 85.4%):
    800 were never written, 32 read as zeros.
    → Reading unwritten data measures nothing, because no device is asked for it: fill the target
      first (see `fill`), or read one that holds data.
  · Closed loops in the step: latency is service time, and a stall of the target also stops the
    load.
    → To see what users of an independent load would see, set `rate` (an open loop).
  · 5 of 1,000 sampled blocks of data equal others or repeat one pattern (0.50%; with 95% confidence
    0.20% to 1.20%).
    → Storage that finds duplicates keeps one copy and reads it from its cache: fill the target
      first (see `fill`), or read one whose data is like that of your application.

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
data: sample 800 unwritten, 32 zero, 5 repeated of 1000 bloc…
log: sample 0 unwritten, 0 zero, 0 repeated of 1000 blocks …
"#);
}

#[test]
fn goals_failed() {
    let scenario = one_file(
        SWEEP,
        r#"
[[goal]]
latency = { point = "p99", at_most = "5ms" }
[[goal]]
name = "Enough for the mail server"
iops = { at_least = "4000 IOPS" }
[[goal]]
errors = { at_most = 0 }
"#,
    );
    assert_snapshot!(without(&["Findings", "Steps", "Warnings"], &Sketch::of(&scenario).analyse(saturating)), @r#"
Random reads from one file
✘ Not met: 2 failed, 1 met of 3 goals.

Goals
            goal                           observed  where
  ✘ failed  p99 service time at most 5 ms   15.8 ms  depth 64
  ✘ failed  Enough for the mail server     900 IOPS  depth 1
  ✔ met     errors at most 0                      0  depth 1
  - p99 service time at most 5 ms: more than allowed (2 of 7 checks not met).
  - Enough for the mail server: less than required (4 of 7 checks not met).

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
"#);
}

#[test]
fn undecided() {
    let scenario = one_file(
        ONE,
        r#"
[[switch]]
name = "fabric"
[[goal]]
hop = "fabric"
read = { at_least = "90% of wire" }
[[goal]]
iops = { at_least = "100 IOPS" }
[[claim]]
iops = ["1000 IOPS", "1020 IOPS"]
kind = "held-out"
[[claim]]
total = "500 MB/s"
relation = "over"
kind = "calibration"
"#,
    );
    assert_snapshot!(without(&["Findings", "Steps", "Warnings"], &Sketch::of(&scenario).analyse(|_, _| Work::default())), @r#"
Random reads from one file
? Undecided: 1 undecided, 1 met of 2 goals.

Goals
               goal                                   observed  where
  ? undecided  read of fabric at least 90% of wire           -  the step
  ✔ met        IOPS at least 100 IOPS               1,000 IOPS  the step
  - read of fabric at least 90% of wire: the wire rate of hop fabric is not known; it is no port
    with a speed, and the record has no fact `wire-rate` of it.

What was published
  Held out: 0 met, 0 missed, 1 undecided. Calibration: 1.
  for comparison; it never changes the verdict
               claim                              published        ours  error
                                                                             %
  ? undecided  IOPS 1,000 IOPS or 1,020 IOPS     1,000 IOPS  1,000 IOPS   +0.0
                                                 1,020 IOPS               -2.0
  calibration  total over 500 MB/s            over 500 MB/s   8.19 MB/s  -98.4
  - IOPS 1,000 IOPS or 1,020 IOPS: it agrees under one reading of its unit or meaning and not under
    another.

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
"#);
}

#[test]
fn an_incomplete_run() {
    let scenario = one_file(SWEEP, "[[goal]]\niops = { at_least = \"700 IOPS\" }");
    let killed = |step: &Step, group: &str| {
        let seconds = if step.index == 2 { 4 } else { u64::MAX };
        Work { seconds, ..saturating(step, group) }
    };
    assert_snapshot!(rendered(&Sketch::of(&scenario).status(Status::Running).steps(3).analyse(killed)), @r#"
Random reads from one file
✘ Incomplete: the run did not end properly (it was killed, or is still going on); 1 undecided of 1
  goal.

Findings
  • Peak throughput: 20.3 MB/s, 2,472 IOPS at depth 4, p99 1.84 ms (closed loop).
  • from depth 1 to 2, 2.00 × the load, adds 74% (1,563 IOPS).
  • Knee over depth undecided: fewer than three points; sweep at least three values.
  • Generator: not the limit; overhead at most 2.0%.

Steps
  closed loop: latency is service time, from submission to completion
  depth   IOPS  total    p50    p99  p99.9    max  in flight  gen  IOPS
           1/s   MB/s     us     us     us     us       mean    %
      1    900   7.37  1,099  1,264  5,558  5,558      0.999  2.0  ██▉
      2  1,563   12.8  1,265  1,454  6,398  6,398       2.00  2.0  █████
      4  2,472   20.3  1,599  1,840  8,090  8,090       4.00  2.0  ████████

Goals
               goal                      observed  where
  ? undecided  IOPS at least 700 IOPS  2,472 IOPS  depth 4
  - IOPS at least 700 IOPS: data/reads/0 (agent sim) reported 40% of the measured time (5 of 7
    checks not met).

Warnings
  ✘ The run did not end properly (it was killed, or is still going on): 3 of 7 steps are in the
    record.
    → Run it again; figures of finished steps remain valid.
  ✘ 1 worker did not report the whole measured time in 1 of 3 steps (depth 4); the worst,
    data/reads/0, 40% of it.
    → Look for a lost agent or a worker that ended early; rates still divide by the step's whole
      time.
  · Closed loops in all 3 steps: latency is service time, and a stall of the target also stops the
    load.
    → To see what users of an independent load would see, set `rate` (an open loop).

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
"#);
}

const TWO_VMS: &str = r#"
scenario.title = "Two VMs read and write"
target = [{ name = "disk{1..2}", file = "disk{1..2}.bin", create = "1GiB" }]
vm = [{ name = "vm{1..2}", disks = [{ target = "disk{1..2}" }] }]
workload.mix = { block = "64KiB", read = 67, rate = "1000 IOPS" }
plan = { workload = "mix", on = "vm*", measure = "10s" }
[[goal]]
balance = { over = "vm*", within = "5%" }
[[goal]]
over = "vm1"
total = { at_least = "10 MB/s" }
"#;

#[test]
fn an_agent_lost() {
    let half = |_: &Step, group: &str| Work {
        seconds: if group == "vm2" { 3 } else { u64::MAX },
        block: 65536,
        read: 67,
        response: 1.2,
        ..Work::default()
    };
    let lost = "agent `b` was lost: it said nothing for 10 s. Its workers are missing from here on; \
                mend the cause and run again";
    let analysis = Sketch::of(TWO_VMS).event(Level::Error, "agent-lost", lost).analyse(half);
    assert_snapshot!(rendered(&analysis), @r#"
Two VMs read and write
✘ Incomplete: the run lost an agent; 1 undecided, 1 met of 2 goals.

Findings
  • 85.2 MB/s, 1,300 IOPS, p99 1.36 ms (open loop).
  • Balance over 2 VMs or targets: spread 108%, Jain's index 0.7752.
  • First done, last done: vm2/mix/0 finished after 5 s, vm1/mix/0 after 12 s of load; in between,
    the load was less than specified.
  • Generator: not the limit; overhead at most 2.0%.

Steps
  open loop: latency is response time, from the moment an operation was due
  offered   IOPS  total  read  write    p50    p99  p99.9    max  read p99  write p99  gen
      1/s    1/s   MB/s  MB/s   MB/s     us     us     us     us        us         us    %
    2,000  1,300   85.2  57.1   28.1  1,186  1,365  2,400  6,001     2,400      1,365  2.0

  Balance over VMs or targets that run the same workload
  n  mean  least       most       spread    Jain
     MB/s   MB/s       MB/s            %
  2  42.6   19.7  vm2  65.5  vm1     108  0.7752

Goals
               goal                              observed  where
  ? undecided  balance over vm* within 5%           53.8%  vm2, the step
  ✔ met        total over vm1 at least 10 MB/s  65.5 MB/s  the step
  - balance over vm* within 5%: vm2/mix/0 (agent sim) reported 30% of the measured time.

Warnings
  ✘ The run lost an agent: 1 of 1 steps are in the record.
    → Run it again; figures of finished steps remain valid.
  ✘ 1 worker did not report the whole measured time in the step; the worst, vm2/mix/0, 30% of it.
    → Look for a lost agent or a worker that ended early; rates still divide by the step's whole
      time.
  ✘ Agent `b` was lost: it said nothing for 10 s. Its workers are missing from here on; mend the
    cause and run again.

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
"#);
}

#[test]
fn zero_ios() {
    let scenario = one_file(ONE, "[[goal]]\nlatency = { point = \"p99\", at_most = \"5ms\" }");
    assert_snapshot!(rendered(&Sketch::of(&scenario).analyse(|_, _| Work { ops: 0, ..Work::default() })), @r#"
Random reads from one file
? Undecided: 1 undecided of 1 goal.

Findings
  • Generator: not the limit; overhead at most 2.0%.

Steps
  closed loop: latency is service time, from submission to completion
  IOPS  total  p50  p99  p99.9  max  in flight  gen
   1/s   MB/s   ns   ns     ns   ns       mean    %
     0      0    -    -      -    -          0  2.0

Goals
               goal                           observed  where
  ? undecided  p99 service time at most 5 ms         -  the step
  - p99 service time at most 5 ms: no operation completed.

Warnings
  ✘ No operation completed in the measured time in the step.
    → Check the target, and measure longer than its slowest operation takes.

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
"#);
}

#[test]
fn a_million_errors() {
    let scenario = one_file(ONE, "[[goal]]\nerrors = { at_most = 0 }");
    let analysis = Sketch::of(&scenario)
        .event(Level::Error, "io-error", "data/reads/0: first EIO of the step (Input/output error)")
        .analyse(|_, _| Work { errors: 100_000, ..Work::default() });
    assert_snapshot!(rendered(&analysis), @r#"
Random reads from one file
✘ Not met: 1 failed of 1 goal.

Findings
  • 8.19 MB/s, 1,000 IOPS, p99 1.14 ms (closed loop).
  • Generator: not the limit; overhead at most 2.0%.

Steps
  closed loop: latency is service time, from submission to completion
   IOPS  total     errors  p50    p99  p99.9    max  in flight  gen
    1/s   MB/s              us     us     us     us       mean    %
  1,000   8.19  1,000,000  988  1,138  2,001  5,001       1.00  2.0

Goals
            goal               observed  where
  ✘ failed  errors at most 0  1,000,000  the step
  - errors at most 0: more than allowed.

Warnings
  ✘ 1,000,000 of 1,010,000 operations failed (99%) in the step; excluded from latency.
    → See the events for the first error of each worker, and the kernel log of the host (dmesg).
  ✘ data/reads/0: first EIO of the step (Input/output error).
  · Closed loops in the step: latency is service time, and a stall of the target also stops the
    load.
    → To see what users of an independent load would see, set `rate` (an open loop).

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
"#);
}

#[test]
fn hostile_names() {
    let name = "vm\u{1b}[2J\u{202e}txt\u{0}.\u{200b}exe\nline";
    let analysis = Sketch::of(TWO_VMS)
        .title("\u{1b}]0;owned\u{7} 漢字のタイトル \u{1b}[31mred\u{1b}[0m")
        .rename("vm2", name)
        .fact("local\r\u{8}", "kernel", "6\u{9b}31m")
        .fact("long", "model", &"x".repeat(5000))
        .event(
            Level::Warning,
            "bad\u{1b}",
            "text with \u{1b}[5mblink\u{1b}[0m and \u{2067}bidi\u{2069}",
        )
        .analyse(|_, group| Work {
            ops: if group == "vm1" { 100 } else { 90 },
            read: 67,
            ..Work::default()
        });
    assert_snapshot!(rendered(&analysis), @r#"
\u001b]0;owned\u0007 漢字のタイトル \u001b[31mred\u001b[0m
✘ Not met: 1 failed, 1 undecided of 2 goals.

Findings
  • 1.56 MB/s, 190 IOPS, p99 1.13 ms (open loop).
  • Balance over 2 VMs or targets: spread 11%, Jain's index 0.9972.
  • Generator: not the limit; overhead at most 2.0%.

Steps
  open loop: latency is response time, from the moment an operation was due
  offered  IOPS  total  read  write  p50    p99  p99.9    max  read p99  write p99  in flight  gen
      1/s   1/s   MB/s  MB/s   MB/s   us     us     us     us        us         us       mean    %
    2,000   190   1.56  1.05  0.508  984  1,135  1,135  1,135     1,035      1,135      0.187  2.0

  Balance over VMs or targets that run the same workload
  n   mean  least                                                   most       spread    Jain
      MB/s   MB/s                                                   MB/s            %
  2  0.778  0.737  vm\u001b[2J\u202etxt\u0000.\u200bexe\u000aline  0.819  vm1      11  0.9972

Goals
               goal                              observed  where
  ? undecided  balance over vm* within 5%            100%  vm2, the step
  ✘ failed     total over vm1 at least 10 MB/s  0.82 MB/s  the step
  - balance over vm* within 5%: no worker ran for vm2.
  - total over vm1 at least 10 MB/s: less than required.

Warnings
  ! The offered load was not carried in the step: of 2,000 operations a second 190 were done
    (9.50%).
    → Response time then grows with the length of the step; offer less, or look for what limits.
  ! Text with \u001b[5mblink\u001b[0m and \u2067bidi\u2069.

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
local\u000d\u0008: Linux 6\u009b31m
long: model xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
"#);
}

#[test]
fn sixty_four_vms() {
    let scenario = TWO_VMS
        .replace("{1..2}", "{01..64}")
        .replace("rate = \"1000 IOPS\"", "depth = 4")
        .replace("vm1\"", "vm0*\"")
        .replace("measure = \"10s\"", "measure = \"5s\", sweep = { depth = [2, 4] }");
    let analysis = Sketch::of(&scenario).analyse(|step, group| {
        let n: u64 = group.trim_start_matches("vm").parse().unwrap();
        let ops = 100 + n % 7;
        Work {
            ops,
            block: 65536,
            read: 67,
            service_ns: depth(step) / ops as f64 * 1e9,
            ..Work::default()
        }
    });
    assert_snapshot!(rendered(&analysis), @r#"
Two VMs read and write
✔ All 2 goals are met.

Findings
  • Peak throughput: 432 MB/s, 6,590 IOPS at depth 2, p99 22.4 ms (closed loop).
  • from depth 2 to 4, 2.00 × the load, adds nothing (6,590 IOPS, 432 MB/s).
  • Knee over depth undecided: fewer than three points; sweep at least three values.
  • Balance over 64 VMs or targets: spread 5.8%, Jain's index 0.9996 in the least even step (depth
    4).
  • Generator: not the limit; overhead at most 2.0%.

Steps
  closed loop: latency is service time, from submission to completion
  depth   IOPS  total  read  write   p50   p99  p99.9   max  read p99  write p99  in flight  gen
           1/s   MB/s  MB/s   MB/s    ms    ms     ms    ms        ms         ms       mean    %
      2  6,590    432   292    140  19.2  22.4   22.7  22.7      20.5       22.6        126  2.0
      4  6,590    432   292    140  38.3  44.8   45.4  45.4      41.1       45.1        252  2.0

  Balance over VMs or targets that run the same workload
  depth   n  mean  least        most        spread    Jain
             MB/s   MB/s        MB/s             %
      2  64  6.75   6.55  vm07  6.95  vm62     5.8  0.9996
      4  64  6.75   6.55  vm07  6.95  vm62     5.8  0.9996

Goals
         goal                               observed  where
  ✔ met  balance over vm* within 5%            2.94%  vm62, depth 2
  ✔ met  total over vm0* at least 10 MB/s  60.6 MB/s  depth 2

Warnings
  · Closed loops in all 2 steps: latency is service time, and a stall of the target also stops the
    load.
    → To see what users of an independent load would see, set `rate` (an open loop).

wirespeed simulate · 2026-05-28 20:26 UTC · test.toml · seed 1
"#);
}

#[test]
fn colour_only_when_asked_and_every_escape_closed() {
    let analysis = Sketch::of(&one_file(SWEEP, "")).analyse(saturating);
    let plain = terminal(&analysis, PLAIN);
    assert!(!plain.contains('\u{1b}'));
    let coloured = terminal(&analysis, Style { color: true, width: 100 });
    for line in coloured.lines() {
        let closed = line.matches("\u{1b}[0m").count();
        assert_eq!(line.matches('\u{1b}').count(), 2 * closed, "{line:?}");
    }
    let mut bare = coloured.replace("\u{1b}[0m", "");
    for code in ["1", "2", "1;32", "1;31", "33", "36"] {
        bare = bare.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(bare, plain);
}

#[test]
fn every_width_is_kept() {
    let analysis =
        Sketch::of(TWO_VMS).analyse(|_, _| Work { errors: 1, read: 67, ..Work::default() });
    for width in [0, 60, 72, 80, 99, 100, 500] {
        let text = terminal(&analysis, Style { color: false, width });
        let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
        assert!(widest <= width.clamp(60, 100), "{widest} columns at {width}\n{text}");
    }
}

#[test]
fn json_is_the_analysis_with_its_version() {
    let analysis =
        Sketch::of(TWO_VMS).analyse(|_, _| Work { read: 67, block: 65536, ..Work::default() });
    let json = review::json(&analysis);
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "claims",
            "claims_summary",
            "contents",
            "goals",
            "map",
            "network",
            "plan_answers",
            "plan_comparisons",
            "plan_limits",
            "port_gains",
            "projections",
            "run",
            "scaled",
            "searches",
            "steps",
            "sweep_ends",
            "sweeps",
            "verdict",
            "verification",
            "version",
            "warnings"
        ]
    );
    assert_eq!(json["version"], 1);
    assert_eq!(json["verdict"]["kind"], "met");
    assert_eq!(json["goals"][1]["observed"]["unit"], "B/s");
    assert_eq!(json["steps"][0]["total"]["both"]["response"]["count"], 20_000);
    assert_eq!(json["steps"][0]["generator"]["limit"], "not-limited");
}

#[test]
fn wrong_data_is_told_first() {
    let scenario = one_file(ONE, "");
    let fault = "data (t.dat) at byte 40960 (block 80): a lost write; expected generation 7, found generation 6, written \
                 by data in step 1 at 2026-11-21 05:07:01.123456 UTC (checksum 0x1a2b3c4d, right)";
    let counters = &[
        ("verify-checked", 123_456.7),
        ("verify-written", 1_000.0),
        ("verify-unknown", 12.0),
        ("verify-lost", 0.2),
        ("verify-corrupt", 0.1),
        ("verify-blocks", 26_214.4),
        ("verify-blocks-known", 10_000.0),
        ("verify-blocks-seen", 9_999.7),
    ];
    let sketch = Sketch::of(&scenario).hop("counts", counters);
    let analysis = sketch.event(Level::Error, "verify-lost", fault).analyse(|_, _| Work::default());
    assert_snapshot!(head(&analysis), @r"
Random reads from one file
✘ Data was wrong.
✘ Verification: 1,234,567 blocks checked, 3 wrong: 2 lost, 1 corrupt.

Findings
  • 8.19 MB/s, 1,000 IOPS, p99 1.14 ms (closed loop).
  • Generator: not the limit; overhead at most 2.0%.
  • Verification: 10,000 blocks written, 1,234,567 blocks checked, 120 blocks read with unknown
    content; of the targets' 262,144 blocks 100,000 are known, 99,997 of them read since their last
    write.
");
}

#[test]
fn right_data_is_told_too() {
    let scenario = one_file(ONE, "");
    let right: &[(&str, f64)] = &[("verify-checked", 123_456.7), ("verify-written", 1_000.0)];
    let nothing: &[(&str, f64)] = &[("verify-checked", 0.0), ("verify-unknown", 7.0)];
    let of =
        |counters| Sketch::of(&scenario).hop("counts", counters).analyse(|_, _| Work::default());
    assert_snapshot!(head(&of(right)), @r"
Random reads from one file
• Measured; the scenario sets no goals.
✔ Verification: 1,234,567 blocks checked, none wrong.

Findings
  • 8.19 MB/s, 1,000 IOPS, p99 1.14 ms (closed loop).
  • Generator: not the limit; overhead at most 2.0%.
  • Verification: 10,000 blocks written, 1,234,567 blocks checked.
");
    assert_snapshot!(head(&of(nothing)), @r"
Random reads from one file
• Measured; the scenario sets no goals.
! Verification: no block was checked, because the expected content of the blocks read was unknown.

Findings
  • 8.19 MB/s, 1,000 IOPS, p99 1.14 ms (closed loop).
  • Generator: not the limit; overhead at most 2.0%.
  • Verification: 0 blocks checked, 70 blocks read with unknown content.
");
}

/// A review as far as its tables.
#[track_caller]
fn head(analysis: &Analysis) -> String {
    rendered(analysis).split("\nSteps\n").next().unwrap_or_default().to_owned()
}

/// Nobody testifies, nothing was measured, and every figure scatters.
#[test]
fn a_simulated_record_says_so_first() {
    let scenario = one_file(ONE, "");
    let analysis = Sketch::of(&scenario)
        .fact("run", "simulated", "yes")
        .fact("esx.hba", "assumed/latency", "1 us (not published)")
        .fact("ssd1.cache", "assumed/hit_share", "0% (nothing is known of it)")
        .confidence("iops", 980.0, 1020.0)
        .analyse(|_, _| Work { testifies: false, ..Work::default() });
    let text = rendered(&analysis);
    let first: Vec<&str> = text.lines().take(4).collect();
    assert_eq!(
        first,
        [
            "Random reads from one file",
            "• Simulated; the scenario sets no goals.",
            "• Simulated, not measured: by wirespeed simulate with seed 1; 2 figures of its lab are assumed.",
            "",
        ]
    );
    assert!(text.contains(" ±") && text.contains(" 2.0 "), "{text}");
    for absent in ["generator", "not published", "hit_share", "unknown", "cache or the device"] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
}
