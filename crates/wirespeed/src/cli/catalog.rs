//! The arguments of `wirespeed catalog`.

use super::OutputArgs;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct CatalogArgs {
    #[command(subcommand)]
    pub action: Option<CatalogAction>,
    #[command(flatten)]
    pub own: OwnCatalogs,
    #[command(flatten)]
    pub output: OutputArgs,
}

impl CatalogArgs {
    /// The catalogs that were named, before or after the action.
    pub fn files(&self) -> &[PathBuf] {
        match &self.action {
            None => &self.own.catalog,
            Some(CatalogAction::Ls { own, .. } | CatalogAction::Show { own, .. }) => &own.catalog,
        }
    }
}

/// Catalogs of the user.
#[derive(Clone, Debug, Args)]
pub struct OwnCatalogs {
    /// A catalog of parts beside Wirespeed's own and those of ~/.config/wirespeed/catalog (repeatable)
    #[arg(long, value_name = "FILE")]
    pub catalog: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum CatalogAction {
    /// List parts: all of them (the default), of one kind, or with a text in name or model
    Ls {
        /// Text in the name, the model or the kind, in upper or lower case
        text: Option<String>,
        /// Only parts of this kind
        #[arg(long, value_enum)]
        kind: Option<PartFilter>,
        #[command(flatten)]
        own: OwnCatalogs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show a part: its figures with their sources, the simulator's defaults, and the other figures that it can have
    Show {
        /// The part's name
        part: String,
        #[command(flatten)]
        own: OwnCatalogs,
        #[command(flatten)]
        output: OutputArgs,
    },
}

/// Kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartFilter {
    Host,
    Hypervisor,
    VirtualScsi,
    Hba,
    Nic,
    Switch,
    Array,
    Disk,
    Tape,
}

impl From<PartFilter> for scenario::PartKind {
    fn from(kind: PartFilter) -> scenario::PartKind {
        match kind {
            PartFilter::Host => scenario::PartKind::Host,
            PartFilter::Hypervisor => scenario::PartKind::Hypervisor,
            PartFilter::VirtualScsi => scenario::PartKind::VirtualScsi,
            PartFilter::Hba => scenario::PartKind::Hba,
            PartFilter::Nic => scenario::PartKind::Nic,
            PartFilter::Switch => scenario::PartKind::Switch,
            PartFilter::Array => scenario::PartKind::Array,
            PartFilter::Disk => scenario::PartKind::Disk,
            PartFilter::Tape => scenario::PartKind::Tape,
        }
    }
}
