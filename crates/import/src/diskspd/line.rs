//! Command lines: one invocation a line, as in a batch file or a script.

use super::{Aim, Content, Limit, Span, distribution, size};
use crate::mistake::Mistakes;
use crate::note::Notes;
use std::ops::Range;

/// Invocations of a file at most.
const LINES_MAX: usize = 500;

/// Targets of an invocation or a time span at most.
pub(super) const TARGETS_MAX: usize = 100;

/// A word of a line with its place.
struct Word {
    text: String,
    span: Range<usize>,
}

/// The invocations of a file.
pub(super) fn spans(text: &str, notes: &mut Notes, mistakes: &mut Mistakes<'_>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    let mut carried: Vec<Word> = Vec::new();
    for line in text.split('\n') {
        let start = at;
        at += line.len() + 1;
        let content = line.trim();
        if carried.is_empty() && (content.is_empty() || is_remark(content)) {
            continue;
        }
        let goes_on =
            content.ends_with(" ^") || content.ends_with(" \\") || content.ends_with(" `");
        let line = if goes_on { line.trim_end().trim_end_matches(['^', '\\', '`']) } else { line };
        carried.extend(words(line, start));
        if goes_on {
            continue;
        }
        let words = std::mem::take(&mut carried);
        if spans.len() >= LINES_MAX {
            mistakes.add(start..start + 1, format!("more than {LINES_MAX} command lines"));
            break;
        }
        spans.extend(invocation(words, notes, mistakes));
    }
    if !carried.is_empty() {
        spans.extend(invocation(carried, notes, mistakes));
    }
    spans
}

fn is_remark(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    [
        "#", "rem ", "::", "//", "@echo", "echo", "@rem", "set ", "cd ", "mkdir ", "pause",
        "timeout ", "sleep ",
    ]
    .iter()
    .any(|mark| lower.starts_with(mark))
        || lower == "rem"
}

/// Words between blanks; quotes keep blanks.
fn words(line: &str, start: usize) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let (mut open, mut within) = (None::<char>, false);
    for (at, c) in line.char_indices() {
        match (c, open) {
            (c, Some(quote)) if c == quote => open = None,
            ('"' | '\'', None) => {
                open = Some(c);
                if !within {
                    words.push(Word { text: String::new(), span: start + at..start + at + 1 });
                    within = true;
                }
            }
            (c, None) if c.is_whitespace() => within = false,
            (c, _) => {
                if !within {
                    words.push(Word { text: String::new(), span: start + at..start + at });
                    within = true;
                }
                if let Some(word) = words.last_mut() {
                    word.text.push(c);
                    word.span.end = start + at + c.len_utf8();
                }
            }
        }
    }
    words
}

fn invocation(words: Vec<Word>, notes: &mut Notes, mistakes: &mut Mistakes<'_>) -> Option<Span> {
    let mut words = words.into_iter().peekable();
    while words
        .peek()
        .is_some_and(|word| word.text == "&" || word.text == "start" || word.text == "sudo")
    {
        words.next();
    }
    let first = words.peek()?;
    let line = mistakes.line(first.span.start);
    let program = first.text.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let whole = first.span.clone();
    match program.as_str() {
        "diskspd" | "diskspd.exe" => {
            words.next();
        }
        _ if option(&first.text).is_some() => {}
        _ => {
            mistakes.add(whole, format!("`{}` is no command line of diskspd", first.text));
            return None;
        }
    }
    let mut reader = Reader {
        span: Span { line, ..Span::default() },
        aim: Aim::default(),
        notes,
        mistakes,
        random: None,
        share: None,
        stride: None,
        bounds: Vec::new(),
        distribution: None,
        separation: None,
    };
    let mut paths: Vec<Word> = Vec::new();
    for word in words {
        match option(&word.text) {
            Some((letter, value)) => reader.option(letter, value, &word),
            // What follows goes to a file of results.
            None if word.text.starts_with('>')
                || word.text.starts_with("2>")
                || word.text == "|" =>
            {
                break;
            }
            None => paths.push(word),
        }
    }
    if paths.len() > TARGETS_MAX {
        reader.mistakes.add(whole, format!("more than {TARGETS_MAX} targets"));
        return None;
    }
    if paths.is_empty() {
        reader.mistakes.add(whole, "no target: name a file or a disk behind the options");
        return None;
    }
    reader.settle();
    let aims = paths.iter().map(|word| {
        let line = reader.mistakes.line(word.span.start);
        Aim { path: word.text.clone(), line, ..reader.aim.clone() }
    });
    let aims: Vec<Aim> = aims.collect();
    let mut span = reader.span;
    span.aims = aims;
    Some(span)
}

/// The letter of an option and what follows it. A slash begins one too, where it could not begin a path.
fn option(word: &str) -> Option<(char, &str)> {
    let rest = word.strip_prefix('-').or_else(|| {
        let rest = word.strip_prefix('/')?;
        let value = rest.get(1..)?;
        let plain = value.chars().all(|c| c.is_ascii_digit() || "KMGTbkmgt".contains(c));
        (plain && value.len() < 8 || rest.starts_with('S') && value.len() < 4).then_some(rest)
    })?;
    let letter = rest.chars().next()?;
    Some((letter, &rest[letter.len_utf8()..]))
}

struct Reader<'n, 'm, 't> {
    span: Span,
    aim: Aim,
    notes: &'n mut Notes,
    mistakes: &'m mut Mistakes<'t>,
    /// `-r` with its alignment, `-rs` with its share, `-s` with its stride: each with its word, to be told apart at the end.
    random: Option<(Option<String>, Range<usize>)>,
    share: Option<f64>,
    stride: Option<(Option<String>, Range<usize>)>,
    /// Sizes that may be in blocks, which are known at the end.
    bounds: Vec<(char, String, Range<usize>)>,
    distribution: Option<(String, Range<usize>)>,
    separation: Option<Range<usize>>,
}

const LETTERS: &str = "abBcCdDefFghiIjlLnNoOpPrRsStTvwWxXyzZ:";

impl Reader<'_, '_, '_> {
    fn wrong(&mut self, word: &Word, expected: &str) {
        self.mistakes.add(word.span.clone(), format!("`{}`: expected {expected}", word.text));
    }

    fn number(&mut self, value: &str, word: &Word, least: u64) -> u64 {
        match value.parse::<u64>().ok().filter(|n| *n >= least && *n <= 1 << 40) {
            Some(number) => number,
            None => {
                self.wrong(word, &format!("a whole number, {least} or more"));
                least.max(1)
            }
        }
    }

    fn option(&mut self, letter: char, value: &str, word: &Word) {
        let line = self.mistakes.line(word.span.start);
        self.notes.exact(line, &word.text);
        match letter {
            'b' => {
                match size(value, 1).filter(|block| *block > 0 && !value.ends_with(['b', 'B'])) {
                    Some(block) => self.aim.block = block,
                    None => self.wrong(word, "a size such as `-b4K`"),
                }
            }
            't' => self.aim.threads = self.number(value, word, 1),
            'o' => self.aim.outstanding = self.number(value, word, 1),
            'F' => self.span.total_threads = self.number(value, word, 1),
            'O' => self.span.per_thread = self.number(value, word, 1),
            'd' => self.span.duration_s = self.number(value, word, 1),
            'W' => self.span.warmup_s = self.number(value, word, 0),
            'C' => self.span.cooldown_s = self.number(value, word, 0),
            'i' => self.aim.burst = self.number(value, word, 1),
            'j' => self.aim.pause_ms = self.number(value, word, 1),
            'z' if value.is_empty() => {}
            'z' => self.span.seed = Some(self.number(value, word, 0)),
            'w' if value.is_empty() => self.aim.write = 0.0,
            'w' => match value.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share)) {
                Some(share) => self.aim.write = share,
                None => self.wrong(word, "a share from 0 to 100"),
            },
            'c' | 'B' | 'T' => self.bounds.push((letter, value.to_owned(), word.span.clone())),
            'f' if value.starts_with(|c: char| c.is_ascii_digit()) => {
                self.bounds.push(('f', value.to_owned(), word.span.clone()));
            }
            'f' if !value.is_empty() && value.chars().all(|c| "rst".contains(c)) => {}
            'g' => self.throttle(value, word),
            'r' => self.random(value, word),
            's' => self.sequential(value, word),
            'S' => self.caching(value, word),
            'h' => (self.aim.caching.unbuffered, self.aim.caching.write_through) = (true, true),
            'Z' => self.content(value, word),
            'X' => {
                let text = "`-X`: the load is in the profile; import that file";
                self.mistakes.add(word.span.clone(), text);
            }
            'p' => {
                let text =
                    "outstanding I/Os of a thread take blocks in turn, and not all the same one";
                self.notes.lost(line, &word.text, text);
            }
            'I' => drop(self.notes.lost(line, &word.text, "priorities of I/Os are not set")),
            'a' | 'n' => {
                self.notes.remark(line, &word.text, "processors are left to the scheduler")
            }
            'D' | 'e' | 'l' | 'L' | 'N' | 'P' | 'R' | 'v' | 'x' | 'y' | ':' => {}
            _ => {
                let known: Vec<String> = LETTERS.chars().map(|c| format!("-{c}")).collect();
                let given = format!("-{letter}");
                self.mistakes.unknown(
                    word.span.clone(),
                    "option",
                    &given,
                    known.iter().map(|k| &k[..]),
                );
            }
        }
    }

    fn throttle(&mut self, value: &str, word: &Word) {
        let (number, ios) = match value.strip_suffix('i') {
            Some(number) => (number, true),
            None => (value, false),
        };
        match number.parse::<f64>().ok().filter(|n| *n >= 0.0 && n.is_finite()) {
            Some(0.0) => self.aim.limit = None,
            Some(number) => {
                self.aim.limit = Some(if ios { Limit::Ios(number) } else { Limit::Bytes(number) });
            }
            None => {
                self.wrong(word, "bytes a millisecond such as `-g1024`, or IOPS such as `-g500i`")
            }
        }
    }

    fn random(&mut self, value: &str, word: &Word) {
        if let Some(share) = value.strip_prefix('s') {
            match share.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share)) {
                Some(share) => self.share = Some(share),
                None => self.wrong(word, "a share such as `-rs50`"),
            }
        } else if let Some(ranges) = value.strip_prefix('d') {
            self.distribution = Some((ranges.to_owned(), word.span.clone()));
        } else {
            let align = Some(value.to_owned()).filter(|value| !value.is_empty());
            self.random = Some((align, word.span.clone()));
        }
    }

    fn sequential(&mut self, value: &str, word: &Word) {
        let stride = match value.strip_prefix('i') {
            Some(rest) => {
                self.aim.interlocked = true;
                rest
            }
            None => value,
        };
        let stride = Some(stride.to_owned()).filter(|stride| !stride.is_empty());
        self.stride = Some((stride, word.span.clone()));
    }

    fn caching(&mut self, value: &str, word: &Word) {
        let caching = &mut self.aim.caching;
        if value.is_empty() {
            caching.unbuffered = true;
        }
        for flag in value.chars() {
            match flag {
                'b' => caching.unbuffered = false,
                'h' => (caching.unbuffered, caching.write_through) = (true, true),
                'u' => caching.unbuffered = true,
                'w' => caching.write_through = true,
                'm' => caching.mapped = true,
                'r' => caching.remote = true,
                _ => {
                    self.wrong(word, "`-S` with letters of b, h, m, r, u, w");
                    return;
                }
            }
        }
    }

    fn content(&mut self, value: &str, word: &Word) {
        self.aim.content = match value {
            "" => Content::Zero,
            "r" => Content::Random,
            value => {
                if size(value.split(',').next().unwrap_or_default(), self.aim.block).is_none() {
                    self.wrong(word, "`-Z`, `-Zr` or `-Z1M`");
                }
                Content::Random
            }
        };
    }

    /// What only all options together say.
    fn settle(&mut self) {
        let block = self.aim.block;
        for (letter, value, span) in std::mem::take(&mut self.bounds) {
            let (first, second) = match value.split_once(':') {
                Some((first, second)) if letter == 'B' => (first, Some(second)),
                _ => (&value[..], None),
            };
            let sizes = (size(first, block), second.map(|second| size(second, block)));
            let (Some(first), None | Some(Some(_))) = sizes else {
                self.mistakes
                    .add(span, format!("`-{letter}{value}`: expected a size such as `1G`"));
                continue;
            };
            match letter {
                'c' => self.aim.create = Some(first),
                'T' => (self.aim.thread_stride, self.separation) = (first, Some(span)),
                'f' => self.aim.length = Some(first.saturating_sub(self.aim.base)),
                _ => {
                    self.aim.base = first;
                    self.aim.length =
                        sizes.1.flatten().or(self.aim.length.map(|l| l.saturating_sub(first)));
                }
            }
        }
        let conflict = [
            (
                self.span.total_threads > 0 && self.aim.threads > 1,
                "`-F` and `-t` exclude each other",
            ),
            (self.span.per_thread > 0 && self.span.total_threads == 0, "`-O` needs `-F`"),
            (
                self.separation.is_some() && (self.random.is_some() || self.aim.interlocked),
                "`-T` excludes `-r` and `-si`",
            ),
            (self.aim.interlocked && self.share.is_some(), "`-si` excludes `-rs`"),
            ((self.aim.burst > 0) != (self.aim.pause_ms > 0), "`-i` and `-j` belong together"),
        ];
        for (_, text) in conflict.iter().filter(|(is, _)| *is) {
            let at = self.separation.clone().or(self.stride.as_ref().map(|s| s.1.clone()));
            self.mistakes.add(at.unwrap_or(0..1), *text);
        }
        // `-r` wins over `-s`.
        let (unit, random) = match (&self.random, self.share, &self.stride) {
            (Some(unit), share, _) => (Some(unit), share.unwrap_or(100.0)),
            (None, Some(share), stride) => (stride.as_ref(), share),
            (None, None, stride) => (stride.as_ref(), 0.0),
        };
        self.aim.random = random;
        if let Some((Some(text), span)) = unit {
            match size(text, block).filter(|size| *size > 0) {
                Some(size) => self.aim.align = Some(size),
                None => self.mistakes.add(span.clone(), format!("`{text}` is no size")),
            }
        }
        if let Some((text, span)) = self.distribution.take() {
            self.distributed(&text, span);
        }
    }

    fn distributed(&mut self, text: &str, span: Range<usize>) {
        let (absolute, ranges) = match (text.strip_prefix("pct"), text.strip_prefix("abs")) {
            (Some(ranges), _) => (false, ranges),
            (_, Some(ranges)) => (true, ranges),
            _ => {
                self.mistakes.add(span, "`-rd`: expected `-rdpct90/10:…` or `-rdabs90/10G:…`");
                return;
            }
        };
        let block = self.aim.block;
        let whole = self.aim.length.or(self.aim.create);
        let range = |range: &str| {
            let (accesses, extent) = range.split_once('/')?;
            let accesses: f64 = accesses.parse().ok()?;
            match absolute {
                true => Some((accesses, size(extent, block)? as f64 / whole? as f64 * 100.0)),
                false => Some((accesses, extent.parse::<f64>().ok()?)),
            }
        };
        let line = self.mistakes.line(span.start);
        let all: Option<Vec<(f64, f64)>> = ranges.split(':').map(range).collect();
        match all.and_then(|all| distribution(&all)) {
            Some((skew, near)) => {
                self.aim.skew = skew;
                if near {
                    let text = "the ranges are drawn together into a hot spot and the rest";
                    let said = self.notes.approximated(line, &format!("-rd{}", ranges), text);
                    self.aim.remarks.push(("skew", said));
                }
            }
            None if absolute && whole.is_none() => {
                self.mistakes.add(span, "`-rdabs` needs the size of the target by `-c` or `-f`");
            }
            None => self.mistakes.add(span, "`-rd`: shares and sizes must fit into 100%"),
        }
    }
}
