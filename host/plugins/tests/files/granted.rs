//! Only below granted directories, and only as granted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ralph_engine::types::Status;
use ralph_plugins::{CallContext, Grants, Limits, PluginError};

use crate::common::{bind, context, host, iteration};
use crate::guest::{Opens, reads, writes};

pub async fn open(
    root: &Path,
    grants: Grants,
    path: &str,
    create: bool,
) -> Result<(Status, String), PluginError> {
    let opens = Opens {
        create,
        ..Opens::once(path)
    };
    let bytes = opens.bytes();
    let gate = bind(&host(), &bytes, grants, Limits::default()).await?;
    let ctx = CallContext {
        root: Some(root.into()),
        ..context()
    };
    let verdict = gate.check(&ctx, &iteration()).await?;
    Ok((verdict.status, verdict.summary))
}

#[tokio::test]
async fn files_are_seen_only_below_granted_directories() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/a"), "a").unwrap();
    fs::write(root.join("top"), "t").unwrap();
    fs::write(dir.path().join("outside"), "o").unwrap();
    symlink("../../outside", root.join("src/out")).unwrap();
    symlink("/etc/passwd", root.join("src/abs")).unwrap();
    symlink("a", root.join("src/in")).unwrap();

    assert_eq!(
        open(&root, Grants::default(), "a", false).await.unwrap().0,
        Status::Skip
    );
    let seen = (Status::Pass, "/workspace/src".to_string());
    assert_eq!(open(&root, reads("src"), "a", false).await.unwrap(), seen);
    assert_eq!(open(&root, reads("src"), "in", false).await.unwrap(), seen);
    let all = (Status::Pass, "/workspace".to_string());
    assert_eq!(open(&root, reads("."), "src/a", false).await.unwrap(), all);
    for path in [
        "../top",
        "out",
        "abs",
        "/etc/passwd",
        "nope/../../top",
        "../../outside",
    ] {
        for grants in [reads("src"), writes("src")] {
            let (status, _) = open(&root, grants, path, false).await.unwrap();
            assert_eq!(status, Status::Fail, "{path}");
        }
    }
}

#[tokio::test]
async fn reading_is_not_writing() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("out")).unwrap();
    let new = dir.path().join("out/new");
    let (status, _) = open(dir.path(), reads("out"), "new", true).await.unwrap();
    assert_eq!((status, new.exists()), (Status::Fail, false));
    let (status, _) = open(dir.path(), writes("out"), "new", true).await.unwrap();
    assert_eq!((status, new.exists()), (Status::Pass, true));
}

#[tokio::test]
async fn a_granted_directory_that_is_a_link_or_missing_is_an_error_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    symlink(".git", dir.path().join("src")).unwrap();
    std::os::unix::net::UnixListener::bind(dir.path().join("pipe")).unwrap();
    for (name, reason) in [
        ("src", "symbolic link"),
        ("pipe", "neither a directory nor a file"),
        ("none", "no such directory or file"),
    ] {
        let error = open(dir.path(), reads(name), "config", false)
            .await
            .unwrap_err();
        assert!(matches!(error, PluginError::Io { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains(&format!("/{name} ")) || text.contains(&format!("/{name}:")),
            "{text}"
        );
        assert!(text.contains(reason), "{text}");
    }
}
