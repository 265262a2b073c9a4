//! Who used the processors of a host that limits: this run, or other programs beside it.
//!
//! A host counts how long its processors were busy, whoever kept them so. Workers and embedded arrays say how much of that was
//! theirs; the rest is of other programs and of the kernel's own threads. It is told only where a host is named as the limit,
//! and only where one host counts and all workers run on it: otherwise the rest is not known.

use crate::attribution::Limiter;
use crate::figures::StepFigures;
use crate::served::BOOT;
use crate::step::StepData;
use crate::warnings::{Severity, Warning};
use record::{CounterId, Fact, HopKind, Source};
use std::collections::BTreeSet;
use units::percent;

/// Share of a host's processors from which others are said to use them.
const TOLD_FROM: f64 = 0.1;

/// Share from which processors are full.
const FULL_FROM: f64 = 0.9;

/// An agent, and all others of its machine, which is counted by one of them.
fn agents_beside<'a>(facts: &'a [Fact], agent: &'a str) -> BTreeSet<&'a str> {
    let boots = || facts.iter().filter(|fact| fact.key == BOOT);
    let own = boots().find(|fact| fact.subject == agent).map(|fact| fact.value.as_str());
    let beside = boots().filter(|fact| Some(fact.value.as_str()) == own);
    beside.map(|fact| fact.subject.as_str()).chain([agent]).collect()
}

/// The processors of one host in one step, as shares of all their time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SharedCpu {
    step: u32,
    hop: String,
    own: f64,
    others: f64,
}

impl SharedCpu {
    /// What a step tells of them; `None` where it is not known whose time it was, or others used little.
    pub fn of(
        step: &StepData,
        figures: &StepFigures,
        (facts, sources): (&[Fact], &[Source]),
    ) -> Option<SharedCpu> {
        let counted = |source: &&Source| {
            source.hop() == Some(HopKind::HostCpu)
                && step.integrals.amount(source.id, CounterId::CpuBusy).is_some()
        };
        let mut hosts = sources.iter().filter(counted);
        let (host, None) = (hosts.next()?, hosts.next()) else { return None };
        let here = agents_beside(facts, &host.agent);
        let seconds = step.integrals.seconds();
        let processors = step.integrals.mean(host.id, CounterId::CpuCount)?;
        let (mut own, mut is_here) = (0.0, !step.workers.is_empty());
        for worker in &step.workers {
            is_here &= here.contains(worker.source.agent.as_str());
            let said = worker.testimony.as_ref()?;
            own += said.cpu_user.plus(said.cpu_system).as_secs_f64();
        }
        let arrays = sources.iter().filter(|source| source.hop().is_some());
        let arrays = arrays.filter_map(|of| step.integrals.amount(of.id, CounterId::Cpu));
        let own = own + arrays.sum::<f64>() / 1e9;
        let busy = step.integrals.amount(host.id, CounterId::CpuBusy)? / 1e9;
        let all = processors * seconds;
        let (own, others) = (own / all, (busy - own) / all);
        let told = is_here && others.is_finite() && others >= TOLD_FROM;
        let (step, hop) = (figures.index, host.name.clone());
        told.then(|| SharedCpu { step, hop, own, others: others.min(1.0) })
    }

    fn limits(&self, steps: &[StepFigures]) -> bool {
        let step = steps.iter().find(|step| step.index == self.step);
        step.and_then(|step| step.attribution.as_ref()).is_some_and(|found| match &found.limit {
            Limiter::Hop { hop, also, .. } => *hop == self.hop || also.contains(&self.hop),
            Limiter::Two { first, second } => *first == self.hop || *second == self.hop,
            // It says nothing of processors that are idle.
            Limiter::Generator => self.own + self.others >= FULL_FROM,
            _ => false,
        })
    }
}

/// The warning about the steps whose limit others helped to reach.
pub(crate) fn warning(seen: &[SharedCpu], steps: &[StepFigures]) -> Option<Warning> {
    let of: Vec<&SharedCpu> = seen.iter().filter(|shared| shared.limits(steps)).collect();
    let worst = of.iter().max_by(|a, b| a.others.total_cmp(&b.others))?;
    let whole = |share: f64| percent((share * 100.0).round());
    let at = match (of.len(), steps.len()) {
        (_, 1) => String::new(),
        (n, all) if n == all => format!(" in all {all} steps"),
        (n, all) => format!(" in {n} of {all} steps"),
    };
    let up_to = if of.len() > 1 { "up to " } else { "" };
    let text = format!(
        "other programs used {up_to}{} of this host's CPU ({}){at}, Wirespeed {}: it limits, but not by this load alone",
        whole(worst.others),
        worst.hop,
        whole(worst.own)
    );
    Some(Warning {
        code: "other-programs".to_owned(),
        severity: Severity::Warning,
        text,
        next: "end other programs on this machine and run again; `top` names them. Work of the kernel's own threads, as for a \
               loop device, counts among them"
            .to_owned(),
        steps: of.iter().map(|shared| shared.step).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_of_one_machine_are_known_by_its_boot() {
        let fact = |agent: &str, boot: &str| Fact {
            subject: agent.to_owned(),
            key: BOOT.to_owned(),
            value: boot.to_owned(),
        };
        let facts = [fact("a", "5e2c"), fact("b", "77aa"), fact("c", "5e2c")];
        let beside =
            |agent: &str| agents_beside(&facts, agent).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(
            (beside("a"), beside("b"), beside("local")),
            ("a c".into(), "b".into(), "local".into())
        );
    }
}
