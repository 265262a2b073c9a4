//! The arguments of `target ls` and `target release`: the units of an array, wherever it is.

use super::OutputArgs;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = LUNS_HELP)]
pub struct Luns {
    /// The portal, `iscsi://[USER@]HOST[:PORT]`, or the URL of one target; of several portals the first that answers is used
    #[arg(value_name = "URL")]
    pub url: String,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = RELEASE_HELP)]
pub struct Release {
    /// The LUN, as a run names it: `iscsi://[USER@]HOST[:PORT]/TARGET/LUN`
    #[arg(value_name = "URL")]
    pub url: String,
    #[command(flatten)]
    pub output: OutputArgs,
}

const RELEASE_HELP: &str = "\
Only registrations of Wirespeed are removed, and of them none of a run that is alive on this machine.
A run on another machine cannot be seen from here: make sure that none uses the LUN.
Keys of other programs are left alone and listed; the exit code is then 4.

Example: wirespeed target release iscsi://192.0.2.1/iqn.2026-11.example:disk/0";

const LUNS_HELP: &str = "\
Where the URL names a user, the secret comes from the environment: WIRESPEED_CHAP_SECRET, or the
file that WIRESPEED_CHAP_SECRET_FILE names; that of the target, for mutual CHAP, from
WIRESPEED_CHAP_MUTUAL_SECRET (or _FILE). WIRESPEED_INITIATOR gives this initiator another name.

Example: wirespeed target ls iscsi://192.0.2.1";
