//! What a scenario may not mean as it is written: said by the dry run, and before a run.

use crate::out;
use scenario::{Goal, Scenario, Stage};

/// One sentence for each goal that would be judged in steps that a search overloads on purpose.
pub fn warnings(scenario: &Scenario, stages: &[Stage]) -> Vec<String> {
    let searched = |stage: &Stage| match stage {
        Stage::Search(hunt) => Some(hunt.base.plan.clone()),
        Stage::Step(_) => None,
    };
    let mut plans: Vec<String> = stages.iter().filter_map(searched).collect();
    plans.dedup();
    let warning = |goal: &Goal| {
        // A goal that selects by settings means some steps of a search, or none.
        let of_plan =
            |plan: &&String| goal.step.iter().all(|(key, value)| key == "plan" && value == *plan);
        let plan = plans.iter().find(of_plan)?;
        Some(format!(
            "the goal `{}` is judged in every step, and the search of `{plan}` overloads on purpose: give it `step`, \
             as in `step = {{ plan = \"…\", depth = 8 }}`",
            goal.name
        ))
    };
    scenario.goals.iter().filter_map(warning).collect()
}

/// The same on stderr, unless notes are not wanted.
pub fn warn(scenario: &Scenario, stages: &[Stage], quiet: bool) {
    if !quiet {
        warnings(scenario, stages)
            .iter()
            .for_each(|text| out::note(format_args!("warning: {text}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(plan: &str, step: &str, warned: bool) {
        let text = format!(
            "scenario.title = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n[workload.w]\nblock = \"8KiB\"\n\
             [[plan]]\nname = \"p\"\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n{plan}\n[[plan]]\nname = \"q\"\n\
             workload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n[[goal]]\nname = \"fast\"\n{step}\nlatency = {{ point = \"p99\", at_most = \"1ms\" }}\n"
        );
        let source = scenario::Source { name: "x".into(), text, ..scenario::Source::default() };
        let scenario = scenario::load(&source).unwrap_or_else(|e| panic!("{e}"));
        let told = warnings(&scenario, &scenario.stages());
        assert_eq!(!told.is_empty(), warned, "{told:?}");
        assert!(
            told.iter().all(|text| text.contains("`fast`") && text.contains("`p`")),
            "{told:?}"
        );
    }

    #[test]
    fn a_goal_over_a_search_is_warned_of() {
        let search = "search = { over = \"depth\" }";
        check(search, "", true);
        check(search, "step = { plan = \"p\" }", true);
        check(search, "step = { plan = \"q\" }", false);
        check("", "", false);
    }
}
