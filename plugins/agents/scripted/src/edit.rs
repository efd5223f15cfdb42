//! Edits, confined to the workspace.

use crate::script::{Action, Edit};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

/// Refuses what isn't a plain relative path.
pub fn check_relative(path: &str) -> Result<(), String> {
    if path.is_empty() || path.ends_with('/') {
        return Err("names no file".into());
    }
    for part in Path::new(path).components() {
        match part {
            Component::Normal(_) | Component::CurDir => {}
            Component::ParentDir => return Err("must not contain `..`".into()),
            Component::RootDir | Component::Prefix(_) => return Err("must be relative".into()),
        }
    }
    if !Path::new(path)
        .components()
        .any(|c| matches!(c, Component::Normal(_)))
    {
        return Err("names no file".into());
    }
    Ok(())
}

/// Refuses what a script must not touch: paths out of the workspace, git's and
/// ralph's own files, and links, which could lead to any of them.
pub fn check(root: &Path, path: &str) -> Result<(), String> {
    check_relative(path)?;
    let mut so_far = PathBuf::from(root);
    let parts = Path::new(path).components().filter_map(|c| match c {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    for (depth, name) in parts.enumerate() {
        // Some file systems don't tell `.GIT` from `.git`.
        if name.eq_ignore_ascii_case(".git") {
            return Err("is below .git".into());
        }
        if depth == 0 && name.eq_ignore_ascii_case(".ralph") {
            return Err("is below .ralph".into());
        }
        so_far.push(name);
        match fs::symlink_metadata(&so_far) {
            Ok(found) if found.is_symlink() => return Err("leads through a link".into()),
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(format!("can't be looked at: {e}")),
        }
    }
    Ok(())
}

/// Makes one edit whose path was checked. Says what was done, or what stood in the way.
pub fn perform(root: &Path, edit: &Edit) -> Result<String, String> {
    let path = root.join(&edit.path);
    let failed = |what: &str, e: std::io::Error| format!("can't {what} `{}`: {e}", edit.path);
    match edit.action()? {
        Action::Write(content) => {
            make_parents(&path).map_err(|e| failed("write", e))?;
            fs::write(&path, content).map_err(|e| failed("write", e))?;
            Ok(format!("wrote {} bytes", content.len()))
        }
        Action::Append(more) => {
            make_parents(&path).map_err(|e| failed("append to", e))?;
            let mut options = fs::OpenOptions::new();
            let file = options.append(true).create(true).open(&path);
            file.and_then(|mut f| f.write_all(more.as_bytes()))
                .map_err(|e| failed("append to", e))?;
            Ok(format!("appended {} bytes", more.len()))
        }
        Action::Replace(old, new) => {
            let text = fs::read_to_string(&path).map_err(|e| failed("read", e))?;
            match text.matches(old).count() {
                1 => {}
                0 => {
                    return Err(format!(
                        "`{}` does not hold the text to replace: {old:?}",
                        edit.path
                    ));
                }
                n => {
                    return Err(format!(
                        "`{}` holds the text to replace {n} times: {old:?}",
                        edit.path
                    ));
                }
            }
            fs::write(&path, text.replacen(old, new, 1)).map_err(|e| failed("write", e))?;
            Ok("replaced".into())
        }
        Action::Delete => {
            fs::remove_file(&path).map_err(|e| failed("delete", e))?;
            Ok("deleted".into())
        }
    }
}

fn make_parents(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(parent) => fs::create_dir_all(parent),
        None => Ok(()),
    }
}
