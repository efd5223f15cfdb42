//! Nothing leads out of the root.

use std::os::unix::fs::symlink;

use ralph_workspace::{GuardError, Workspace};

/// 12 ways out, each in 9 spellings.
fn inputs() -> Vec<String> {
    let ways = [
        "..",
        "../x",
        "../../etc/passwd",
        "a/../../x",
        "a/b/../../../x",
        "/etc/passwd",
        "/",
        "out/x",
        "out-rel/x",
        "a/out-deep/x",
        "chain/x",
        "nul\0x",
    ];
    let spell: [fn(&str) -> String; 9] = [
        |p| p.to_owned(),
        |p| format!("{p}/"),
        |p| format!("{p}/."),
        |p| format!("{p}//"),
        |p| p.replace('/', "//"),
        |p| p.replace('/', "/./"),
        |p| format!("{p}/y"),
        |p| {
            if p.starts_with('/') {
                p.to_owned()
            } else {
                format!("./{p}")
            }
        },
        |p| {
            if p.starts_with('/') {
                format!("/{p}")
            } else {
                format!("a/../{p}")
            }
        },
    ];
    ways.iter()
        .flat_map(|way| spell.iter().map(|s| s(way)))
        .collect()
}

struct Place {
    _outer: tempfile::TempDir,
    secret: std::path::PathBuf,
    ws: Workspace,
}

fn place() -> Place {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("root");
    let outside = outer.path().join("outside");
    std::fs::create_dir_all(root.join("a/b")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    let secret = outside.join("x");
    std::fs::write(&secret, "secret").unwrap();
    symlink(&outside, root.join("out")).unwrap();
    symlink("../outside", root.join("out-rel")).unwrap();
    symlink("../../outside", root.join("a/out-deep")).unwrap();
    symlink("out-rel", root.join("chain")).unwrap();
    symlink("../outside/x", root.join("file-out")).unwrap();
    let ws = Workspace::open(&root).unwrap();
    Place {
        secret,
        ws,
        _outer: outer,
    }
}

#[test]
fn each_of_108_inputs_is_refused_by_every_call_and_names_path_and_root() {
    let Place { secret, ws, _outer } = place();
    let inputs = inputs();
    assert_eq!(inputs.len(), 108);
    for input in &inputs {
        let results = [
            ("read", ws.read(input, 100).map(drop)),
            ("write", ws.write(input, b"overwritten")),
            ("write_relaxed", ws.write_relaxed(input, b"overwritten")),
            ("append", ws.append(input, b"overwritten")),
            ("open_append", ws.open_append(input).map(drop)),
            ("create_dir_all", ws.create_dir_all(&format!("{input}/new"))),
            ("list", ws.list(input).map(drop)),
            ("remove_file", ws.remove_file(&format!("{input}/x"))),
            ("remove_dir_all", ws.remove_dir_all(&format!("{input}/x"))),
        ];
        for (call, result) in results {
            let Err(error) = result else { continue };
            let GuardError::Escapes { path, root, .. } = &error else {
                // Below a file there is nothing either way.
                assert!(input.contains("x/"), "{call} {input:?}: {error}");
                continue;
            };
            assert!(
                path.starts_with(input.as_str()) && root == ws.root(),
                "{call} {input:?}"
            );
            assert!(error.to_string().contains(&ws.root().display().to_string()));
        }
        assert!(!matches!(ws.read(input, 100), Ok(Some(_))), "{input:?}");
        assert!(ws.write(input, b"x").is_err(), "{input:?}");
        assert!(ws.append(input, b"x").is_err(), "{input:?}");
        assert!(!ws.exists(input), "{input:?}");
    }
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
    let beside: Vec<_> = std::fs::read_dir(ws.root().parent().unwrap())
        .unwrap()
        .collect();
    assert_eq!(beside.len(), 2, "something was made beside the root");
}

#[test]
fn a_link_to_a_file_outside_is_refused_for_reading_and_writing() {
    let Place { secret, ws, _outer } = place();
    for result in [
        ws.read("file-out", 100).map(drop),
        ws.write("file-out", b"overwritten"),
        ws.append("file-out", b"overwritten"),
    ] {
        assert!(
            matches!(result, Err(GuardError::Escapes { .. })),
            "{result:?}"
        );
    }
    // The link itself is below the root, and may go.
    ws.remove_file("file-out").unwrap();
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
}

#[test]
fn the_empty_path_and_the_root_itself_are_refused_where_they_make_no_sense() {
    let Place { ws, _outer, .. } = place();
    assert!(matches!(ws.read("", 1), Err(GuardError::Escapes { .. })));
    assert!(matches!(
        ws.remove_dir_all("."),
        Err(GuardError::Escapes { .. })
    ));
    assert!(matches!(
        ws.remove_dir_all("./"),
        Err(GuardError::Escapes { .. })
    ));
    assert!(ws.write(".", b"").is_err());
    assert!(ws.list(".").unwrap().contains(&"a".to_owned()));
}

#[test]
fn removing_a_tree_does_not_follow_the_links_in_it() {
    let Place { secret, ws, _outer } = place();
    symlink(secret.parent().unwrap(), ws.root().join("a/b/link")).unwrap();
    ws.remove_dir_all("a").unwrap();
    assert!(!ws.exists("a"));
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
}

/// While one thread has a directory and a link to the outside change places,
/// another reads and writes below it. Whatever the timing, nothing arrives outside.
#[test]
fn a_directory_swapped_for_a_link_at_any_moment_leads_nowhere() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    let Place { secret, ws, _outer } = place();
    let outside = secret.parent().unwrap().to_owned();
    let root = ws.root().to_owned();
    std::fs::create_dir(root.join("swap")).unwrap();
    std::fs::write(root.join("swap/x"), "mine").unwrap();
    symlink(&outside, root.join("lure")).unwrap();
    let (swap, lure) = (root.join("swap"), root.join("lure"));
    if renameat_with(CWD, &swap, CWD, &lure, RenameFlags::EXCHANGE).is_err() {
        eprintln!("SKIPPED: this file system cannot exchange two entries");
        return;
    }
    let stop = AtomicBool::new(false);
    let (mut refused, mut read) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &swap, CWD, &lure, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
            }
        });
        for round in 0..200_000 {
            match ws.read("swap/x", 100) {
                Ok(Some(bytes)) => {
                    assert_eq!(bytes, b"mine");
                    read += 1;
                }
                Err(GuardError::Escapes { .. }) => refused += 1,
                // In the midst of a swap the kernel may say anything but the secret.
                Ok(None) | Err(_) => {}
            }
            let _ = ws.write_relaxed("swap/x", b"mine");
            let _ = ws.append(&format!("swap/new{}", round % 10), b"mine");
            if round > 2000 && refused > 200 && read > 200 {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(
        refused > 0 && read > 0,
        "the swap was never met: {refused} refused, {read} read"
    );
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(
        std::fs::read_dir(outside).unwrap().count(),
        1,
        "a file was made outside"
    );
}
