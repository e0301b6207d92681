//! Files that are written whole or not at all: whoever looks, and whatever ends the process, there is the old file or the
//! new one.

#![forbid(unsafe_code)]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What is there already may be replaced, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// An error of kind `AlreadyExists`.
    Keep,
    /// It keeps its permissions.
    Replace,
}

/// Writes `bytes` to `path`: beside its place first, to the disk, then moved there. A symbolic link stays one, and what it
/// leads to is written. The file beside has one name for each target, so that what a killed process leaves of it is gone
/// after the next write.
///
/// # Errors
/// What the system says, with `path` in its place; `AlreadyExists` for a file that is to be kept, `InvalidInput` for what is
/// no file (a device, a directory), `ResourceBusy` while another process writes the same file.
pub fn write(path: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let permissions = match fs::symlink_metadata(&target) {
        Ok(_) if existing == Existing::Keep => return Err(ErrorKind::AlreadyExists.into()),
        Ok(found) if found.is_file() => Some(found.permissions()),
        Ok(found) if found.is_symlink() => return Err(invalid("a symbolic link that leads nowhere")),
        Ok(found) => return Err(invalid(if found.is_dir() { "a directory" } else { "no regular file" })),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let beside = beside(&target)?;
    let mut file = open_alone(&beside)?;
    let written = (|| {
        file.set_len(0)?;
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        match existing {
            Existing::Replace => fs::rename(&beside, &target),
            // A link fails where a file has come to be in the meantime.
            Existing::Keep => fs::hard_link(&beside, &target).and_then(|()| fs::remove_file(&beside)),
        }
    })();
    if written.is_err() {
        // What cannot be removed either is found by the next write.
        let _ = fs::remove_file(&beside);
        return written;
    }
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The move is on the disk when its directory is. A directory that cannot be opened for that is no reason to fail.
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
    Ok(())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("it is {what}"))
}

/// The name of the file beside.
fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or_else(|| invalid("no name of a file"))?;
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(".tickworks-new");
    Ok(target.with_file_name(hidden))
}

/// Opens the file beside, or makes it, for this process alone.
fn open_alone(beside: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(beside)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ErrorKind::ResourceBusy.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever had it before may have moved it to its place in the meantime: then it is not the file beside any more.
        let own = file.metadata()?;
        match fs::symlink_metadata(beside) {
            Ok(now) if (now.dev(), now.ino()) == (own.dev(), own.ino()) => return Ok(file),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_kept_or_replaced_as_asked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.sdf");
        write(&file, b"one", Existing::Keep).unwrap();
        assert_eq!(write(&file, b"two", Existing::Keep).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&file).unwrap(), b"one");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        write(&file, b"two", Existing::Replace).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(dir.path()), ["a.sdf"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.sdf"), dir.path().join("link.sdf"));
        fs::write(&real, "old").unwrap();
        symlink("real.sdf", &link).unwrap();
        write(&link, b"new", Existing::Replace).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        symlink("nowhere", dir.path().join("lost")).unwrap();
        assert!(write(&dir.path().join("lost"), b"x", Existing::Replace).is_err());
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let sub = dir.path().join("sub");
        fs::create_dir(&sub).unwrap();
        let refused = write(&sub, b"x", Existing::Replace).unwrap_err();
        assert!(refused.to_string().contains("a directory"), "{refused}");
        let socket = dir.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let refused = write(&socket, b"x", Existing::Replace).unwrap_err();
        assert!(refused.to_string().contains("no regular file"), "{refused}");
        assert_eq!(names(dir.path()), ["socket", "sub"]);
    }

    #[test]
    fn what_a_killed_process_left_is_gone_after_the_next_write() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.sdf");
        fs::write(dir.path().join(".a.sdf.tickworks-new"), "half a fi").unwrap();
        write(&file, b"x", Existing::Keep).unwrap();
        assert_eq!((fs::read(&file).unwrap(), names(dir.path())), (b"x".to_vec(), vec!["a.sdf".to_owned()]));
    }

    #[test]
    fn two_writers_do_not_meet() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.sdf");
        std::thread::scope(|scope| {
            for n in 0..4_u8 {
                let file = &file;
                scope.spawn(move || {
                    let text = vec![b'a' + n; 100_000];
                    for _ in 0..20 {
                        match write(file, &text, Existing::Replace) {
                            Ok(()) => {}
                            Err(error) => assert_eq!(error.kind(), ErrorKind::ResourceBusy, "{error}"),
                        }
                        if let Ok(read) = fs::read(file) {
                            assert!(read.len() == 100_000 && read.iter().all(|byte| *byte == read[0]));
                        }
                    }
                });
            }
        });
        assert_eq!(names(dir.path()), ["a.sdf"]);
    }
}
