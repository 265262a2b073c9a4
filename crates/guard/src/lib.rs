//! The write guard: what a medium holds, who uses it, and who may write to it. It knows no targets, no filling, no
//! queues and no engines: those ask it, and nothing is written without its permission, a [`WriteGrant`] or, for a
//! target that is reached by a protocol, a [`RemoteGrant`].
//!
//! Writing is granted for a regular file that Wirespeed made ([`NewFile`]) and marked, while it holds nothing else
//! (`ownership/`), for a volume that it serves for this run alone (`claim.rs`, `made.rs`), and for what the user names with its token
//! (`token.rs`). A second flag gives up what is found there (`signatures/`, `samples.rs`); nothing helps against a use by
//! others (`uses.rs`, `loops.rs`, `openers.rs`, `locks.rs`, `reservations/`, and the kernel's exclusive open). The checks
//! are made on the opened descriptor, which the grant keeps, locked (`hold.rs`): no race.
//!
//! # Invariant
//!
//! Only this crate can make a grant, and what it opens for others without one can only be read. A grant cannot be built
//! from outside, and neither can the warrant that a claim is taken with:
//!
//! ```compile_fail,E0451
//! fn forged(fd: rustix::fd::OwnedFd) -> guard::WriteGrant {
//!     guard::WriteGrant { fd, ..unreachable!() }
//! }
//! ```
//!
//! ```compile_fail,E0423
//! fn forged() -> guard::Warrant {
//!     guard::Warrant(())
//! }
//! ```

mod claim;
mod create;
mod dying;
mod examine;
mod found;
mod grant;
mod grants;
mod hold;
mod locks;
mod loops;
mod made;
mod media;
mod openers;
mod ownership;
mod reservations;
mod results;
mod samples;
mod signatures;
mod token;
mod uses;

pub use claim::{
    Remote, RemoteGrant, RemoteOperations, Warrant, WriteClaim, may_write_remote, remote_id,
};
pub use create::NewFile;
pub use examine::{Examined, examine, examine_remote};
pub use found::{MediumId, PathTarget, reopen_to_read};
pub use grant::{GrantError, WriteGrant, WriteRequest, may_write};
pub use grants::Grants;
pub use media::ReadableMedium;
pub use ownership::{FilePurpose, made_file, own_file, stamp};
pub use results::{are_results, mark_results};
