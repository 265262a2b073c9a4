//! Files: what is ours may be written unasked, what the user names with its token on request, and all else only read.

use guard::{
    Examined, FilePurpose, GrantError, Grants, NewFile, PathTarget, WriteGrant, WriteRequest,
};
use guard::{examine, may_write, reopen_to_read, stamp};
use rustix::fd::AsFd;
use rustix::io::{Errno, pwrite};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const BYTES: usize = 64 << 10;

/// Through the page cache: a scratch directory may have no direct I/O.
const BUFFERED: WriteRequest<'static> =
    WriteRequest { token: None, overwrite: false, buffered: true, serves: false, made_as: None };

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
    examine(&found(path), &Grants::default(), false)
        .expect("it is not ours")
        .expect("it can be read")
}

/// A file that Wirespeed made for a purpose, its sectors stamped as a fill leaves them; `None` where nothing can be marked.
fn made(path: &Path, purpose: FilePurpose) -> Option<()> {
    let file = NewFile::new(path).expect("a new file");
    file.set_size(BYTES as u64).expect("room");
    file.publish(path).expect("a free name");
    let data: Vec<u8> = (0..BYTES as u64 / 512)
        .flat_map(|n| [&stamp::sector(n, 7)[..], &[0xa5; 512 - stamp::STAMP]].concat())
        .collect();
    let written = fs::File::options().write(true).open(path).expect("ours");
    std::os::unix::fs::FileExt::write_all_at(&written, &data, 0).expect("room");
    drop(written);
    match file.mark(purpose) {
        Err(Errno::OPNOTSUPP) => {
            println!("skipped: the file system keeps no marks");
            None
        }
        marked => {
            marked.expect("a mark");
            Some(())
        }
    }
}

#[test]
fn what_was_made_and_marked_may_be_written_unasked() {
    let (_folder, path) = folder();
    if made(&path, FilePurpose::Load).is_none() {
        return;
    }
    assert!(examine(&found(&path), &Grants::default(), false).is_none(), "nothing to ask about");
    let grant = ask(&BUFFERED, &path).expect("our own file");
    assert_eq!(pwrite(&grant, &stamp::sector(1, 1), 0), Ok(16));
    assert_eq!(pwrite(grant.another().expect("a second"), &stamp::sector(2, 1), 512), Ok(16));
    assert_eq!(pwrite(grant.to_read().expect("to read"), b"data", 0), Err(Errno::BADF));
    drop(grant);
    drop(ask(&BUFFERED, &path).expect("ours after its own writes"));
    fs::hard_link(&path, path.with_extension("link")).expect("a link");
    refused(&BUFFERED, &path, "2 names");
}

#[test]
fn what_is_in_use_by_a_grant_is_granted_to_no_other() {
    let (_folder, path) = folder();
    if made(&path, FilePurpose::Load).is_none() {
        return;
    }
    let grant = ask(&BUFFERED, &path).expect("our own file");
    refused(&BUFFERED, &path, "it is locked by another program");
    assert_eq!(grant.still_held(), Ok(()));
    fs::remove_file(&path).expect("ours");
    assert!(grant.still_held().is_err_and(|why| why.contains("it was removed")));
}

#[test]
fn a_file_that_others_wrote_to_is_not_ours_however_little_they_wrote() {
    let write = |bytes: &[u8], at| {
        let (folder, path) = folder();
        made(&path, FilePurpose::Load)?;
        let file = fs::File::options().write(true).open(&path).expect("ours");
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).expect("room");
        Some((folder, path))
    };
    let Some((_folder, path)) = write(b"x", 5000) else { return };
    refused(&BUFFERED, &path, "written by another program since");
    let token = examined(&path).token;
    // What the samples miss is as good as blank: the token alone opens it.
    assert!(ask(&WriteRequest { token: Some(&token), ..BUFFERED }, &path).is_ok());
}

#[test]
fn after_a_run_that_was_killed_the_content_tells() {
    let holds = |bytes: &[u8], at: u64, ours: bool| {
        let (_folder, path) = folder();
        if made(&path, FilePurpose::Load).is_none() {
            return;
        }
        let grant = ask(&BUFFERED, &path).expect("our own file");
        // As after `kill -9`: the mark stays as it is in use.
        let mut mark = [0; 256];
        let n = rustix::fs::getxattr(&path, "user.wirespeed", &mut mark[..]).expect("a mark");
        assert!(String::from_utf8_lossy(&mark[..n]).ends_with("left=open"));
        drop(grant);
        let file = fs::File::options().write(true).open(&path).expect("ours");
        std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).expect("room");
        drop(file);
        let flags = rustix::fs::XattrFlags::REPLACE;
        rustix::fs::setxattr(&path, "user.wirespeed", &mark[..n], flags).expect("xattrs here");
        assert_eq!(ask(&BUFFERED, &path).is_ok(), ours, "{at}");
    };
    holds(&stamp::sector(9, 9), 4096, true);
    holds(&[0x5a; 512], 8192, false);
    holds(&[0; 4096], 8192, false);
    holds(b"\x53\xef", 1024 + 56, true);
}

#[test]
fn a_volume_is_served_whatever_it_holds_and_never_overwritten() {
    let (_folder, path) = folder();
    if made(&path, FilePurpose::Volume).is_none() {
        return;
    }
    fs::write(path.with_extension("x"), b"").expect("room");
    let file = fs::File::options().write(true).open(&path).expect("ours");
    std::os::unix::fs::FileExt::write_all_at(&file, b"theirs", 0).expect("room");
    drop(file);
    refused(&BUFFERED, &path, "made as a volume");
    let serves = WriteRequest { serves: true, ..BUFFERED };
    assert!(ask(&serves, &path).is_ok());
    let token = examined(&path).token;
    refused(&WriteRequest { token: Some(&token), ..BUFFERED }, &path, "that may be lost");
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
    let flagged = WriteRequest { overwrite: true, ..named };
    refused(&flagged, &path, "was not there when `plan` printed the token");
    let full = examined(&path).token;
    refused(&WriteRequest { token: Some(&full), ..named }, &path, "data that Wirespeed did not");
    assert!(ask(&WriteRequest { token: Some(&full), ..flagged }, &path).is_ok());
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
