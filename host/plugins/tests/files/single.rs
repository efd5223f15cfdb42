//! Single files: nothing else of their directory is seen, and nothing that is put in their place is followed.

use std::fs;
use std::os::unix::fs::symlink;

use ralph_engine::types::Status;
use ralph_plugins::{CallContext, Grants, Limits, PluginError};

use crate::common::{bind, context, host, iteration};
use crate::granted::open;
use crate::guest::Opens;

fn both(read: &[&str], write: &[&str]) -> Grants {
    let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    Grants {
        read: list(read),
        write: list(write),
        ..Grants::default()
    }
}

/// A project with a directory `src` of three files, and a link to one of them.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("src/deep")).unwrap();
    for name in ["top", "src/a", "src/b", "src/deep/c"] {
        fs::write(dir.path().join(name), name).unwrap();
    }
    symlink("b", dir.path().join("src/link")).unwrap();
    dir
}

#[tokio::test]
async fn a_granted_file_is_all_that_is_seen_of_its_directory() {
    let dir = project();
    for grants in [both(&["src/a"], &[]), both(&[], &["src/a"])] {
        let writes = !grants.write.is_empty();
        let at = |path: &'static str, create| open(dir.path(), grants.clone(), path, create);
        let seen = (Status::Pass, "/workspace/src".to_string());
        assert_eq!(at("a", false).await.unwrap(), seen);
        assert_eq!(at("./a", false).await.unwrap(), seen);
        let written = at("a", true).await.unwrap().0 == Status::Pass;
        assert_eq!(written, writes);
        for path in [
            "b",
            "link",
            "deep",
            "deep/c",
            ".",
            "..",
            "../top",
            "../src/a",
            "deep/../a",
            "a/",
            "/a",
            "a/.",
            "new",
            "",
            "//a",
            "/workspace/src/a",
            "a/../b",
        ] {
            for create in [false, true] {
                let (status, _) = at(path, create).await.unwrap();
                // The directory itself can be opened; it is an empty one.
                let empty = path == "." && !create;
                assert_eq!(status == Status::Pass, empty, "{path:?} {create}");
            }
        }
    }
    let names = |at: &str| fs::read_dir(dir.path().join(at)).unwrap().count();
    assert_eq!((names("src"), names(".")), (4, 2));
}

#[tokio::test]
async fn files_of_several_directories_stand_beside_granted_ones() {
    let dir = project();
    let grants = both(&["src/deep", "top"], &["src/b"]);
    let (status, place) = open(dir.path(), grants.clone(), "c", false).await.unwrap();
    assert_eq!(
        (status, place.as_str()),
        (Status::Pass, "/workspace/src/deep")
    );
    // Of a directory that may only be read one file may be written, from its root.
    let grants = both(&["."], &["src/b"]);
    for (path, create, ok) in [
        ("src/a", false, true),
        ("src/a", true, false),
        ("src/b", true, true),
        ("src/new", true, false),
        ("src/link", true, false),
        ("src/deep/../b", true, false),
    ] {
        let (status, _) = open(dir.path(), grants.clone(), path, create)
            .await
            .unwrap();
        assert_eq!(status == Status::Pass, ok, "{path} {create}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_in_a_granted_files_place_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s").unwrap();
    let dir = project();
    let opens = Opens {
        create: true,
        ..Opens::once("a")
    };
    let gate = bind(
        &host(),
        &opens.bytes(),
        both(&[], &["src/a"]),
        Limits::default(),
    )
    .await
    .unwrap();
    let ctx = CallContext {
        root: Some(dir.path().into()),
        ..context()
    };
    let file = dir.path().join("src/a");
    let target = outside.path().join("secret");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let link = dir.path().join("l");
                let _ = symlink(&target, &link);
                let _ = fs::rename(&link, &file);
                let other = dir.path().join("n");
                let _ = fs::write(&other, "");
                let _ = fs::rename(&other, &file);
            }
        });
        let (mut opened, mut refused) = (0, 0);
        tokio::task::block_in_place(|| {
            let runtime = tokio::runtime::Handle::current();
            while opened < 100 || refused < 100 {
                match runtime.block_on(gate.check(&ctx, &iteration())) {
                    Ok(verdict) if verdict.status == Status::Pass => opened += 1,
                    // A link at the call's start is no file, one in the call isn't followed.
                    Ok(_) | Err(PluginError::Io { .. }) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
        });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(&target).unwrap(), "s");
}
