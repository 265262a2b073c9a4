//! The write grants of a run.

use crate::create::NewFile;
use crate::found::{MediumId, id};
use crate::{RemoteGrant, WriteGrant};
use rustix::fd::OwnedFd;
use rustix::fs::{Stat, fstat};
use rustix::io::Errno;

/// What a run may write without being asked again: files that it made where the file system keeps no marks, and what it
/// was granted. All are held open, so that nothing else can get their identity, and so that no other
/// program can claim a device between two steps.
#[derive(Debug, Default)]
pub struct Grants {
    made: Vec<(OwnedFd, MediumId)>,
    granted: Vec<(WriteGrant, MediumId)>,
    remote: Vec<(RemoteGrant, MediumId)>,
}

impl Grants {
    /// Remembers a file that was made in this process and could not be marked.
    /// # Errors
    ///
    /// The kernel's, where the file cannot be examined.
    pub fn keep_made(&mut self, file: NewFile) -> Result<(), Errno> {
        let fd = file.into_fd();
        let made = id(&fstat(&fd)?);
        self.made.push((fd, made));
        Ok(())
    }

    /// Remembers what was granted.
    pub(crate) fn keep(&mut self, grant: &WriteGrant) -> Result<(), Errno> {
        let granted = id(&fstat(grant)?);
        self.granted.push((grant.another()?, granted));
        Ok(())
    }

    /// The grant that was given for this before.
    pub(crate) fn granted(&self, stat: &Stat) -> Option<&WriteGrant> {
        let known = self.granted.iter().find(|(_, known)| *known == id(stat));
        known.map(|(grant, _)| grant)
    }

    /// Remembers a remote target that was granted by token.
    pub(crate) fn keep_remote(&mut self, grant: &RemoteGrant, remote: MediumId) {
        self.remote.push((grant.clone(), remote));
    }

    /// The grant that was given for a remote target before.
    pub(crate) fn granted_remote(&self, remote: MediumId) -> Option<&RemoteGrant> {
        let known = self.remote.iter().find(|(_, known)| *known == remote);
        known.map(|(grant, _)| grant)
    }

    /// Whether this process made the file.
    pub(crate) fn made(&self, stat: &Stat) -> bool {
        self.made.iter().any(|(_, known)| *known == id(stat))
    }
}
