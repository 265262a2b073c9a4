//! Targets that are reached by a scheme of URLs which this crate does not know, such as the LUNs of an array. Whoever
//! knows the scheme implements [`Resolver`], and the binary registers it ([`Schemes`]).
//!
//! A target that was found can be looked at and read. It can be written only through a [`Claim`], a claim is only taken
//! with a [`Warrant`], and only the write guard issues warrants.

use crate::Opener;
use crate::guard::{Medium, RemoteGrant, Warrant};
use record::Fact;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use thiserror::Error;

/// Finds what the URLs of a scheme lead to. It works on the control plane, where it may block for as long as it says.
pub trait Resolver: Send + Sync {
    /// Goes to a target and looks at it.
    fn find(&self, url: &str) -> Result<Arc<dyn Remote>, Unreachable>;

    /// A queue over these targets, in the order that I/Os number them. All were found by this resolver.
    fn opener(&self, targets: Vec<RemoteAccess>) -> Result<Box<dyn Opener>, Unreachable>;
}

/// Why a target cannot be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unreachable {
    /// The URL is none, or is of something that is not known.
    #[error("{0}")]
    Url(String),
    /// The way to it, or the target itself, fails.
    #[error("{0}")]
    Target(String),
}

/// A target that was found. Its bytes are read on the control plane as those of any [`Medium`].
pub trait Remote: Medium + Any + Send + Sync + fmt::Debug {
    /// What it is in words, with an article, its size in bytes included.
    fn what(&self) -> String;

    /// Its logical block in bytes, a power of two.
    fn block(&self) -> u32;

    /// What it is as far as it can be told, wherever it is reached: names and values in a fixed order. The token that
    /// names it is made of these, of its size and of its block.
    fn identity(&self) -> Vec<(&'static str, String)>;

    /// Its unit serial number, where it has one.
    fn serial(&self) -> Option<&str> {
        None
    }

    /// Reasons by which nobody may write to it, one sentence each, beside the reservations of others.
    fn forbids(&self) -> Vec<String>;

    /// What is worth knowing about it, for the record.
    fn facts(&self) -> Vec<(&'static str, String)>;

    /// The answer to PERSISTENT RESERVE IN; `None` where it knows no persistent reservations.
    fn persistent_reserve_in(&self, command: &[u8; 10]) -> io::Result<Option<Vec<u8>>>;

    /// The key of a reservation that is this process's own, or that was left by a process of this machine that is no
    /// more: it is not another's.
    fn is_ours(&self, key: u64) -> bool;

    /// Makes what was written survive a power cut.
    fn flush(&self) -> io::Result<()>;

    /// Takes it for writing, as exclusively as it can be taken, until the claim is dropped.
    fn claim(self: Arc<Self>, warrant: Warrant) -> io::Result<Arc<dyn Claim>>;
}

/// A target taken for writing. Dropping the last reference gives it back.
pub trait Claim: Any + Send + Sync + fmt::Debug {
    /// Writes all of `data`, which is whole logical blocks, at a byte offset.
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// How exclusive it is, in words.
    fn describe(&self) -> String;
}

/// One target of a queue.
#[derive(Clone, Debug)]
pub enum RemoteAccess {
    /// It is only read.
    Read(Arc<dyn Remote>),
    /// The guard has checked it for writing.
    Write(RemoteGrant),
}

impl RemoteAccess {
    /// The target.
    pub fn remote(&self) -> &Arc<dyn Remote> {
        match self {
            RemoteAccess::Read(remote) => remote,
            RemoteAccess::Write(grant) => grant.remote(),
        }
    }
}

/// The schemes that are known beside paths and `null:`, with who knows them.
#[derive(Clone, Default)]
pub struct Schemes(BTreeMap<&'static str, Arc<dyn Resolver>>);

impl Schemes {
    /// Adds a scheme, without its colon.
    #[must_use]
    pub fn with(mut self, scheme: &'static str, resolver: Arc<dyn Resolver>) -> Schemes {
        self.0.insert(scheme, resolver);
        self
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Who knows a scheme.
    pub(crate) fn get(&self, scheme: &str) -> Option<&Arc<dyn Resolver>> {
        self.0.get(scheme)
    }
}

impl fmt::Debug for Schemes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// What is worth knowing about a target, for the record.
pub(crate) fn facts_of(name: &str, url: &str, remote: &dyn Remote) -> Vec<Fact> {
    let fact = |(key, value): (&str, String)| Fact {
        subject: name.to_owned(),
        key: key.to_owned(),
        value,
    };
    [("url", url.to_owned()), ("kind", remote.what())]
        .into_iter()
        .chain(remote.facts())
        .map(fact)
        .collect()
}
