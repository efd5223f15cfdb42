//! A directory in which nothing is reached by a link.

use std::os::unix::fs::{PermissionsExt, symlink};

use ralph_workspace::{Folder, GuardError, Workspace};

fn workspace() -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    let ws = Workspace::open(dir.path()).unwrap();
    (dir, ws)
}

#[test]
fn what_is_staged_is_seen_once_it_is_placed_and_leaves_nothing_if_it_is_not() {
    let (dir, ws) = workspace();
    assert!(Folder::open(&ws, "a/b").unwrap().is_none());
    let folder = Folder::make(&ws, "a/b").unwrap();
    let at = dir.path().join("a/b/f");
    std::fs::write(&at, "old").unwrap();
    std::fs::set_permissions(&at, PermissionsExt::from_mode(0o640)).unwrap();
    drop(folder.stage("f", b"never").unwrap());
    assert_eq!(folder.read("f", 9).unwrap().unwrap(), b"old");
    assert_eq!(ws.list("a/b").unwrap(), ["f"]);
    let staged = folder.stage("f", b"new").unwrap();
    assert_eq!(folder.read("f", 9).unwrap().unwrap(), b"old");
    staged.place().unwrap();
    folder.sync().unwrap();
    assert_eq!(folder.read("f", 9).unwrap().unwrap(), b"new");
    assert_eq!(
        std::fs::metadata(&at).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert_eq!(ws.list("a/b").unwrap(), ["f"]);
    folder.remove("f").unwrap();
    folder.remove("f").unwrap();
    assert_eq!(folder.read("f", 9).unwrap(), None);
}

#[test]
fn links_pipes_and_names_with_more_than_a_name_are_refused() {
    let (dir, ws) = workspace();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x"), "secret").unwrap();
    let folder = Folder::make(&ws, "real").unwrap();
    std::fs::write(dir.path().join("real/x"), "real").unwrap();
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink("real", dir.path().join("in")).unwrap();
    symlink("x", dir.path().join("real/l")).unwrap();
    for path in ["out", "in", "in/deeper", "..", "/", "real/../in"] {
        let refused = Folder::open(&ws, path);
        assert!(
            matches!(refused, Err(GuardError::Escapes { .. })),
            "{path}: {refused:?}"
        );
        let refused = Folder::make(&ws, path);
        assert!(
            matches!(refused, Err(GuardError::Escapes { .. })),
            "{path}: {refused:?}"
        );
    }
    assert!(matches!(
        Folder::open(&ws, "real/x"),
        Err(GuardError::NotAFile { .. })
    ));
    for name in ["l", "../out/x", "a/b", "..", ".", "", "/x", "a\0"] {
        let read = folder.read(name, 9);
        assert!(
            matches!(read, Err(GuardError::Escapes { .. })),
            "{name}: {read:?}"
        );
        let staged = folder.stage(name, b"");
        assert!(
            matches!(staged, Err(GuardError::Escapes { .. })),
            "{name}: {staged:?}"
        );
    }
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.path().join("real/pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert!(matches!(
        folder.read("pipe", 9),
        Err(GuardError::NotAFile { .. })
    ));
    assert!(matches!(
        folder.stage("pipe", b""),
        Err(GuardError::NotAFile { .. })
    ));
    assert!(matches!(
        folder.read("x", 3),
        Err(GuardError::TooLarge { max: 3, .. })
    ));
}

#[test]
fn a_directory_that_is_swapped_for_a_link_is_not_left() {
    let (dir, ws) = workspace();
    let outside = tempfile::tempdir().unwrap();
    let folder = Folder::make(&ws, "a").unwrap();
    std::fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
    symlink(outside.path(), dir.path().join("a")).unwrap();
    folder.stage("f", b"x").unwrap().place().unwrap();
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(ws.read("b/f", 9).unwrap().unwrap(), b"x");
}
