//! `ralph plugin new`: a project that builds and passes its own test at once.

use std::path::{Path, PathBuf};

use ralph_plugins::{Kind, Manifest};

use crate::error::Error;
use crate::lang::Lang;
use crate::pack;
use crate::project::{self, check_name};

/// What was made.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Made {
    /// Its folder.
    pub dir: PathBuf,
    /// Language.
    pub lang: Lang,
    /// Kind.
    pub kind: Kind,
    /// Its files, relative to the folder, sorted.
    pub files: Vec<String>,
}

/// Writes a project into a new folder below `parent`.
///
/// # Errors
/// The name is none, the combination isn't offered, or there is something of that name. Nothing
/// is left behind then.
pub fn scaffold(parent: &Path, name: &str, lang: Lang, kind: Kind) -> Result<Made, Error> {
    check_name(name).map_err(Error::Usage)?;
    if !lang.kinds().contains(&kind) {
        let kinds: Vec<_> = lang.kinds().iter().map(|kind| kind.as_str()).collect();
        return Err(Error::Usage(format!(
            "there is no template for the kind {kind} in {lang}; {lang} has {}, rust has all",
            kinds.join(", ")
        )));
    }
    let dir = parent.join(name);
    if dir.symlink_metadata().is_ok() {
        return Err(Error::Usage(format!(
            "{} is there already; nothing was changed",
            dir.display()
        )));
    }
    let files = files(name, lang, kind)?;
    // Written beside it and renamed: whole, or not there.
    let part = tempfile::Builder::new()
        .prefix(&format!(".{name}-"))
        .tempdir_in(parent)
        .map_err(|e| Error::io(parent, e))?;
    for (path, content) in &files {
        let to = part.path().join(path);
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
        }
        std::fs::write(&to, content).map_err(|e| Error::io(&to, e))?;
    }
    readable(part.path())?;
    // A folder that came meanwhile isn't replaced unless it is empty, which loses nothing.
    std::fs::rename(part.path(), &dir).map_err(|e| Error::io(&dir, e))?;
    let _ = part.keep();
    Ok(Made {
        dir,
        lang,
        kind,
        files: files.into_iter().map(|(path, _)| path).collect(),
    })
}

/// A temporary directory is its owner's alone; a project is as others are.
fn readable(dir: &Path) -> Result<(), Error> {
    let like = dir.join("cases");
    let modes = std::fs::metadata(&like).map_err(|e| Error::io(&like, e))?;
    std::fs::set_permissions(dir, modes.permissions()).map_err(|e| Error::io(dir, e))
}

/// All files of a project, sorted.
fn files(name: &str, lang: Lang, kind: Kind) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (folder, to) in [
        ("templates/common".to_owned(), ""),
        (format!("templates/cases/{kind}"), "cases/"),
        (format!("templates/{lang}/common"), ""),
        (format!("templates/{lang}/{kind}"), ""),
    ] {
        for (path, content) in pack::below(&folder) {
            let path = format!("{to}{}", placed(path));
            files.push((path, filled(content, name, kind)));
        }
    }
    let sdk = match lang {
        Lang::Ts => "js",
        other => other.as_str(),
    };
    for (path, content) in pack::below(&format!("sdk/{sdk}")) {
        files.push((format!("sdk/{sdk}/{path}"), content.to_vec()));
    }
    let wit = match lang {
        Lang::Rust => "wit",
        _ => "wit/deps/ralph-plugin",
    };
    for (path, content) in pack::below("wit") {
        files.push((format!("{wit}/{path}"), content.to_vec()));
    }
    if lang != Lang::Rust {
        let manifest = files.iter().find(|(path, _)| path == "plugin.toml");
        let text = manifest.map(|(_, content)| String::from_utf8_lossy(content).into_owned());
        let manifest = parsed(&text.unwrap_or_default())?;
        let world = project::world(&manifest, pack::CONTRACT);
        files.push(("wit/world.wit".into(), world.into_bytes()));
    }
    files.sort();
    Ok(files)
}

fn parsed(text: &str) -> Result<Manifest, Error> {
    let dir = tempfile::tempdir().map_err(|e| Error::io("a temporary directory", e))?;
    let path = dir.path().join("plugin.toml");
    std::fs::write(&path, text).map_err(|e| Error::io(&path, e))?;
    let manifest = project::Project::open(dir.path())?.manifest;
    manifest.ok_or_else(|| Error::Usage("a template without a manifest".into()))
}

/// Where a template's file goes: names that mean something in this repository are spelled otherwise.
fn placed(path: &str) -> String {
    path.replace("gitignore", ".gitignore")
        .replace("Cargo.toml.in", "Cargo.toml")
}

/// What a template of this kind asks for.
fn asked(kind: Kind) -> &'static str {
    match kind {
        Kind::Gate => {
            "changes = true\n#process = [\"git\"]    # programs it has ralph run\n#read = [\".\"]         # directories of the project\n"
        }
        Kind::Notifier => "process = [\"logger\"]\n",
        Kind::Tracker => "write = [\".\"]\n",
        _ => "#clock = true\n#random = true\n",
    }
}

fn filled(content: &[u8], name: &str, kind: Kind) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(content) else {
        return content.to_vec();
    };
    text.replace("@CAPABILITIES@", asked(kind))
        .replace("@NAME@", name)
        .replace("@IDENT@", &name.replace('-', "_"))
        .replace("@KIND@", kind.as_str())
        .replace("@CONTRACT@", pack::CONTRACT)
        .into_bytes()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn each_combination_that_is_offered_has_its_template_and_cases() {
        for lang in Lang::ALL {
            for kind in lang.kinds() {
                let dir = tempfile::tempdir().unwrap();
                let made = scaffold(dir.path(), "my-plugin", lang, *kind).unwrap();
                let has = |path: &str| made.files.iter().any(|f| f == path);
                assert!(has("README.md") && has(".gitignore"), "{lang} {kind}");
                assert!(
                    made.files.iter().any(|f| f.starts_with("cases/")),
                    "{lang} {kind}"
                );
                assert!(
                    made.files.iter().any(|f| f.starts_with("src/")),
                    "{lang} {kind}"
                );
                let project = project::Project::open(&made.dir).unwrap();
                assert_eq!((project.lang, project.name.as_str()), (lang, "my-plugin"));
                for file in &made.files {
                    let text = std::fs::read(made.dir.join(file)).unwrap();
                    let text = String::from_utf8_lossy(&text);
                    assert!(
                        file.starts_with("sdk/") || !text.contains("@NAME@"),
                        "{file}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_there_stays_as_it_is_and_nothing_half_is_left() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/mine"), "x").unwrap();
        let why = scaffold(dir.path(), "a", Lang::Js, Kind::Gate).unwrap_err();
        assert!(why.to_string().contains("is there already"), "{why}");
        std::os::unix::fs::symlink("/nowhere", dir.path().join("b")).unwrap();
        assert!(scaffold(dir.path(), "b", Lang::Js, Kind::Gate).is_err());
        let why = scaffold(dir.path(), "c", Lang::Go, Kind::Agent).unwrap_err();
        assert!(why.to_string().contains("no template"), "{why}");
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }
}
