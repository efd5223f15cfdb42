//! Files that git doesn't record, but whose change must not go unseen: they
//! can run something at the next commit, or steer ralph itself.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use super::Git;
use crate::hash::{sha256_hex, sha256_hex_of};
use crate::path::is_own_record;

/// Directory entries looked at, at most.
const MAX_ENTRIES: usize = 20_000;
const MAX_DEPTH: usize = 16;
/// A file younger than this may change again without its time changing.
const SETTLED: Duration = Duration::from_secs(2);

/// Hashes by name, with what tells whether the file was written since.
#[derive(Debug, Default)]
pub(super) struct Hashes(HashMap<String, (Key, String)>);

type Key = (u64, u64, u64, i64, i64, i64, i64);

impl Git {
    /// Never fails: what cannot be read is recorded as that.
    pub(super) fn protected(&self) -> BTreeMap<String, String> {
        let mut memory = self.memory();
        let watched = memory.watched.clone();
        let mut walk = Walk {
            found: BTreeMap::new(),
            hashes: &mut memory.hashes,
            left: MAX_ENTRIES,
        };
        let (common, own) = (&self.repo().common_dir, &self.repo().git_dir);
        if let Some(dir) = open(common) {
            for name in ["config", "info/attributes", "info/exclude"] {
                walk.file(&dir, name, &format!(".git/{name}"));
            }
            walk.below(&dir, "hooks", ".git/hooks", 0);
        }
        if let Some(dir) = open(own) {
            walk.file(&dir, "config.worktree", ".git/config.worktree");
        }
        let root = self.inner.ws.dir();
        for name in ["ralph.toml", "ralph.lock"] {
            walk.file(root, name, name);
        }
        walk.below(root, ".ralph", ".ralph", 0);
        for name in &watched {
            walk.below(root, name, name, 0);
        }
        if walk.left == 0 {
            tracing::warn!(
                MAX_ENTRIES,
                "too many files below .ralph/ and .git/hooks/ to watch them all"
            );
        }
        walk.found
    }
}

fn open(dir: &Path) -> Option<Dir> {
    Dir::open_ambient_dir(dir, ambient_authority()).ok()
}

struct Walk<'h> {
    found: BTreeMap<String, String>,
    hashes: &'h mut Hashes,
    left: usize,
}

impl Walk<'_> {
    fn below(&mut self, base: &Dir, name: &str, shown: &str, depth: usize) {
        match base.symlink_metadata(name) {
            Ok(meta) if meta.is_dir() && depth < MAX_DEPTH => {}
            Ok(_) => return self.file(base, name, shown),
            Err(_) => return,
        }
        let Ok(dir) = base.open_dir(name) else {
            self.found.insert(shown.to_owned(), "unreadable".to_owned());
            return;
        };
        // A work tree of its own is not part of this one.
        if depth > 0 && dir.symlink_metadata(".git").is_ok() {
            return;
        }
        let Ok(entries) = dir.entries() else { return };
        let mut names: Vec<String> = entries
            .flatten()
            .map(|e| e.file_name().to_string_lossy().into_owned())
            // git never runs these.
            .filter(|n| !(shown == ".git/hooks" && n.ends_with(".sample")))
            .collect();
        names.sort_unstable();
        for name in names {
            let Some(left) = self.left.checked_sub(1) else {
                return;
            };
            self.left = left;
            let shown = format!("{shown}/{name}");
            if !is_own_record(&shown) {
                self.below(&dir, &name, &shown, depth + 1);
            }
        }
    }

    fn file(&mut self, dir: &Dir, name: &str, shown: &str) {
        let Ok(meta) = dir.symlink_metadata(name) else {
            return;
        };
        let value = if meta.file_type().is_symlink() {
            let to = dir.read_link_contents(name).unwrap_or_default();
            format!("link:{}", sha256_hex(to.as_os_str().as_encoded_bytes()))
        } else if meta.is_file() {
            self.hash(dir, name, shown, &meta)
        } else {
            "not a file".to_owned()
        };
        self.found.insert(shown.to_owned(), value);
    }

    fn hash(&mut self, dir: &Dir, name: &str, shown: &str, meta: &cap_std::fs::Metadata) -> String {
        let key = (
            meta.dev(),
            meta.ino(),
            meta.size() ^ (u64::from(meta.mode()) << 40),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        );
        if let Some((known, hash)) = self.hashes.0.get(shown)
            && *known == key
        {
            return hash.clone();
        }
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed());
        let Some(hash) = dir
            .open_with(name, &options)
            .ok()
            .and_then(|file| sha256_hex_of(file).ok())
        else {
            return "unreadable".to_owned();
        };
        // Whether a hook may be run is part of what it is.
        let hash = if meta.mode() & 0o111 == 0 {
            hash
        } else {
            format!("{hash} x")
        };
        let changed = Duration::from_secs(u64::try_from(meta.ctime()).unwrap_or(0));
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        if changed + SETTLED < now {
            self.hashes.0.insert(shown.to_owned(), (key, hash.clone()));
        }
        hash
    }
}
