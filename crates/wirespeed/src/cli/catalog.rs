//! The arguments of `wirespeed catalog`.

use super::Output;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Catalog {
    #[command(subcommand)]
    pub action: Option<CatalogAction>,
    #[command(flatten)]
    pub own: OwnCatalogs,
    #[command(flatten)]
    pub output: Output,
}

impl Catalog {
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
    /// List parts: all of them (what no action means), of one kind, or with a text in name or model
    Ls {
        /// In the name, the model or the kind, in any case of letters
        text: Option<String>,
        /// Only parts of this kind
        #[arg(long, value_enum)]
        kind: Option<Kind>,
        #[command(flatten)]
        own: OwnCatalogs,
        #[command(flatten)]
        output: Output,
    },
    /// Show a part: its figures with their sources, what a simulation takes for others, and what else could be given
    Show {
        /// Its name
        part: String,
        #[command(flatten)]
        own: OwnCatalogs,
        #[command(flatten)]
        output: Output,
    },
}

/// Kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
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

impl From<Kind> for scenario::PartKind {
    fn from(kind: Kind) -> scenario::PartKind {
        match kind {
            Kind::Host => scenario::PartKind::Host,
            Kind::Hypervisor => scenario::PartKind::Hypervisor,
            Kind::VirtualScsi => scenario::PartKind::VirtualScsi,
            Kind::Hba => scenario::PartKind::Hba,
            Kind::Nic => scenario::PartKind::Nic,
            Kind::Switch => scenario::PartKind::Switch,
            Kind::Array => scenario::PartKind::Array,
            Kind::Disk => scenario::PartKind::Disk,
            Kind::Tape => scenario::PartKind::Tape,
        }
    }
}
