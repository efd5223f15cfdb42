//! From a policy and a place to lists of paths.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::policy::{Place, Policy, Profile};
use crate::secrets;

/// A directory with more entries than this isn't taken apart to leave something
/// of it out: it is left out whole.
const ENTRIES_MAX: usize = 4096;

/// Programs and libraries, for a profile that reads nothing else.
pub(crate) const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/nix",
    "/proc",
    "/sys/devices/system/cpu",
    "/run/systemd/resolve",
];

/// Devices that hold nobody's data.
pub(crate) const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// What tool chains download and keep, relative to the home directory. Programs
/// that a person runs by name (`~/.cargo/bin`) are not among it.
const CACHES: &[&str] = &[
    ".cache",
    ".npm",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".rustup/tmp",
    ".rustup/downloads",
    "go/pkg",
    ".gradle",
    ".m2/repository",
    ".nuget/packages",
    ".pnpm-store",
    ".local/share/pnpm",
    ".yarn/berry",
    ".bun/install/cache",
    ".deno",
    ".hex",
    ".mix",
];

/// Parts of a shared git directory that work in a worktree has to change.
const SHARED_GIT: &[&str] = &["objects", "refs", "logs"];

/// Absolute paths that exist, links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    /// Whole trees that can be read and executed.
    pub(crate) read: Vec<PathBuf>,
    /// Whole trees that can be changed as well.
    pub(crate) write: Vec<PathBuf>,
    /// What is in none of `read`, although its surroundings may be.
    pub(crate) hidden: Vec<PathBuf>,
    /// What lies inside `write` and may not change.
    pub(crate) sealed: Vec<PathBuf>,
    /// Trees as they were asked for, before what is hidden was taken out: for a view,
    /// which can take things out itself.
    pub(crate) write_trees: Vec<PathBuf>,
    /// As `write_trees`; `/` if everything can be read.
    pub(crate) read_trees: Vec<PathBuf>,
    /// Neither the work tree nor what it shares with others lets git's hooks and configuration be changed.
    pub(crate) git_apart: bool,
}

impl Grants {
    pub(crate) fn of(policy: &Policy, place: &Place) -> Grants {
        let mut writable = real(&policy.write);
        writable.extend(real(&place.state));
        let readable = real(&policy.read);
        let mut unwritten = real(secrets::of(&place.home).iter().chain(&place.foreign));
        unwritten.retain(|secret| !writable.contains(secret));
        unwritten.sort();
        unwritten.dedup();
        let mut hidden = unwritten.clone();
        hidden.retain(|secret| !readable.contains(secret));
        let (kept, shown) = (real(&place.kept), real(&place.shown));
        hidden.extend_from_slice(&kept);
        unwritten.extend_from_slice(&kept);
        let lies_in_any = |tree: &Path, of: &[PathBuf]| of.iter().any(|o| lies_in(tree, o));
        let reachable = |tree: &PathBuf| !lies_in_any(tree, &kept) || lies_in_any(tree, &shown);

        let mut read_trees = match policy.profile {
            Profile::Custom => real(SYSTEM.iter().map(Path::new)),
            _ => vec![PathBuf::from("/")],
        };
        read_trees.extend(readable);
        if policy.profile != Profile::Custom {
            read_trees.extend_from_slice(&shown);
        }
        read_trees.retain(reachable);

        let mut write_trees = writable;
        write_trees.extend(real(&place.scratch));
        let mut git_apart = false;
        if policy.profile == Profile::WorkspaceWrite {
            write_trees.extend(real([&place.root]));
            write_trees.extend(temporary(place));
            write_trees.extend(real(CACHES.iter().map(|name| place.home.join(name))));
            write_trees.extend(real(&place.caches));
            if let Some((own, common)) = &place.git {
                git_apart = own != common;
                write_trees.extend(real([own]));
                if git_apart {
                    write_trees.extend(real(SHARED_GIT.iter().map(|name| common.join(name))));
                }
            }
        }
        write_trees.retain(reachable);
        // Those around others come first.
        write_trees.sort();
        write_trees.dedup();

        // The devices are handed out one by one.
        let mut unread = hidden.clone();
        unread.push(PathBuf::from("/dev"));
        // A directory for temporary files is no use if nothing new can be put into it,
        // and nobody keeps there what is to last.
        let passing = temporary(place);
        let own = real(&place.own);
        unwritten.extend(
            own.into_iter()
                .filter(|o| !passing.iter().any(|t| o.starts_with(t))),
        );
        Grants {
            read: spread_all(&read_trees, &unread),
            write: spread_all(&write_trees, &unwritten),
            sealed: real(&place.sealed),
            hidden,
            write_trees,
            read_trees,
            git_apart,
        }
    }
}

fn temporary(place: &Place) -> Vec<PathBuf> {
    let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(Path::new);
    real(usual.into_iter().chain(place.tmp.as_deref()))
}

/// Those that exist, links resolved.
fn real(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Vec<PathBuf> {
    paths
        .into_iter()
        // Most don't exist: that is found out with one call, a real path with one for each step of it.
        .filter(|p| std::fs::symlink_metadata(p).is_ok())
        .filter_map(|p| std::fs::canonicalize(p).ok())
        .collect()
}

fn spread_all(trees: &[PathBuf], without: &[PathBuf]) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let without: Vec<&Path> = without.iter().map(PathBuf::as_path).collect();
    for tree in trees {
        spread(tree, &without, &mut out);
    }
    out.sort();
    out.dedup();
    out
}

/// A tree as the trees in it that have nothing of `without` in them.
fn spread(tree: &Path, without: &[&Path], out: &mut Vec<PathBuf>) {
    let inside: Vec<&Path> = without
        .iter()
        .copied()
        .filter(|w| lies_in(w, tree))
        .collect();
    if inside.is_empty() {
        out.push(tree.to_owned());
        return;
    }
    if inside.contains(&tree) {
        return;
    }
    let Ok(entries) = std::fs::read_dir(tree) else {
        return;
    };
    let entries: Vec<_> = entries.take(ENTRIES_MAX + 1).flatten().collect();
    if entries.len() > ENTRIES_MAX {
        tracing::warn!(
            "{} has more than {ENTRIES_MAX} entries and something to hide: all of it is out of the program's reach",
            tree.display()
        );
        return;
    }
    for entry in entries {
        // What a link leads to has a place of its own.
        if entry.file_type().is_ok_and(|t| !t.is_symlink()) {
            spread(&entry.path(), &inside, out);
        }
    }
}

/// The same as [`Path::starts_with`] for real paths, of which there are thousands of pairs here.
fn lies_in(path: &Path, tree: &Path) -> bool {
    let (path, tree) = (path.as_os_str().as_bytes(), tree.as_os_str().as_bytes());
    match path.strip_prefix(tree) {
        Some(rest) => rest.is_empty() || rest[0] == b'/' || tree == b"/",
        None => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::policy::{Layer, Limits, Network};
    use std::fs;

    fn policy(profile: Profile) -> Policy {
        Policy {
            profile,
            layer: Layer::Landlock,
            read: Vec::new(),
            write: Vec::new(),
            network: Network::Open,
            limits: Limits::default(),
        }
    }

    fn covers(trees: &[PathBuf], path: &Path) -> bool {
        trees.iter().any(|t| path.starts_with(t))
    }

    #[test]
    fn a_tree_is_taken_apart_only_where_something_is_to_be_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        for name in ["a/x", "a/y/secret", "b"] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(top.join("a/y"), top.join("link")).unwrap();
        let mut out = Vec::new();
        spread(&top, &[&top.join("a/y/secret")], &mut out);
        out.sort();
        assert_eq!(out, [top.join("a/x"), top.join("b")]);
        out.clear();
        spread(&top, &[], &mut out);
        assert_eq!(out, [top]);
    }

    #[test]
    fn a_path_lies_in_what_its_first_steps_are() {
        let paths = ["/", "/a", "/a/b", "/ab", "/a/bc", "/b"].map(Path::new);
        for (path, tree) in paths.iter().flat_map(|p| paths.map(|t| (p, t))) {
            assert_eq!(
                lies_in(path, tree),
                path.starts_with(tree),
                "{path:?} {tree:?}"
            );
        }
    }

    #[test]
    fn secrets_are_left_out_unless_they_are_listed() {
        let dir = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(dir.path()).unwrap();
        for name in [
            ".ssh",
            ".aws",
            "src/app",
            ".codex",
            ".claude",
            "elsewhere/keys",
        ] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        // A secret is where its link leads.
        std::os::unix::fs::symlink(home.join("elsewhere/keys"), home.join(".gnupg")).unwrap();
        let place = Place {
            root: home.join("src/app"),
            home: home.clone(),
            state: vec![home.join(".codex")],
            foreign: vec![home.join(".claude")],
            ..Place::default()
        };
        let mut policy = policy(Profile::WorkspaceWrite);
        policy.read.push(home.join(".aws"));
        let grants = Grants::of(&policy, &place);
        let reads = |name: &str| {
            covers(&grants.read, &home.join(name)) || covers(&grants.write, &home.join(name))
        };
        assert!(reads("src/app") && reads(".aws") && reads(".codex"));
        for secret in [".ssh", "elsewhere/keys", ".claude"] {
            assert!(!reads(secret), "{secret}: {grants:?}");
        }
        assert!(!covers(&grants.read, Path::new("/dev/sda")));
        assert!(covers(&grants.write, &home.join(".codex")));
        assert!(!covers(&grants.write, &home.join(".aws")));
    }

    #[test]
    fn what_the_host_keeps_is_out_of_reach_also_where_it_is_listed() {
        let dir = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(dir.path()).unwrap();
        for name in ["keep/run/tree/app", "keep/other", "keep/tokens"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        fs::write(home.join("keep/run/tree/app/key"), "").unwrap();
        let place = Place {
            root: home.join("keep/run/tree/app"),
            home: home.clone(),
            kept: vec![home.join("keep"), home.join("keep/run/tree/app/key")],
            shown: vec![home.join("keep/run/tree")],
            ..Place::default()
        };
        for profile in [Profile::ReadOnly, Profile::WorkspaceWrite, Profile::Custom] {
            let mut policy = policy(profile);
            policy.read = vec![home.join("keep"), home.join("keep/tokens")];
            policy.write = vec![home.join("keep/other"), home.join("keep/run/tree/app")];
            let grants = Grants::of(&policy, &place);
            let reads = |name: &str| {
                covers(&grants.read, &home.join(name)) || covers(&grants.write, &home.join(name))
            };
            for name in ["keep", "keep/other", "keep/tokens", "keep/run/tree/app/key"] {
                assert!(!reads(name), "{profile:?} {name}: {grants:?}");
            }
            // A file that is there; in its own directory nothing new, for a key is in it.
            fs::write(home.join("keep/run/tree/app/file"), "").unwrap();
            let grants = Grants::of(&policy, &place);
            assert!(covers(&grants.write, &home.join("keep/run/tree/app/file")));
        }
    }

    #[test]
    fn a_profile_that_only_reads_writes_its_scratch_and_its_state() {
        let dir = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(dir.path()).unwrap();
        for name in ["app", ".codex", "scratch", ".cache"] {
            fs::create_dir(home.join(name)).unwrap();
        }
        let place = Place {
            root: home.join("app"),
            home: home.clone(),
            scratch: Some(home.join("scratch")),
            state: vec![home.join(".codex")],
            ..Place::default()
        };
        let grants = Grants::of(&policy(Profile::ReadOnly), &place);
        assert_eq!(grants.write, [home.join(".codex"), home.join("scratch")]);
        let custom = Grants::of(&policy(Profile::Custom), &place);
        assert!(!covers(&custom.read, &home.join("app")));
    }

    #[test]
    fn in_a_worktree_hooks_and_configuration_are_out_of_reach() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let place = Place {
            root: top.join("wt"),
            home: top.join("home"),
            git: Some((top.join("git/worktrees/wt"), top.join("git"))),
            ..Place::default()
        };
        for name in [
            "wt",
            "home",
            "git/worktrees/wt",
            "git/objects",
            "git/refs",
            "git/hooks",
        ] {
            fs::create_dir_all(top.join(name)).unwrap();
        }
        let grants = Grants::of(&policy(Profile::WorkspaceWrite), &place);
        // The whole lies below /tmp, which is writable; what is asked for beyond that is seen all the same.
        assert!(grants.git_apart);
        assert!(!grants.write_trees.contains(&top.join("git")));
    }
}
