//! The directories that clients may name projects in.

use std::path::{Path, PathBuf};

/// Canonical directories, the first of them the one that relative paths begin at.
#[derive(Debug, Clone)]
pub struct Roots(Vec<PathBuf>);

/// A path that isn't below any of them.
#[derive(Debug, thiserror::Error)]
#[error("{path} is outside of what this server may touch")]
pub struct OutsideRoots {
    /// As it was given.
    pub path: String,
    /// What it may touch.
    pub roots: Vec<String>,
}

impl Roots {
    /// # Errors
    /// There is none, or one of them isn't a directory.
    pub fn new(dirs: &[PathBuf]) -> Result<Roots, String> {
        let canonical = |dir: &PathBuf| match dir.canonicalize() {
            Ok(path) if path.is_dir() => Ok(path),
            Ok(_) => Err(format!("{}: not a directory", dir.display())),
            Err(e) => Err(format!("{}: {e}", dir.display())),
        };
        let dirs: Vec<PathBuf> = dirs.iter().map(canonical).collect::<Result<_, _>>()?;
        if dirs.is_empty() {
            return Err("no directory to serve".to_owned());
        }
        Ok(Roots(dirs))
    }

    /// The first.
    pub fn first(&self) -> &Path {
        self.0.first().map_or(Path::new("/"), PathBuf::as_path)
    }

    /// The directory that a client names, links followed.
    ///
    /// # Errors
    /// It isn't there, or not below a root; the two aren't told apart.
    pub fn directory(&self, named: Option<&str>) -> Result<PathBuf, OutsideRoots> {
        let named = named.unwrap_or(".");
        let outside = || OutsideRoots {
            path: ralph_engine::text::one_line(named, 300),
            roots: self.0.iter().map(|r| r.display().to_string()).collect(),
        };
        let path = self.first().join(named);
        let path = path.canonicalize().map_err(|_| outside())?;
        let below = self.0.iter().any(|root| path.starts_with(root));
        (below && path.is_dir()).then_some(path).ok_or_else(outside)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn no_spelling_leads_outside() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().canonicalize().unwrap();
        for sub in ["in/deep", "in2", "out"] {
            std::fs::create_dir_all(at.join(sub)).unwrap();
        }
        std::os::unix::fs::symlink(at.join("out"), at.join("in/link")).unwrap();
        std::fs::write(at.join("in/file"), "").unwrap();
        let roots = Roots::new(&[at.join("in")]).unwrap();
        assert_eq!(roots.directory(None).unwrap(), at.join("in"));
        assert_eq!(roots.directory(Some("deep/..")).unwrap(), at.join("in"));
        let whole = at.join("in/deep");
        assert_eq!(roots.directory(whole.to_str()).unwrap(), whole);
        for bad in [
            "..",
            "../in2",
            "/",
            "/etc",
            "link",
            "deep/../../out",
            "gone",
            "file",
            "a\0b",
            "//etc",
        ] {
            let e = roots.directory(Some(bad)).unwrap_err();
            assert_eq!(e.roots, [at.join("in").display().to_string()], "{bad}");
        }
        assert!(Roots::new(&[]).is_err());
        assert!(Roots::new(&[at.join("in/file")]).is_err());
    }
}
