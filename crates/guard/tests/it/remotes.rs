//! Targets behind a protocol: the same rules, and a claim in the place of the exclusive open.

use guard::{
    GrantError, Grants, ReadableMedium, Remote, RemoteGrant, Warrant, WriteClaim, WriteRequest,
};
use guard::{examine_remote, may_write_remote};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A LUN in memory.
#[derive(Debug, Default)]
struct Lun {
    bytes: Vec<u8>,
    forbidden: Option<&'static str>,
    of_others: bool,
    claims: AtomicU32,
}

#[derive(Debug)]
struct Taken;

impl ReadableMedium for Lun {
    fn size(&self) -> u64 {
        self.bytes.size()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.bytes.read_at(offset, out)
    }
}

impl Remote for Lun {
    fn what(&self) -> String {
        format!("a LUN of {} bytes", self.bytes.len())
    }

    fn block(&self) -> u32 {
        512
    }

    fn identity(&self) -> Vec<(&'static str, String)> {
        vec![("naa", "naa.600".to_owned())]
    }

    fn serial(&self) -> Option<&str> {
        Some("run-7")
    }

    fn is_made_for_a_run(&self) -> bool {
        !self.of_others
    }

    fn forbids(&self) -> Vec<String> {
        self.forbidden.iter().map(|why| (*why).to_owned()).collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn persistent_reserve_in(&self, _command: &[u8; 10]) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn is_ours(&self, _key: u64) -> bool {
        false
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn claim(self: Arc<Self>, _warrant: Warrant) -> io::Result<Arc<dyn WriteClaim>> {
        self.claims.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Taken))
    }
}

impl WriteClaim for Taken {
    fn write_at(&self, _offset: u64, _data: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn describe(&self) -> String {
        "exclusive".to_owned()
    }

    fn still_held(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Whether a grant is given, and how often the LUN was claimed for that.
#[track_caller]
fn check(lun: Lun, request: &WriteRequest<'_>, wanted: Result<(), &str>) {
    let lun = Arc::new(lun);
    let remote: Arc<dyn Remote> = lun.clone();
    let mut grants = Grants::default();
    for _ in 0..2 {
        let got = RemoteGrant::check(request, &remote, &mut grants).map(drop);
        assert_eq!(may_write_remote(request, &*remote, &grants), got);
        match (got, wanted) {
            (Ok(()), Ok(())) => {}
            (Err(GrantError::Refused(why)), Err(words)) if why.contains(words) => {}
            (got, _) => panic!("expected {wanted:?}, got {got:?}"),
        }
    }
    assert_eq!(lun.claims.load(Ordering::Relaxed), u32::from(wanted.is_ok()));
}

#[test]
fn a_lun_is_claimed_once_and_only_with_leave() {
    let empty = || Lun { bytes: vec![0; 4096], ..Lun::default() };
    let full = || Lun { bytes: vec![7; 4096], ..Lun::default() };
    let used = || Lun { forbidden: Some("it is write-protected"), ..empty() };
    let token_of = |lun: Lun| examine_remote(&lun).expect("it can be read").token;
    let (token, of_full) = (token_of(empty()), token_of(full()));
    let named = WriteRequest { token: Some(&token), ..WriteRequest::default() };
    let named_full = WriteRequest { token: Some(&of_full), ..named };
    let flagged = WriteRequest { overwrite: true, ..named };
    check(empty(), &WriteRequest::default(), Err("on which nothing was found"));
    check(empty(), &named, Ok(()));
    check(full(), &named_full, Err("data that Wirespeed did not write"));
    check(full(), &flagged, Err("was not there when `plan` printed the token"));
    check(full(), &WriteRequest { overwrite: true, ..named_full }, Ok(()));
    check(used(), &flagged, Err("no token opens that"));
}

#[test]
fn a_volume_of_this_run_is_known_by_its_serial_number() {
    let full = || Lun { bytes: vec![7; 4096], ..Lun::default() };
    let made_as = |serial| WriteRequest { made_as: Some(serial), ..WriteRequest::default() };
    check(full(), &made_as("run-7"), Ok(()));
    check(full(), &made_as("run-8"), Err("something else answers at its address"));
    let of_others = Lun { of_others: true, ..full() };
    check(of_others, &made_as("run-7"), Err("does not say that it was made for a run"));
    let used = Lun { forbidden: Some("it is write-protected"), ..full() };
    check(used, &made_as("run-7"), Err("it was made for this run, but it is write-protected"));
}
