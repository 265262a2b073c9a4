//! Targets behind a URL scheme that this crate does not know, such as the LUNs of an array. A crate that knows the scheme
//! implements [`Resolver`], and the binary registers it ([`Schemes`]).

use crate::Opener;
use engine::RunSecret;
use guard::{Remote, RemoteGrant};
use record::Fact;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Finds what the URLs of a scheme lead to. It works on the control plane, where it may block for as long as it says.
pub trait Resolver: Send + Sync {
    /// Finds a target and identifies it. A user that its URL names proves itself with `secret`, where there is one.
    /// # Errors
    /// The URL is invalid, or the target cannot be reached.
    fn find(&self, url: &str, secret: Option<&RunSecret>) -> Result<Arc<dyn Remote>, Unreachable>;

    /// A queue over these targets, in the order that I/Os number them. All were found by this resolver.
    /// # Errors
    /// The targets cannot share a queue.
    fn opener(&self, targets: Vec<RemoteAccess>) -> Result<Box<dyn Opener>, Unreachable>;
}

/// Why a target is unavailable.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unreachable {
    /// The URL is none, or is of something that is not known.
    #[error("{0}")]
    Url(String),
    /// The way to it, or the target itself, fails.
    #[error("{0}")]
    Target(String),
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
