//! The kernel's own events of the block layer as its tracing prints them:
//! `dd-1250 [001] ..... 53185.902783: block_bio_queue: 7,14 RS 0 + 128 [dd]`.

use crate::blkparse::dir_of;
use crate::block::{BlockAction, BlockEvent, SECTOR};
use crate::numbers::decimal;
use clock::Ns;
use workload::Dir;

/// The event of a line with the name of its device; `None` for other lines.
pub fn ftrace_event(line: &str) -> Option<(BlockEvent, &str)> {
    let (head, event) = line.split_once(": block_")?;
    let (name, rest) = event.split_once(": ")?;
    let action = match name {
        "bio_queue" => BlockAction::Queue,
        "bio_backmerge" | "bio_frontmerge" => BlockAction::Merge,
        "rq_issue" => BlockAction::Issue,
        "rq_requeue" => BlockAction::Requeue,
        "split" => BlockAction::Split,
        "rq_complete" | "bio_complete" => BlockAction::Complete,
        _ => return None,
    };
    let at = decimal(head.rsplit(' ').next()?, 1_000_000_000)?;
    let task = head.split(" [").next()?;
    let pid = task.rsplit('-').next().and_then(|pid| pid.trim().parse().ok()).unwrap_or(0);
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    let [device, kind, ..] = words[..] else { return None };
    let mark = words.iter().position(|word| matches!(*word, "+" | "/"))?;
    let sector = words.get(mark.checked_sub(1)?)?.parse().ok()?;
    let sectors: u64 = match words[mark] {
        "+" => words.get(mark + 1)?.parse().ok()?,
        _ => 0,
    };
    let bytes = sectors.saturating_mul(SECTOR);
    let dir = dir_of(kind, bytes);
    let fua = dir == Some(Dir::Write) && kind.get(1..).is_some_and(|rest| rest.contains('F'));
    let last = words.last().copied().unwrap_or_default();
    let failed = action == BlockAction::Complete && last.starts_with('[') && last != "[0]";
    let at = Ns(at);
    Some((BlockEvent { at, action, dir, fua, device: 0, sector, bytes, pid, failed }, device))
}

/// How many events a line says were lost: `CPU:0 [LOST 123 EVENTS]`.
pub fn ftrace_lost(line: &str) -> Option<u64> {
    let lost = line.split_once("[LOST ")?.1;
    lost.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(u64, BlockAction, Option<Dir>, u64, u64, u32)>) {
        let found = ftrace_event(line).map(|(e, device)| {
            assert_eq!(device, "7,14");
            (e.at.0, e.action, e.dir, e.sector, e.bytes, e.pid)
        });
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn events_of_a_kernel() {
        use BlockAction::*;
        check(
            "              dd-1250    [001] ..... 53185.902783: block_bio_queue: 7,14 RS 0 + 128 [dd]",
            Some((53_185_902_783_000, Queue, Some(Dir::Read), 0, 65536, 1250)),
        );
        check(
            " a b-c [x]-77    [001] ..... 1.000001: block_rq_issue: 7,14 WFS 4096 () 8 + 8 be,0,4 [a b]",
            Some((1_000_001_000, Issue, Some(Dir::Write), 8, 4096, 0)),
        );
        check(
            "     ksoftirqd/1-22      [001] ..s.. 53185.912090: block_rq_complete: 7,14 FF () 18446744073709551615 + 0 none,0,0 [0]",
            Some((53_185_912_090_000, Complete, Some(Dir::Flush), u64::MAX, 0, 22)),
        );
        check(
            "     ksoftirqd/1-22      [001] d.s1. 53185.912095: block_rq_complete: 7,14 WS () 0 + 0 be,0,4 [0]",
            Some((53_185_912_095_000, Complete, None, 0, 0, 22)),
        );
        check(
            "  fio-9 [000] ..... 2.5: block_split: 7,14 D 4096 / 8192 [fio]",
            Some((2_500_000_000, Split, None, 4096, 0, 9)),
        );
        check("  fio-9 [000] ..... 2.5: block_plug: [fio]", None);
        check("CPU:0 [LOST 123 EVENTS]", None);
        assert_eq!(ftrace_lost("CPU:0 [LOST 123 EVENTS]"), Some(123));
        let failed =
            ftrace_event(" a-1 [000] ..... 2.5: block_rq_complete: 7,14 R () 0 + 8 none,0,0 [-5]");
        assert!(failed.unwrap().0.failed);
    }
}
