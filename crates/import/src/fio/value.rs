//! Values of fio's options: sizes with its suffixes, times, lists by direction, splits, arithmetic.

/// What a suffix of a size multiplies with. With `kb_base` 1024, fio's default, `k` and `kb` are binary and `kib` is decimal;
/// with 1000 the other way round.
fn factor(suffix: &str, kb_base: u64) -> Option<u64> {
    let other = if kb_base == 1024 { 1000u64 } else { 1024 };
    let (power, base) = match suffix {
        "" | "b" => (0, 1),
        "k" | "kb" => (1, kb_base),
        "m" | "mb" => (2, kb_base),
        "g" | "gb" => (3, kb_base),
        "t" | "tb" => (4, kb_base),
        "p" | "pb" => (5, kb_base),
        "kib" => (1, other),
        "mib" => (2, other),
        "gib" => (3, other),
        "tib" => (4, other),
        "pib" => (5, other),
        _ => return None,
    };
    base.checked_pow(power)
}

/// Digits (decimal, or hexadecimal behind `0x`) and what follows them.
fn number(text: &str) -> Option<(u64, &str)> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(rest) => (rest, 16),
        None => (text, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    Some((u64::from_str_radix(&digits[..end], radix).ok()?, &digits[end..]))
}

/// Bytes: `4k`, `1m`, `512`, `0x1000`, `(4*1024)`.
pub(super) fn bytes(text: &str, kb_base: u64) -> Option<u64> {
    let text = text.trim();
    if text.starts_with('(') {
        let value = arithmetic(text, &|suffix| factor(suffix, kb_base).map(|f| f as f64))?;
        return (0.0..9e18).contains(&value).then_some(value as u64);
    }
    let (value, suffix) = number(text)?;
    value.checked_mul(factor(&suffix.trim().to_ascii_lowercase(), kb_base)?)
}

/// A whole number; fio takes the suffixes of sizes there too.
pub(super) fn int(text: &str, kb_base: u64) -> Option<u64> {
    bytes(text, kb_base)
}

/// A time in microseconds; `unit` is what a number without a suffix counts, in microseconds.
pub(super) fn time(text: &str, unit: u64) -> Option<u64> {
    let scale = |suffix: &str| -> Option<u64> {
        Some(match suffix {
            "" => unit,
            "us" | "usec" => 1,
            "ms" | "msec" => 1_000,
            "s" | "sec" => 1_000_000,
            "m" => 60_000_000,
            "h" => 3_600_000_000,
            "d" => 86_400_000_000,
            _ => return None,
        })
    };
    let text = text.trim();
    if text.starts_with('(') {
        let value = arithmetic(text, &|suffix| scale(suffix).map(|s| s as f64 / unit as f64))?;
        let us = value * unit as f64;
        return (0.0..9e15).contains(&us).then_some(us as u64);
    }
    let (value, suffix) = number(text)?;
    value.checked_mul(scale(&suffix.trim().to_ascii_lowercase())?)
}

/// A value for reads and one for writes: `4k` is both, `4k,8k` one each, `,8k` only writes. The third, of trims, is dropped.
pub(super) fn directions(text: &str) -> [Option<&str>; 2] {
    let mut parts = text.split(',').map(str::trim);
    let read = parts.next().unwrap_or_default();
    match parts.next() {
        None => [Some(read), Some(read)],
        Some(write) => [
            Some(read).filter(|part| !part.is_empty()),
            Some(write).filter(|part| !part.is_empty()),
        ],
    }
}

/// Entries of `a/b:c/d`: each with a share in percent where one is given. What is missing is dealt out evenly, in whole
/// percents as fio does it; the last by share takes what is left.
pub(super) fn split(text: &str) -> Result<Vec<(&str, f64)>, String> {
    let mut entries: Vec<(&str, Option<u32>)> = Vec::new();
    for entry in text.split(':') {
        let (value, share) = match entry.split_once('/') {
            Some((value, share)) if !share.trim().is_empty() => {
                let share = share.trim().trim_end_matches('%');
                let share: u32 = share.parse().map_err(|_| format!("`{share}` is no share"))?;
                (value, Some(share))
            }
            Some((value, _)) => (value, None),
            None => (entry, None),
        };
        entries.push((value.trim(), share));
    }
    if entries.len() > 256 {
        return Err("more than 256 entries".to_owned());
    }
    let given: u64 = entries.iter().filter_map(|(_, share)| *share).map(u64::from).sum();
    let missing = entries.iter().filter(|(_, share)| share.is_none()).count() as u64;
    if given > 100 {
        return Err(format!("the shares add up to {given}%, more than 100%"));
    }
    let each = (100 - given).checked_div(missing).unwrap_or(0);
    let mut shares: Vec<(&str, f64)> = entries
        .iter()
        .map(|(value, share)| (*value, share.map_or(each as f64, f64::from)))
        .collect();
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    if sum <= 0.0 {
        return Err("the shares add up to 0%".to_owned());
    }
    // fio sorts by share, and what no share covers falls to the last.
    let least = shares.iter().filter(|(_, s)| *s > 0.0).map(|(_, s)| *s).fold(f64::MAX, f64::min);
    if let Some(last) = shares.iter_mut().rev().find(|(_, share)| *share == least) {
        last.1 += 100.0 - sum;
    }
    shares.retain(|(_, share)| *share > 0.0);
    Ok(shares)
}

/// Sums, products and powers in brackets, with suffixes behind numbers.
fn arithmetic(text: &str, suffix: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut reader = Arithmetic { rest: text.trim(), suffix, depth: 0 };
    let value = reader.sum()?;
    (reader.rest.is_empty() && value.is_finite()).then_some(value)
}

struct Arithmetic<'a> {
    rest: &'a str,
    suffix: &'a dyn Fn(&str) -> Option<f64>,
    depth: u32,
}

impl Arithmetic<'_> {
    fn take(&mut self, wanted: char) -> bool {
        match self.rest.trim_start().strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.power()?;
        loop {
            if self.take('*') {
                value *= self.power()?;
            } else if self.take('/') {
                value /= self.power()?;
            } else if self.take('%') {
                value %= self.power()?;
            } else {
                return Some(value);
            }
        }
    }

    fn power(&mut self) -> Option<f64> {
        let value = self.atom()?;
        if self.take('^') {
            self.depth += 1;
            let exponent = (self.depth < 32).then(|| self.power())??;
            self.depth -= 1;
            return Some(value.powf(exponent));
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<f64> {
        if self.take('(') {
            self.depth += 1;
            let value = (self.depth < 32).then(|| self.sum())??;
            self.depth -= 1;
            return self.take(')').then_some(value);
        }
        if self.take('-') {
            self.depth += 1;
            let value = (self.depth < 32).then(|| self.atom())??;
            self.depth -= 1;
            return Some(-value);
        }
        let end =
            self.rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(self.rest.len());
        let value: f64 = self.rest[..end].parse().ok()?;
        let rest = &self.rest[end..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let scale = match &rest[..letters] {
            "" => 1.0,
            word => (self.suffix)(&word.to_ascii_lowercase())?,
        };
        self.rest = rest[letters..].trim_start();
        Some(value * scale)
    }
}
