//! Reading, replacing, appending, listing.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use ralph_workspace::{GuardError, Workspace, find_root};

fn workspace() -> (tempfile::TempDir, Workspace) {
    let dir = tempfile::tempdir().unwrap();
    let ws = Workspace::open(dir.path()).unwrap();
    (dir, ws)
}

#[test]
fn a_written_file_is_read_back_and_leaves_no_temporary_one() {
    let (_dir, ws) = workspace();
    for (n, content) in [&b"one"[..], b"", &[0xff, 0, 0xfe]].into_iter().enumerate() {
        ws.write("deep/er/file", content).unwrap();
        assert_eq!(
            ws.read("./deep//er/file", 3).unwrap().as_deref(),
            Some(content),
            "{n}"
        );
    }
    ws.write_relaxed("deep/er/file", b"four").unwrap();
    assert_eq!(ws.list("deep/er").unwrap(), ["file"]);
}

#[test]
fn what_is_not_there_is_none_and_may_be_removed_again() {
    let (_dir, ws) = workspace();
    ws.write("file", b"x").unwrap();
    assert_eq!(ws.read("nothing", 10).unwrap(), None);
    assert_eq!(ws.read("file/below", 10).unwrap(), None);
    assert_eq!(ws.list("nothing").unwrap(), Vec::<String>::new());
    ws.remove_file("nothing").unwrap();
    ws.remove_dir_all("nothing").unwrap();
    assert!(ws.exists("file") && !ws.exists("nothing"));
}

#[test]
fn a_file_longer_than_the_limit_is_refused_and_one_of_its_length_is_read() {
    let (_dir, ws) = workspace();
    ws.write("f", b"12345").unwrap();
    assert!(matches!(
        ws.read("f", 4),
        Err(GuardError::TooLarge { max: 4, .. })
    ));
    assert_eq!(ws.read("f", 5).unwrap().unwrap().len(), 5);
}

#[test]
fn the_end_of_a_file_of_any_length_is_read() {
    let (_dir, ws) = workspace();
    ws.write("f", b"12345").unwrap();
    for (max, end) in [(0, &b""[..]), (2, b"45"), (5, b"12345"), (9, b"12345")] {
        assert_eq!(ws.read_end("f", max).unwrap().as_deref(), Some(end));
    }
    assert_eq!(ws.read_end("nothing", 9).unwrap(), None);
    assert!(matches!(
        ws.read_end(".", 9),
        Err(GuardError::NotAFile { .. })
    ));
}

#[test]
fn the_mode_of_a_replaced_file_is_kept() {
    let (_dir, ws) = workspace();
    for mode in [0o600, 0o755, 0o444, 0o4750] {
        let path = ws.root().join("f");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        ws.write("f", b"new").unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().mode() & 0o7777,
            mode,
            "{mode:o}"
        );
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_link_that_stays_inside_is_written_through_and_stays_a_link() {
    let (_dir, ws) = workspace();
    ws.write("docs/PRD.md", b"old").unwrap();
    symlink("docs/PRD.md", ws.root().join("PRD.md")).unwrap();
    ws.write("PRD.md", b"new").unwrap();
    assert!(ws.root().join("PRD.md").is_symlink());
    assert_eq!(ws.read("docs/PRD.md", 10).unwrap().unwrap(), b"new");
}

/// A pipe in the place of a file must neither be read from for ever nor be replaced unseen.
#[test]
fn a_directory_or_a_pipe_in_a_files_place_is_said_to_be_one() {
    let (_dir, ws) = workspace();
    ws.create_dir_all("dir").unwrap();
    let pipe = ws.root().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    for (name, word) in [("dir", "a directory"), ("pipe", "a pipe")] {
        for result in [ws.read(name, 10).map(drop), ws.write(name, b"x")] {
            match result {
                Err(GuardError::NotAFile { what, .. }) => assert_eq!(what, word),
                other => panic!("{name}: {other:?}"),
            }
        }
        assert!(ws.append(name, b"x").is_err(), "{name}");
    }
}

#[test]
fn appending_adds_to_the_end_and_makes_the_directory() {
    let (_dir, ws) = workspace();
    ws.append("logs/a.log", b"1\n").unwrap();
    ws.append("logs/a.log", b"2\n").unwrap();
    assert_eq!(ws.read("logs/a.log", 10).unwrap().unwrap(), b"1\n2\n");
}

#[test]
fn odd_names_are_just_names() {
    let (_dir, ws) = workspace();
    for name in [
        "-n",
        "a b",
        "q\"'`$(x)",
        "new\nline",
        "ünï",
        "a\\..\\b",
        "...",
        "C:\\x",
        "~",
    ] {
        ws.write(name, name.as_bytes()).unwrap();
        assert_eq!(
            ws.read(name, 100).unwrap().unwrap(),
            name.as_bytes(),
            "{name:?}"
        );
    }
    assert_eq!(ws.list(".").unwrap().len(), 9);
}

#[test]
fn a_missing_root_and_a_file_as_root_are_refused() {
    let (dir, ws) = workspace();
    ws.write("f", b"").unwrap();
    for bad in ["nothing", "f"] {
        let result = Workspace::open(&dir.path().join(bad));
        assert!(matches!(result, Err(GuardError::Root { .. })), "{bad}");
    }
}

#[test]
fn the_root_is_the_nearest_directory_with_a_config_or_a_repository() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(top.join("repo/.git")).unwrap();
    std::fs::create_dir_all(top.join("repo/app/.ralph")).unwrap();
    std::fs::create_dir_all(top.join("repo/app/src/deep")).unwrap();
    std::fs::create_dir_all(top.join("repo/lib")).unwrap();
    std::fs::write(top.join("repo/app/.ralph/ralph.toml"), "").unwrap();
    std::fs::create_dir_all(top.join("tree/sub")).unwrap();
    std::fs::write(top.join("tree/.git"), "gitdir: elsewhere\n").unwrap();
    std::fs::create_dir_all(top.join("repo/tool")).unwrap();
    std::fs::write(top.join("repo/tool/ralph.toml"), "").unwrap();
    for (start, root) in [
        ("repo/app/src/deep", "repo/app"),
        ("repo/lib", "repo"),
        ("repo/tool", "repo/tool"),
        ("tree/sub", "tree"),
    ] {
        assert_eq!(
            find_root(&top.join(start)).unwrap(),
            top.join(root),
            "{start}"
        );
    }
    // A temporary directory may itself lie in a project.
    if find_root(&top).is_err() {
        let error = find_root(&top).unwrap_err().to_string();
        assert!(
            error.contains("ralph init") && error.contains(&top.display().to_string()),
            "{error}"
        );
    }
    assert!(find_root(&top.join("nothing")).is_err());
}

/// On a file system of 64 KiB; needs the right to mount one, and says so if it hasn't.
#[test]
fn a_full_disk_is_told_and_leaves_the_former_content_and_no_debris() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "ralph-test"])
        .arg(dir.path())
        .output()
        .is_ok_and(|out| out.status.success());
    if !mounted {
        eprintln!("SKIPPED: no right to mount a small tmpfs here");
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        let ws = Workspace::open(dir.path()).unwrap();
        ws.write("state.json", b"former").unwrap();
        for write in [Workspace::write, Workspace::write_relaxed] {
            let result = write(&ws, "state.json", &vec![b'x'; 1 << 20]);
            assert!(
                matches!(result, Err(GuardError::DiskFull { .. })),
                "{result:?}"
            );
            assert_eq!(ws.read("state.json", 100).unwrap().unwrap(), b"former");
            assert_eq!(ws.list(".").unwrap(), ["state.json"]);
        }
        let result = ws.append("log", &vec![b'x'; 1 << 20]);
        assert!(
            matches!(result, Err(GuardError::DiskFull { .. })),
            "{result:?}"
        );
    });
    let _ = std::process::Command::new("umount")
        .arg(dir.path())
        .status();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}
