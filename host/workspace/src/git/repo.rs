//! Where the repository is and where its HEAD stands, read from files: no
//! process is started for what three small reads can tell.

use std::io;
use std::path::{Path, PathBuf};

use super::GitError;

/// Bytes of `HEAD`, a loose ref or a `.git` file that are read at most.
const MAX_SMALL: u64 = 4096;

#[derive(Debug)]
pub(super) struct Repo {
    /// This work tree's own directory: HEAD and index.
    pub(super) git_dir: PathBuf,
    /// Shared by all work trees: refs, config, hooks.
    pub(super) common_dir: PathBuf,
    /// The project's root within the work tree: empty, or `sub/dir/`.
    pub(super) prefix: String,
}

/// Where HEAD stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    /// Without `refs/heads/`; `None` if detached.
    pub(super) branch: Option<String>,
    /// `None` on a branch without commits.
    pub(super) oid: Option<String>,
}

impl Head {
    pub(super) fn in_words(&self) -> String {
        let oid = self
            .oid
            .as_deref()
            .map_or("no commit", |o| o.get(..12).unwrap_or(o));
        match &self.branch {
            Some(branch) => format!("`{}` ({oid})", branch.escape_debug()),
            None => format!("a detached HEAD ({oid})"),
        }
    }
}

impl Repo {
    /// Looks for `.git` in `root` (absolute, without links) and above.
    pub(super) fn discover(root: &Path) -> Result<Repo, GitError> {
        for dir in root.ancestors() {
            let dot_git = dir.join(".git");
            if dot_git.is_file() {
                return Repo::at(root, dir, &follow_git_file(dir, &dot_git)?);
            }
            if looks_like_git_dir(&dot_git) {
                return Repo::at(root, dir, &dot_git);
            }
            if looks_like_git_dir(dir) {
                return Err(GitError::NoWorkTree {
                    path: dir.to_owned(),
                });
            }
        }
        Err(GitError::NotARepository {
            root: root.to_owned(),
        })
    }

    fn at(root: &Path, top: &Path, git_dir: &Path) -> Result<Repo, GitError> {
        let git_dir = git_dir
            .canonicalize()
            .map_err(|e| GitError::io("open", git_dir, e))?;
        let common_dir = match read_small(&git_dir.join("commondir"))? {
            Some(text) => {
                let path = git_dir.join(text.trim_end_matches(['\n', '\r']));
                path.canonicalize()
                    .map_err(|e| GitError::io("open", path, e))?
            }
            None => git_dir.clone(),
        };
        let below = root.strip_prefix(top).unwrap_or(Path::new(""));
        let prefix = match below.to_str() {
            Some("") => String::new(),
            Some(below) => format!("{below}/"),
            None => {
                let e = io::Error::other("its name isn't UTF-8");
                return Err(GitError::io("use", root, e));
            }
        };
        Ok(Repo {
            git_dir,
            common_dir,
            prefix,
        })
    }

    /// Where HEAD stands; `None` if only git can tell (refs kept in another way than files).
    pub(super) fn head(&self) -> Result<Option<Head>, GitError> {
        if self.common_dir.join("reftable").exists() {
            return Ok(None);
        }
        let path = self.git_dir.join("HEAD");
        let Some(text) = read_small(&path)? else {
            return Err(GitError::io("read", path, io::ErrorKind::NotFound.into()));
        };
        match text.strip_prefix("ref: ").map(str::trim_end) {
            None => Ok(Some(Head {
                branch: None,
                oid: oid(&text),
            })),
            Some(name) => {
                let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
                Ok(Some(Head {
                    branch,
                    oid: self.resolve(name, 0)?,
                }))
            }
        }
    }

    fn resolve(&self, name: &str, depth: u8) -> Result<Option<String>, GitError> {
        if depth > 5 || name.split('/').any(|part| part == "..") || name.starts_with('/') {
            return Ok(None);
        }
        // Loose, packed, and loose again: it may have been packed in between.
        for _ in 0..2 {
            for dir in [&self.git_dir, &self.common_dir] {
                if let Some(text) = read_small(&dir.join(name))? {
                    return match text.strip_prefix("ref: ") {
                        Some(next) => self.resolve(next.trim_end(), depth + 1),
                        None => Ok(oid(&text)),
                    };
                }
            }
            if let Some(found) = self.packed(name)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn packed(&self, name: &str) -> Result<Option<String>, GitError> {
        let path = self.common_dir.join("packed-refs");
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(GitError::io("read", path, e)),
        };
        Ok(text
            .split(|b| *b == b'\n')
            .filter_map(|line| std::str::from_utf8(line).ok()?.split_once(' '))
            .find(|(_, n)| *n == name)
            .and_then(|(id, _)| oid(id)))
    }

    /// A merge or the like that has not been finished.
    pub(super) fn in_progress(&self) -> Option<GitError> {
        [
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase or `git am`"),
        ]
        .into_iter()
        .map(|(name, what)| (self.git_dir.join(name), what))
        .find(|(marker, _)| marker.exists())
        .map(|(marker, what)| GitError::InProgress { what, marker })
    }

    /// Relative to the project's root; `None` if it lies outside of it.
    pub(super) fn strip<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        path.strip_prefix(self.prefix.as_bytes())
    }
}

/// The tree without entries; git knows it without having it stored.
pub(super) fn empty_tree(like: &str) -> &'static str {
    if like.len() == 64 {
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    } else {
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    }
}

/// Whether a nested repository has a commit, without which git cannot record it.
pub(super) fn has_commit(dir: &Path) -> bool {
    Repo::discover(dir).is_ok_and(|repo| match repo.head() {
        Ok(Some(head)) => head.oid.is_some() && repo.prefix.is_empty(),
        Ok(None) => true,
        Err(_) => false,
    })
}

fn oid(text: &str) -> Option<String> {
    let text = text.trim_end();
    let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then(|| text.to_owned())
}

fn follow_git_file(dir: &Path, file: &Path) -> Result<PathBuf, GitError> {
    let text = read_small(file)?.unwrap_or_default();
    match text.strip_prefix("gitdir: ") {
        Some(to) => Ok(dir.join(to.trim_end_matches(['\n', '\r']))),
        None => Err(GitError::io(
            "read",
            file,
            io::Error::other("it doesn't begin with `gitdir: `"),
        )),
    }
}

fn looks_like_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").symlink_metadata().is_ok()
        && (dir.join("commondir").is_file()
            || (dir.join("objects").is_dir() && dir.join("refs").exists()))
}

/// `None` if there is no such file, or a directory of that name.
fn read_small(path: &Path) -> Result<Option<String>, GitError> {
    use std::io::Read;
    let gone = |e: &io::Error| {
        matches!(
            e.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
        )
    };
    let mut text = Vec::new();
    match std::fs::File::open(path).and_then(|f| f.take(MAX_SMALL).read_to_end(&mut text)) {
        Ok(_) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(e) if gone(&e) => Ok(None),
        Err(e) => Err(GitError::io("read", path, e)),
    }
}
