//! The command line for bubblewrap: a view of the file system in which what may
//! be changed is there as it is, and all else is read-only, or empty.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::grants::{Grants, SYSTEM};
use crate::policy::{Place, Policy, Profile};

/// Every program gets a `/tmp` of its own, unless it is listed in `write`.
const PRIVATE: &[&str] = &["/tmp", "/var/tmp"];

/// Doors to programs that would do outside what can't be done inside.
const DOORS: &[&str] = &[
    "/run/user",
    "/run/docker.sock",
    "/run/docker",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/libvirt",
    "/run/dbus",
    "/run/systemd/private",
    "/run/snapd.socket",
];

/// Parts of `/proc` through which the machine is set up.
const SETTINGS: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
];

/// What stands before the program's own arguments. `filters` are compiled seccomp programs.
pub(crate) fn arguments(
    policy: &Policy,
    place: &Place,
    grants: &Grants,
    cwd: &Path,
    filters: &[OwnedFd],
) -> Vec<OsString> {
    let mut args = Args(Vec::new());
    args.words(&[
        "--die-with-parent",
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--cap-drop",
        "ALL",
    ]);
    if rustix::process::geteuid().is_root() {
        // Without it nobody whose id is 0 can make a user namespace of their own in there.
        args.words(&["--cap-add", "CAP_SETFCAP"]);
    }
    if policy.profile == Profile::Custom {
        args.custom(grants);
    } else {
        args.bind("--ro-bind", Path::new("/"));
    }
    args.words(&["--dev", "/dev", "--proc", "/proc"]);
    if rustix::process::geteuid().is_root() {
        // The kernel's settings belong to root, in whatever namespace.
        for path in SETTINGS.iter().map(Path::new).filter(|p| p.exists()) {
            args.bind("--ro-bind", path);
        }
    }
    for dir in PRIVATE.iter().map(Path::new).filter(|dir| dir.is_dir()) {
        args.words(&["--tmpfs"]);
        args.path(dir);
    }
    let listed = |path: &PathBuf| {
        policy
            .write
            .iter()
            .any(|w| std::fs::canonicalize(w).is_ok_and(|w| w == *path))
    };
    let private =
        |path: &PathBuf| path.starts_with("/dev") || PRIVATE.iter().any(|p| Path::new(p) == path);
    for path in &grants.write_trees {
        if !private(path) || listed(path) {
            args.bind("--bind", path);
        }
    }
    let here = |path: &Path| std::fs::canonicalize(path).ok();
    let doors = DOORS.iter().map(Path::new).filter_map(here);
    let own = place.own.iter().filter_map(|p| here(p));
    let hidden: Vec<PathBuf> = grants
        .hidden
        .iter()
        .cloned()
        .chain(doors)
        .chain(own)
        .collect();
    args.cover(&hidden, grants);
    args.seal(grants);
    if policy.profile == Profile::Custom {
        // Directories that lead to what is listed are in memory; nothing is put there either.
        args.words(&["--remount-ro", "/"]);
    }
    args.words(&["--chdir"]);
    args.path(cwd);
    for filter in filters {
        args.words(&["--add-seccomp-fd"]);
        args.0.push(filter.as_raw_fd().to_string().into());
    }
    args.words(&["--"]);
    args.0
}

struct Args(Vec<OsString>);

impl Args {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn path(&mut self, path: &Path) {
        self.0.push(path.into());
    }

    fn bind(&mut self, word: &str, path: &Path) {
        self.words(&[word]);
        self.path(path);
        self.path(path);
    }

    /// Only the system's programs and what is listed; links at the top as they are.
    fn custom(&mut self, grants: &Grants) {
        for name in SYSTEM
            .iter()
            .map(Path::new)
            .filter(|p| !p.starts_with("/proc"))
        {
            if let Ok(to) = std::fs::read_link(name) {
                self.words(&["--symlink"]);
                self.path(&to);
                self.path(name);
            }
        }
        for path in grants.read_trees.iter().filter(|p| !p.starts_with("/proc")) {
            self.bind("--ro-bind", path);
        }
    }

    /// Nothing is in what is hidden but what was granted inside of it, and nothing can be put into it.
    fn cover(&mut self, hidden: &[PathBuf], grants: &Grants) {
        let inside = |path: &&PathBuf| hidden.iter().any(|h| path.starts_with(h) && *path != h);
        let hides = hidden.iter().map(|path| (path, None));
        let reads = grants.read_trees.iter().filter(inside);
        let writes = grants.write_trees.iter().filter(inside);
        let reads = reads.map(|path| (path, Some("--ro-bind")));
        let writes = writes.map(|path| (path, Some("--bind")));
        // What is around comes first; of one path, reading before writing.
        let mut all: Vec<_> = hides.chain(reads).chain(writes).collect();
        all.sort_by_key(|(path, _)| *path);
        all.dedup();
        for (path, word) in &all {
            match word {
                Some(word) => self.bind(word, path),
                None if path.is_dir() => {
                    self.words(&["--tmpfs"]);
                    self.path(path);
                }
                None => {
                    self.words(&["--ro-bind", "/dev/null"]);
                    self.path(path);
                }
            }
        }
        // Where the rest is mounted has been made by now.
        for (path, _) in all
            .iter()
            .filter(|(path, word)| word.is_none() && path.is_dir())
        {
            self.words(&["--remount-ro"]);
            self.path(path);
        }
    }

    /// A directory with something sealed in it is a mount itself: else it could be
    /// renamed, and another put in its place.
    fn seal(&mut self, grants: &Grants) {
        let writable = |path: &Path| grants.write_trees.iter().any(|w| path.starts_with(w));
        let sealed: Vec<&PathBuf> = grants.sealed.iter().filter(|p| writable(p)).collect();
        let mount = |path: &Path| grants.write_trees.iter().any(|w| w == path);
        let mut around: Vec<&Path> = sealed
            .iter()
            .flat_map(|p| p.ancestors().skip(1))
            .filter(|p| writable(p) && !mount(p))
            .collect();
        around.sort();
        around.dedup();
        for path in around {
            self.bind("--bind", path);
        }
        for path in sealed {
            self.bind("--ro-bind", path);
        }
    }
}

/// A seccomp program as bubblewrap reads it: from a file that is in memory.
pub(crate) fn compiled(filter: &[ralph_process::Instruction]) -> std::io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
    let fd = memfd_create("seccomp", MemfdFlags::CLOEXEC)?;
    let mut bytes = Vec::with_capacity(filter.len() * 8);
    for i in filter {
        bytes.extend(i.code.to_ne_bytes());
        bytes.extend([i.jt, i.jf]);
        bytes.extend(i.k.to_ne_bytes());
    }
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let written = rustix::io::write(&fd, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    seek(&fd, SeekFrom::Start(0))?;
    Ok(fd)
}

/// Is the program there, as the child would find it? bubblewrap itself would only say so in words.
pub(crate) fn finds(program: &OsStr, cwd: &Path, path: Option<&OsStr>) -> bool {
    if program.as_encoded_bytes().contains(&b'/') {
        return crate::probe::is_program(&cwd.join(program));
    }
    let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
    std::env::split_paths(path).any(|dir| crate::probe::is_program(&cwd.join(dir).join(program)))
}
