//! A calibration for people: figures with their intervals, then the undetermined ones, then every residual.

use ::calibrate::{Calibration, Fitted, FittedRange, StepResidual, UndeterminedFigure};
use std::time::Duration;

/// Residuals that are listed; the worst are among them, the rest is counted.
const RESIDUALS_MAX: usize = 60;
/// VMs that are written out.
const NAMES_MAX: usize = 2;

pub fn render(of: &Calibration) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        out.push_str(clean.trim_end());
        out.push('\n');
    };
    for run in &of.runs {
        let how = if run.simulated { "simulated" } else { "measured" };
        line(&format!("{}: {} ({how}; {} steps used)", run.name, run.title, run.steps));
    }
    line("");
    figures(&of.figures).iter().for_each(|text| line(text));
    if !of.left_out.is_empty() {
        line("");
        line("Left out, because the runs do not determine them:");
        of.left_out.iter().flat_map(left_out).for_each(|text| line(&text));
    }
    line("");
    fit(of).iter().for_each(|text| line(text));
    line("");
    residuals(&of.residuals).iter().for_each(|text| line(text));
    if !of.skipped.is_empty() {
        line("");
        line("Steps that were not used:");
        of.skipped.iter().for_each(|of| line(&format!("  {}: {}", of.step, of.why)));
    }
    if !of.warnings.is_empty() {
        line("");
        line("Warnings:");
        of.warnings.iter().for_each(|of| line(&format!("  {}", of.text)));
    }
    out
}

fn figures(all: &[Fitted]) -> Vec<String> {
    if all.is_empty() {
        return vec!["No figure was found.".to_owned()];
    }
    let name = |of: &Fitted| format!("{}.{}", of.part, of.figure);
    let width = all.iter().map(|of| name(of).chars().count()).max().unwrap_or(0).clamp(6, 48);
    let mut lines = vec![format!(
        "{:<width$} {:>14}  {:<28} {:>12}",
        "figure", "value", "95% interval", "before"
    )];
    for of in all {
        let before = of.before.as_deref().unwrap_or("-");
        let name = name(of);
        lines.push(format!("{name:<width$} {:>14}  {:<28} {before:>12}", of.value, of.interval));
        if of.one_sided {
            lines.push(format!("{:<width$}   (one end is known: beyond it, it shows no more)", ""));
        }
        if !of.only_with.is_empty() {
            let with = of.only_with.join(" and ");
            lines.push(format!(
                "{:<width$}   (only with {with}: the runs do not tell them apart)",
                ""
            ));
        }
    }
    lines
}

fn left_out(of: &UndeterminedFigure) -> Vec<String> {
    let taken = if of.given { "the part's own" } else { "an assumption" };
    vec![
        format!("  {}.{}: {}; taken for {}, {taken}", of.part, of.figure, of.why, of.taken),
        format!("    {}", of.next),
    ]
}

fn fit(of: &Calibration) -> Vec<String> {
    let fit = &of.fit;
    let mut lines = vec![format!(
        "{} observations that these figures matter to, {} degrees of freedom",
        count(fit.observations),
        count(fit.degrees_of_freedom.max(0.0))
    )];
    let mut text = format!(
        "error of the fit: {:.1}% in throughput, {:.1}% in latency",
        100.0 * fit.iops_error,
        100.0 * fit.latency_error
    );
    if let Some(excess) = fit.excess {
        text.push_str(&format!("; {excess:.1} times the scatter"));
    }
    lines.push(text);
    if fit.misfit > 0.0 {
        lines.push(format!(
            "the model itself is off by {:.1}% (standard deviation), which the intervals of costs include",
            100.0 * fit.misfit
        ));
    }
    if let Some(drift) = of.drift {
        lines.push(format!(
            "from round to round the machine differs by {:.1}% (standard deviation), which the intervals of costs include",
            100.0 * drift
        ));
    }
    lines.push(range(&of.range));
    lines
}

/// What was fitted to, in words.
fn range(of: &FittedRange) -> String {
    let mut text = format!("fitted to blocks of {} to {} B", of.block_min, of.block_max);
    if of.depth_max > 0 {
        text.push_str(&format!(", depths up to {}", of.depth_max));
    }
    if let Some(rate) = of.rate_max {
        text.push_str(&format!(", open loops up to {} a second", count(rate)));
    }
    text.push_str(&format!(
        ", and up to {} VMs; beyond it predictions are extrapolations",
        of.vms_max
    ));
    text
}

fn residuals(all: &[StepResidual]) -> Vec<String> {
    let shown = &all[..all.len().min(RESIDUALS_MAX)];
    let width = shown.iter().map(|of| name(of).chars().count()).max().unwrap_or(0).clamp(4, 56);
    let mut lines = vec![format!(
        "{:<width$} {:>10} {:>10} {:>7} {:>10} {:>10} {:>7}",
        "step", "IOPS", "fitted", "error", "latency", "fitted", "error"
    )];
    for of in shown {
        let mark = if of.informs { "" } else { "  not informative" };
        lines.push(format!(
            "{:<width$} {:>10} {:>10} {:>7} {:>10} {:>10} {:>7}{mark}",
            name(of),
            count(of.iops),
            count(of.iops_fitted),
            error(of.iops_error),
            time(of.latency),
            time(of.latency_fitted),
            error(of.latency_error),
        ));
    }
    if all.len() > shown.len() {
        lines.push(format!("and {} more: --format json has all", all.len() - shown.len()));
    }
    lines
}

fn name(of: &StepResidual) -> String {
    match of.vms.len() {
        n if n > NAMES_MAX => format!("{} · {n} VMs", of.step),
        _ => format!("{} · {}", of.step, of.vms.join(", ")),
    }
}

fn count(value: f64) -> String {
    units::count(value.round())
}

fn time(seconds: f64) -> String {
    units::duration(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
}

fn error(share: f64) -> String {
    format!("{:+.1}%", 100.0 * share)
}
