//! The workers of a step's jobs: which of them end, and who waits for whom.

use crate::draft::WorkerDraft;
use record::SourceId;
use scenario::Phase;
use scenario::crew::Copier;

/// A worker or a copy that ends: the name of its load, for which others wait, and its source.
pub(crate) type EndingWorker<'a> = (&'a str, SourceId);

/// Those of a step; `known` is the source of a worker or copy, by its name.
pub(crate) fn ending<'a>(
    drafts: &[WorkerDraft<'a>],
    copiers: &[Copier<'a>],
    known: impl Fn(&str) -> Option<SourceId>,
) -> Vec<EndingWorker<'a>> {
    let workers = drafts.iter().map(|draft| (draft.load.phase, draft.name.as_str()));
    let copies = copiers.iter().map(|copier| (copier.copy.phase, copier.name.as_str()));
    let ends = |(phase, worker): (Option<&'a Phase>, &str)| {
        let name = phase.filter(|phase| phase.ends())?.name.as_deref()?;
        Some((name, known(worker)?))
    };
    workers.chain(copies).filter_map(ends).collect()
}

/// The sources of those that a load waits for.
pub(crate) fn waits_for(
    phase: Option<&Phase>,
    ending: &[EndingWorker<'_>],
) -> impl Iterator<Item = SourceId> {
    let after = phase.map_or(&[][..], |phase| &phase.after[..]);
    ending.iter().filter(|(name, _)| after.iter().any(|of| of == name)).map(|(_, source)| *source)
}

/// Whether a load waits for others, or is one that others may wait for.
pub(crate) fn is_part(phase: Option<&Phase>) -> bool {
    phase.is_some_and(|phase| !phase.after.is_empty() || phase.ends() && phase.name.is_some())
}
