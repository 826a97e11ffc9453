//! Files are written into the folder that was named, whatever links and other files are in the way.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use cerith_files::{Folder, Obstacle, ReadRoot};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// A folder `home` with a file that must stay, and a checkout beside it.
fn place() -> TempDir {
    let place = TempDir::new().expect("a folder");
    fs::create_dir_all(place.path().join("home")).expect("a folder");
    fs::write(place.path().join("home/settings"), "the user's").expect("a file");
    fs::create_dir_all(place.path().join("repo/.git")).expect("a folder");
    place
}

fn check_untouched(place: &TempDir) {
    let home = place.path().join("home");
    assert_eq!(
        fs::read_to_string(home.join("settings")).expect("it stays"),
        "the user's"
    );
    assert_eq!(list_names(&home), ["settings"]);
}

fn list_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[track_caller]
fn is_link(error: &std::io::Error, link: &Path, leads_to: &Path) {
    let expected = Obstacle::Link {
        path: link.to_owned(),
        target: leads_to.to_owned(),
    };
    assert_eq!(Obstacle::from_error(error), Some(&expected), "{error}");
}

#[test]
fn no_link_to_a_file_is_followed() {
    let place = place();
    let file = place.path().join("repo/report");
    for target in ["home/settings", "home/new", "nowhere/new"] {
        let target = place.path().join(target);
        symlink(&target, &file).expect("a link");
        let error = cerith_files::write(&file, "ours").expect_err("a link");
        is_link(&error, &file, &target);
        check_untouched(&place);
        assert_eq!(list_names(&place.path().join("repo")), [".git", "report"]);
        assert!(cerith_files::create_new(&file).is_err());
        cerith_files::remove_file(&file).expect("the link is removed");
        check_untouched(&place);
    }
}

#[test]
fn no_link_to_a_folder_is_followed_at_any_level() {
    let place = place();
    let home = place.path().join("home");
    for (link, below) in [("a", "a/b/c"), ("a/b", "a/b/c"), ("a/b/c", "a/b/c")] {
        let repo = place.path().join("repo");
        let link = repo.join(link);
        fs::create_dir_all(link.parent().expect("a folder")).expect("folders");
        symlink(&home, &link).expect("a link");
        let below = repo.join(below);
        is_link(
            &cerith_files::create_folders(&below).expect_err("a link"),
            &link,
            &home,
        );
        is_link(
            &cerith_files::write(below.join("settings"), "").expect_err("a link"),
            &link,
            &home,
        );
        let removed = cerith_files::remove_folder_all(&below);
        assert!(removed.is_err());
        check_untouched(&place);
        fs::remove_dir_all(repo.join("a"))
            .or_else(|_| fs::remove_file(repo.join("a")))
            .expect("removed");
    }
}

#[test]
fn a_link_above_a_checkout_is_followed_and_none_below_it() {
    let place = place();
    symlink(place.path().join("repo"), place.path().join("shortcut")).expect("a link");
    symlink(place.path(), place.path().join("above")).expect("a link");
    for path in [
        "shortcut/out",
        "above/repo/out",
        "above/above/repo/out",
        "above/shortcut/out",
    ] {
        cerith_files::create_folders(place.path().join(path)).expect(path);
        cerith_files::write(place.path().join(path).join("file"), path).expect(path);
        assert_eq!(
            fs::read_to_string(place.path().join("repo/out/file")).expect("a file"),
            path
        );
    }
    // A link outside that leads into a checkout does not make the links in there trusted.
    fs::create_dir(place.path().join("repo/sub")).expect("a folder");
    symlink(place.path().join("home"), place.path().join("repo/sub/reports")).expect("a link");
    symlink(place.path().join("repo/sub"), place.path().join("sub")).expect("a link");
    assert!(cerith_files::create_folders(place.path().join("sub/reports/run")).is_err());
    check_untouched(&place);
    // The named folder itself is never a link.
    assert!(cerith_files::create_folders(place.path().join("shortcut")).is_err());
}

#[test]
fn folders_without_a_mark_of_a_checkout_can_be_distrusted() {
    let place = place();
    let unpacked = place.path().join("unpacked");
    fs::create_dir(&unpacked).expect("a folder");
    symlink(place.path().join("home"), unpacked.join("reports")).expect("a link");
    cerith_files::distrust(&unpacked);
    assert!(cerith_files::create_folders(unpacked.join("reports/run")).is_err());
    check_untouched(&place);
}

#[test]
fn a_hard_link_is_replaced_and_its_other_name_stays() {
    let place = place();
    let file = place.path().join("repo/report");
    fs::hard_link(place.path().join("home/settings"), &file).expect("a link");
    cerith_files::write(&file, "ours").expect("written");
    assert_eq!(fs::read_to_string(&file).expect("a file"), "ours");
    check_untouched(&place);
}

#[test]
fn what_is_neither_a_file_nor_a_folder_is_an_obstacle() {
    let place = place();
    let pipe = place.path().join("repo/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
    for error in [
        cerith_files::write(&pipe, "").expect_err("a pipe"),
        cerith_files::create_folders(pipe.join("x")).expect_err("a pipe"),
        Folder::open(&place.path().join("repo"))
            .expect("a folder")
            .read("pipe")
            .expect_err("a pipe"),
    ] {
        assert!(error.to_string().contains("is a pipe"), "{error}");
    }
    assert!(fs::metadata(&pipe).expect("it stays").file_type().is_fifo());
    let error = cerith_files::write(place.path().join("repo/.git"), "").expect_err("a folder");
    assert!(error.to_string().contains("is a folder"), "{error}");
    let error = cerith_files::create_folders(place.path().join("home/settings")).expect_err("a file");
    assert!(error.to_string().contains("is a file"), "{error}");
}

#[test]
fn a_file_is_old_or_new_and_never_half() {
    let place = place();
    let file = place.path().join("repo/file");
    fs::write(&file, "old").expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("permissions");
    let mut partial = cerith_files::begin(&file).expect("begun");
    partial.write_all(b"half").expect("written");
    assert_eq!(fs::read_to_string(&file).expect("a file"), "old");
    drop(partial);
    assert_eq!(list_names(&place.path().join("repo")), [".git", "file"]);
    let mut partial = cerith_files::begin(&file).expect("begun");
    partial.write_all(b"new").expect("written");
    partial.keep().expect("kept");
    assert_eq!(fs::read_to_string(&file).expect("a file"), "new");
    assert_eq!(
        fs::metadata(&file).expect("a file").permissions().mode() & 0o777,
        0o640
    );
}

#[test]
fn a_link_that_appears_while_a_file_is_written_is_not_followed() {
    let place = place();
    let (file, settings) = (place.path().join("repo/file"), place.path().join("home/settings"));
    let mut partial = cerith_files::begin(&file).expect("begun");
    partial.write_all(b"ours").expect("written");
    symlink(&settings, &file).expect("a link");
    is_link(&partial.keep().expect_err("a link"), &file, &settings);
    check_untouched(&place);
    // A folder that is replaced by a link: the file goes into the folder that was opened.
    fs::create_dir(place.path().join("repo/out")).expect("a folder");
    let folder = Folder::open(&place.path().join("repo/out")).expect("a folder");
    fs::rename(place.path().join("repo/out"), place.path().join("repo/moved")).expect("renamed");
    symlink(place.path().join("home"), place.path().join("repo/out")).expect("a link");
    folder.write("file", "ours").expect("written");
    assert_eq!(list_names(&place.path().join("repo/moved")), ["file"]);
    check_untouched(&place);
}

#[test]
fn links_in_a_folder_that_is_removed_are_not_followed() {
    let place = place();
    let out = place.path().join("repo/out");
    fs::create_dir_all(out.join("a/b")).expect("folders");
    fs::write(out.join("a/b/file"), "").expect("a file");
    symlink(place.path().join("home"), out.join("a/home")).expect("a link");
    symlink(place.path().join("home/settings"), out.join("settings")).expect("a link");
    cerith_files::remove_folder_all(&out).expect("removed");
    assert_eq!(list_names(&place.path().join("repo")), [".git"]);
    check_untouched(&place);
}

#[test]
fn names_do_not_leave_their_folder() {
    let place = place();
    let folder = Folder::open(&place.path().join("repo")).expect("a folder");
    for name in ["../home/settings", "..", ".", "", "/etc/passwd", "a/b", "./file"] {
        let error = folder.write(name, "").expect_err(name);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
    }
    cerith_files::create_folders(place.path().join("repo/../other")).expect("`..` leads above");
    assert_eq!(list_names(place.path()), ["home", "other", "repo"]);
}

#[test]
fn a_folder_is_locked_by_one() {
    let place = place();
    let open = || Folder::open(&place.path().join("repo")).expect("a folder");
    let (one, other) = (open(), open());
    let lock = one.lock().expect("locked");
    assert!(lock.is_some());
    assert!(other.lock().expect("asked").is_none());
    drop(lock);
    assert!(other.lock().expect("asked").is_some());
}

#[track_caller]
fn check_read(root: &ReadRoot, path: &Path, expected: Result<(), ErrorKind>) {
    let opened = root.open_file(path);
    assert_eq!(
        opened.map(drop).map_err(|error| error.kind()),
        expected,
        "{}",
        path.display()
    );
}

#[test]
fn only_files_of_a_root_are_read() {
    let place = place();
    let repo = place.path().join("repo");
    fs::create_dir(repo.join("package")).expect("a folder");
    fs::write(repo.join("package/own.py"), "").expect("a file");
    symlink("../home", repo.join("out")).expect("a link");
    symlink("../home/settings", repo.join("settings.py")).expect("a link");
    symlink("package", repo.join("alias")).expect("a link");
    let root = ReadRoot::open(&repo).expect("a folder");
    for (path, expected) in [
        ("package/own.py", Ok(())),
        ("alias/own.py", Ok(())),
        ("package/../package/own.py", Ok(())),
        ("../home/settings", Err(ErrorKind::PermissionDenied)),
        ("out/settings", Err(ErrorKind::PermissionDenied)),
        ("settings.py", Err(ErrorKind::PermissionDenied)),
        ("/etc/passwd", Err(ErrorKind::PermissionDenied)),
        ("missing.py", Err(ErrorKind::NotFound)),
        ("", Err(ErrorKind::IsADirectory)),
    ] {
        check_read(&root, &repo.join(path), expected);
    }
}
