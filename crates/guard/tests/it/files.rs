//! Files: what is ours may be written unasked, what the user names with its token on request, and all else only read.

use guard::{Examined, GrantError, Grants, NewFile, PathTarget, WriteGrant, WriteRequest};
use guard::{examine, may_write, reopen_to_read};
use rustix::fd::AsFd;
use rustix::io::{Errno, pwrite};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const BYTES: usize = 64 << 10;

/// Through the page cache: a scratch directory may have no direct I/O.
const BUFFERED: WriteRequest<'static> =
    WriteRequest { token: None, overwrite: false, buffered: true, made_as: None };

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    (folder, path)
}

fn found(path: &Path) -> PathTarget {
    PathTarget::at(path, false).expect("a path").expect("something stands there")
}

fn ask(request: &WriteRequest<'_>, path: &Path) -> Result<WriteGrant, GrantError> {
    let grants = &mut Grants::default();
    let asked = may_write(request, &found(path), grants);
    let granted = WriteGrant::check(request, &found(path), grants);
    assert_eq!(asked.is_ok(), granted.is_ok(), "{asked:?}, and then {granted:?}");
    granted
}

#[track_caller]
fn refused(request: &WriteRequest<'_>, path: &Path, words: &str) {
    match ask(request, path) {
        Err(GrantError::Refused(why)) => assert!(why.contains(words), "{words:?} in {why}"),
        other => panic!("expected a refusal with {words:?}, got {other:?}"),
    }
}

fn examined(path: &Path) -> Examined {
    examine(&found(path), &Grants::default()).expect("it is not ours").expect("it can be read")
}

#[test]
fn what_was_made_and_marked_may_be_written_unasked() {
    let (_folder, path) = folder();
    let file = NewFile::new(&path).expect("a new file");
    file.reserve(BYTES as u64).expect("room");
    let marked = file.mark();
    file.publish(&path).expect("a free name");
    if marked == Err(Errno::OPNOTSUPP) {
        return println!("skipped: the file system keeps no marks");
    }
    drop(file);
    assert!(examine(&found(&path), &Grants::default()).is_none(), "nothing to ask about");
    let grant = ask(&BUFFERED, &path).expect("our own file");
    assert_eq!(pwrite(&grant, b"data", 0), Ok(4));
    assert_eq!(pwrite(grant.another().expect("a second"), b"data", 8), Ok(4));
    assert_eq!(pwrite(grant.to_read().expect("to read"), b"data", 0), Err(Errno::BADF));
    fs::hard_link(&path, path.with_extension("link")).expect("a link");
    refused(&BUFFERED, &path, "2 names");
}

#[test]
fn what_cannot_be_marked_is_ours_in_the_process_that_made_it() {
    let (_folder, path) = folder();
    let file = NewFile::new(&path).expect("a new file");
    file.reserve(BYTES as u64).expect("room");
    file.publish(&path).expect("a free name");
    let mut grants = Grants::default();
    grants.keep_made(file).expect("kept");
    assert!(WriteGrant::check(&BUFFERED, &found(&path), &mut grants).is_ok());
    refused(&BUFFERED, &path, "not made by Wirespeed");
}

#[test]
fn a_new_file_is_written_by_its_maker() {
    let (_folder, path) = folder();
    let file = NewFile::new(&path).expect("a new file");
    let (grant, direct) = file.into_grant(false).expect("a grant");
    assert_eq!((direct, pwrite(&grant, b"data", 0)), (false, Ok(4)));
}

#[test]
fn what_others_made_is_written_with_its_token_and_the_flag_for_what_it_carries() {
    let (_folder, path) = folder();
    fs::write(&path, [0; BYTES]).expect("written");
    let empty = examined(&path);
    assert!(empty.uses.is_empty() && empty.carries.is_empty(), "{empty:?}");
    refused(&BUFFERED, &path, "not made by Wirespeed, on which nothing was found");
    let named = WriteRequest { token: Some(&empty.token), ..BUFFERED };
    refused(&WriteRequest { token: Some("ws-0000"), ..BUFFERED }, &path, "is no token");
    assert!(ask(&named, &path).is_ok());
    fs::write(&path, [7; BYTES]).expect("written");
    assert_eq!(examined(&path).carries.len(), 1);
    refused(&named, &path, "data that Wirespeed did not write");
    assert!(ask(&WriteRequest { overwrite: true, ..named }, &path).is_ok());
    fs::write(&path, [7; BYTES / 2]).expect("written");
    refused(&WriteRequest { overwrite: true, ..named }, &path, "is stale");
}

#[test]
fn a_grant_is_kept_for_the_run() {
    let (_folder, path) = folder();
    fs::write(&path, [7; BYTES]).expect("written");
    let token = examined(&path).token;
    let named = WriteRequest { token: Some(&token), overwrite: true, ..BUFFERED };
    let mut grants = Grants::default();
    WriteGrant::check(&named, &found(&path), &mut grants).expect("a grant");
    assert!(WriteGrant::check(&BUFFERED, &found(&path), &mut grants).is_ok());
    refused(&BUFFERED, &path, "not made by Wirespeed");
}

#[test]
fn what_is_no_file_is_never_written() {
    let (folder, path) = folder();
    fs::write(&path, [0; BYTES]).expect("written");
    let link = folder.path().join("link");
    symlink(&path, &link).expect("a link");
    refused(&BUFFERED, &link, "a symbolic link");
    refused(&BUFFERED, folder.path(), "a directory");
    refused(&BUFFERED, Path::new("/dev/null"), "a character device");
}

#[test]
fn what_is_opened_without_a_grant_can_only_be_read() {
    let (_folder, path) = folder();
    fs::write(&path, [0; BYTES]).expect("written");
    let held = found(&path).open_to_read(false).expect("readable");
    assert_eq!(pwrite(&held, b"data", 0), Err(Errno::BADF));
    let writable = fs::File::options().write(true).open(&path).expect("ours");
    let again = reopen_to_read(writable.as_fd(), false).expect("readable");
    assert_eq!(pwrite(&again, b"data", 0), Err(Errno::BADF));
}
