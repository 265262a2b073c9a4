//! vscsiStats' histograms: counts under limits, one direction and quantity each.

use crate::TraceError;
use crate::error::shown;
use crate::lines::Lines;
use std::io::Read;

/// One histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// What is counted: `IO lengths of Read commands`.
    pub what: String,
    /// Of which disk: world group and handle.
    pub disk: String,
    /// Smallest, largest and mean, and the number of all, where the file has them.
    pub min: Option<i64>,
    /// See above.
    pub max: Option<i64>,
    /// See above.
    pub mean: Option<f64>,
    /// See above.
    pub count: Option<u64>,
    /// Counts with the upper limit of their bucket; `None` is what is above all limits.
    pub buckets: Vec<(u64, Option<i64>)>,
}

impl Histogram {
    /// The number of values, by the buckets.
    pub fn total(&self) -> u64 {
        self.buckets.iter().map(|(count, _)| count).sum()
    }
}

/// All histograms of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histograms {
    /// In the order of the file.
    pub all: Vec<Histogram>,
}

impl Histograms {
    /// Whether a file that begins so is one.
    pub fn begins(head: &[u8]) -> bool {
        let text = String::from_utf8_lossy(head);
        let mut lines = text.lines().map(|line| line.trim_start_matches('\u{feff}').trim());
        lines.find(|line| !line.is_empty()).is_some_and(|line| line.starts_with("Histogram:"))
    }

    /// Reads them. The last limit is printed twice: its second count is of what is above.
    /// # Errors
    /// Where a line is none of such a file.
    pub fn read(input: impl Read) -> Result<Histograms, TraceError> {
        let mut lines = Lines::new(input);
        let mut found = Histograms::default();
        while let Some(line) = lines.next()?.map(|line| line.trim().to_owned()) {
            let place = lines.place();
            let wrong = |problem: String| TraceError::new(place, problem);
            if line.is_empty() {
                continue;
            }
            if let Some(title) = line.strip_prefix("Histogram:") {
                let (what, disk) = title.split_once(',').unwrap_or((title, ""));
                let (what, disk) = (what.trim().to_owned(), disk.trim().to_owned());
                if found.all.len() >= 1 << 16 {
                    return Err(wrong("more than 65,536 histograms".to_owned()));
                }
                found.all.push(Histogram { what, disk, ..Histogram::default() });
                continue;
            }
            let Some(histogram) = found.all.last_mut() else {
                return Err(wrong(format!("`{}` before the first histogram", shown(&line)))
                    .help("each begins with `Histogram: WHAT,DISK`"));
            };
            let (left, right) = line
                .split_once(',')
                .ok_or_else(|| wrong(format!("`{}` is no line of a histogram", shown(&line))))?;
            let number = |text: &str| {
                let wrong = || wrong(format!("`{}` is no number", shown(text)));
                text.trim().parse::<i64>().map_err(|_| wrong())
            };
            match left.trim() {
                "min" => histogram.min = Some(number(right)?),
                "max" => histogram.max = Some(number(right)?),
                "mean" => {
                    let mean = right.trim().parse::<f64>().ok().filter(|mean| mean.is_finite());
                    let problem = || wrong(format!("`{}` is no mean", shown(right)));
                    histogram.mean = Some(mean.ok_or_else(problem)?);
                }
                "count" => histogram.count = u64::try_from(number(right)?).ok(),
                "Frequency" => {}
                count => {
                    let count = u64::try_from(number(count)?)
                        .map_err(|_| wrong(format!("`{}` is no count", shown(&line))))?;
                    let limit = number(right.trim_start_matches([' ', '>', '<', '=']))?;
                    if histogram.buckets.len() >= 1 << 12 {
                        return Err(wrong("more than 4,096 buckets".to_owned()));
                    }
                    let again =
                        histogram.buckets.last().is_some_and(|(_, last)| *last == Some(limit));
                    histogram.buckets.push((count, (!again).then_some(limit)));
                }
            }
        }
        Ok(found)
    }
}
