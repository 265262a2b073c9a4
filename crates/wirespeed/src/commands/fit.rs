//! `wirespeed fit TRACE`: a workload that is like a trace.

use super::traces::{self, drain};
use crate::cli::{FitArgs, Format};
use crate::exit::{Exit, Failure};
use crate::out;
use serde_json::{Value, json};
use std::path::Path;
use trace::{Figure, Fit, Fitter, Summary};

pub fn fit(args: &FitArgs) -> Result<Exit, Failure> {
    if args.file == Path::new("-") {
        return Err(Failure::usage("a fit reads its trace twice: give it a file"));
    }
    let open = || {
        let opened = traces::open(&args.file, args.program, &args.trace)?;
        opened.ok_or_else(|| {
            Failure::usage(format!(
                "{} is no trace that is known; `--as` says whose it is",
                args.file.display()
            ))
        })
    };
    let mut summary = Summary::default();
    let (devices, tally) = drain(&mut open()?, |io| {
        summary.add(&io);
        Ok(())
    })?;
    let facts = summary.finish(&devices, &tally);
    if facts.ios < 1000 {
        let few = facts.ios;
        return Err(Failure::usage(format!(
            "{few} I/Os are too few to describe: a fit needs 1,000"
        )));
    }
    let mut fitter = Fitter::new(facts);
    drain(&mut open()?, |io| {
        fitter.add(&io);
        Ok(())
    })?;
    let fit = fitter.finish();
    let scenario = fit.scenario(&args.file.display().to_string());
    let source = scenario::Source {
        name: "the fitted scenario".to_owned(),
        text: scenario.clone(),
        ..scenario::Source::default()
    };
    scenario::load(&source)?;
    match args.output.format {
        Format::Json => out::result(&format!("{:#}\n", document(&fit, &scenario)))?,
        Format::Text => {
            out::result(&scenario)?;
            if !args.output.quiet {
                fit.residual().iter().for_each(out::note);
            }
        }
    }
    Ok(Exit::Met)
}

fn document(fit: &Fit, scenario: &str) -> Value {
    let figure = |figure: Figure| json!({ "value": figure.value, "error": figure.error });
    let scales: Vec<Value> = fit
        .scales
        .iter()
        .map(|s| {
            json!({
                "window_ns": s.window.0, "dispersion": s.dispersion, "dispersion_fitted": s.fitted,
                "p99": s.p99, "p99_fitted": s.p99_fitted, "p99_poisson": s.p99_poisson,
            })
        })
        .collect();
    json!({
        "read_percent": figure(fit.read),
        "random_reads_percent": figure(fit.random[0]),
        "random_writes_percent": figure(fit.random[1]),
        "size": figure(fit.size),
        "rate": figure(fit.rate),
        "streams": fit.streams,
        "zipf": fit.zipf.map(|z| json!({
            "theta": z.theta, "theta_error": z.theta_error,
            "blocks": z.blocks, "blocks_error": z.blocks_error, "block": fit.unit,
        })),
        "bursts": fit.bursts.map(|b| json!({
            "high": b.high, "low": b.low, "burst_ns": b.burst.0, "pause_ns": b.pause.0,
        })),
        "evenly_spaced": fit.even,
        "scales": scales,
        "latency_s": fit.latency.map(figure),
        "closed": fit.closed().map(|(depth, think)| json!({ "depth": depth, "think_ns": think.0 })),
        "residual": fit.residual(),
        "scenario": scenario,
    })
}
