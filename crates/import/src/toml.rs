//! Values as a scenario writes them, exactly.

/// Text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `"8KiB"`: the largest binary unit that divides it.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes, 0);
    while value > 0 && value % 1024 == 0 && unit + 1 < units.len() {
        value /= 1024;
        unit += 1;
    }
    format!("\"{value}{}\"", units[unit])
}

/// `70`, or `"0.5%"` where a plain number could be taken for a fraction.
pub(crate) fn percent(value: f64) -> String {
    let value = if value.abs() < 1e-9 { 0.0 } else { value };
    // Six digits, as many as a share of a mix can need.
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if value == 0.0 || value >= 2.0 && value.fract() == 0.0 {
        text.to_owned()
    } else {
        format!("\"{text}%\"")
    }
}

/// `"10s"`: the largest unit that divides it.
pub(crate) fn duration(us: u64) -> String {
    match us {
        0 => "\"0s\"".to_owned(),
        us if us.is_multiple_of(1_000_000) => format!("\"{}s\"", us / 1_000_000),
        us if us.is_multiple_of(1_000) => format!("\"{}ms\"", us / 1_000),
        us => format!("\"{us}us\""),
    }
}

/// Operations a second.
pub(crate) fn rate(ops: f64) -> String {
    if ops.fract() == 0.0 && ops < 1e12 {
        format!("{ops:.0}")
    } else {
        format!("\"{} IOPS\"", format!("{ops:.3}").trim_end_matches('0').trim_end_matches('.'))
    }
}
