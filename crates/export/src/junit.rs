//! The goals of a run as JUnit XML, which systems for continuous integration show: one test case a goal. What is undecided
//! fails, since nothing that is missing passes; a run without goals has one case, that it was completed.

use crate::xml::escaped;
use findings::{Analysis, GoalOutcome, Quantity, Status, Verdict};
use std::fmt::Write as _;

/// The document.
pub fn junit(analysis: &Analysis) -> String {
    let mut cases: Vec<(String, Option<(&str, String)>)> =
        analysis.goals.iter().map(|goal| (goal.name.clone(), problem(goal))).collect();
    let broken = matches!(analysis.verdict, Verdict::Incomplete { .. } | Verdict::Wrong { .. });
    if broken || cases.is_empty() {
        let why = analysis.run.incomplete().unwrap_or("read data that is not what was written");
        cases.insert(
            0,
            ("the run".to_owned(), broken.then(|| ("failed", format!("the run {why}")))),
        );
    }
    let failed = cases.iter().filter(|(_, problem)| problem.is_some()).count();
    let seconds: f64 = analysis.steps.iter().map(|step| step.measured_ns as f64 / 1e9).sum();
    let title = escaped(&analysis.run.title);
    let totals = format!(
        "tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\" time=\"{seconds:.3}\"",
        cases.len()
    );
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"wirespeed\" {totals}>\n"
    );
    // Writing to a text cannot fail.
    let _infallible = writeln!(
        out,
        "  <testsuite name=\"{title}\" {totals} timestamp=\"{}\">",
        crate::utc(analysis.run.wall_ns)
    );
    for (name, problem) in &cases {
        let head = format!("    <testcase classname=\"{title}\" name=\"{}\"", escaped(name));
        let _infallible = match problem {
            None => writeln!(out, "{head}/>"),
            Some((kind, why)) => {
                let why = escaped(why);
                writeln!(
                    out,
                    "{head}>\n      <failure type=\"{kind}\" message=\"{why}\">{why}</failure>\n    </testcase>"
                )
            }
        };
    }
    out + "  </testsuite>\n</testsuites>\n"
}

/// Why a goal is not met: the kind, and a sentence with the figures.
fn problem(goal: &GoalOutcome) -> Option<(&'static str, String)> {
    let kind = match goal.status {
        Status::Met => return None,
        Status::Failed => "failed",
        Status::Undecided => "undecided",
    };
    let mut why = goal.reason.clone();
    let figure = |name: &str, quantity: &Option<Quantity>| {
        quantity.as_ref().map(|quantity| format!("; {name} {quantity}")).unwrap_or_default()
    };
    why += &figure("required", &goal.required);
    why += &figure("observed", &goal.observed);
    if let Some(step) = &goal.step {
        why += &format!("; step {step}");
    }
    Some((kind, why))
}
