//! Debian and Ubuntu: their Rust, its sources, and a libc for WASI.

use std::path::{Path, PathBuf};

use crate::command::{answer, minutes, program, run};
use crate::paths;

/// What it is on Debian, for advice when apt's lists say nothing.
const USUAL: [&str; 5] = [
    "rustc-web",
    "rust-web-src",
    "rust-web-llvm",
    "lld-22",
    "wasi-libc",
];

/// The oldest compiler, as minor version of 1.x, that the guests' dependencies take.
const OLDEST: u32 = 88;

/// A compiler and what belongs to it.
struct Packages {
    rustc: String,
    others: Vec<String>,
}

impl Packages {
    fn names(&self) -> String {
        std::iter::once(&self.rustc)
            .chain(&self.others)
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

pub fn is_there() -> bool {
    paths::program("apt-get").is_some() && paths::program("apt-cache").is_some()
}

pub fn is_root() -> bool {
    answer(&mut program("id", &["-u"])).as_deref() == Some("0")
}

/// The compilers that packages have installed, newest first.
pub fn compilers() -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/usr/bin")
        .into_iter()
        .flatten()
        .flatten();
    let mut versions: Vec<u32> = entries
        .filter_map(|e| minor(e.file_name().to_str()?.strip_prefix("rustc-")?))
        .collect();
    versions.sort_unstable();
    let versioned = versions
        .iter()
        .rev()
        .map(|minor| format!("/usr/bin/rustc-1.{minor}"));
    std::iter::once("/usr/bin/rustc".to_string())
        .chain(versioned)
        .map(PathBuf::from)
        .filter(|path| path.is_file())
        .collect()
}

/// Where the libc for WASI is installed.
pub fn wasi_libc() -> Option<PathBuf> {
    let places = ["/usr/lib/wasm32-wasip2", "/usr/lib/wasm32-wasi"];
    places
        .iter()
        .map(Path::new)
        .find(|dir| dir.join("libc.a").is_file())
        .map(Path::to_path_buf)
}

/// The `96` of `1.96.0+dfsg1-1`.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("1.")?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

/// The minor version of the compiler that apt would install under this name.
fn offered(name: &str) -> Option<u32> {
    let policy = answer(&mut program("apt-cache", &["policy", name]))?;
    let line = policy
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    minor(line)
}

fn is_offered(name: &str) -> bool {
    answer(&mut program("apt-cache", &["policy", name]))
        .is_some_and(|p| p.contains("Candidate:") && !p.contains("Candidate: (none)"))
}

/// The linker: rust's own is a link into the package that belongs to the same
/// LLVM, on which nothing depends.
fn lld(llvm: &str) -> Option<String> {
    let depends = answer(&mut program("apt-cache", &["depends", llvm]))?;
    let mut names = depends.split_ascii_whitespace();
    names.find_map(|name| Some(format!("lld-{}", name.strip_prefix("llvm-")?)))
}

/// What to install, from what apt offers.
fn packages() -> Option<Packages> {
    let listed = answer(&mut program("apt-cache", &["pkgnames", "rustc-1."])).unwrap_or_default();
    let mut versioned: Vec<u32> = listed
        .lines()
        .filter_map(|l| minor(l.strip_prefix("rustc-")?))
        .collect();
    versioned.sort_unstable();
    let newest = versioned.last().map(|minor| format!("-1.{minor}"));
    // Named `rustc-web`, `rustc-1.NN` or `rustc`, and the rest alike.
    let infixes = std::iter::once("-web".to_string())
        .chain(newest)
        .chain([String::new()]);
    infixes.into_iter().find_map(|infix| {
        let rustc = format!("rustc{infix}");
        let source = format!("rust{infix}-src");
        if offered(&rustc)? < OLDEST || !is_offered(&source) {
            return None;
        }
        let llvm = format!("rust{infix}-llvm");
        let more = [
            lld(&llvm),
            Some(llvm),
            Some(format!("libstd-rust{infix}-dev-wasm32")),
        ];
        let mut others = vec![source, "wasi-libc".to_string()];
        others.extend(more.into_iter().flatten().filter(|name| is_offered(name)));
        Some(Packages { rustc, others })
    })
}

/// What a person would type.
pub fn command() -> String {
    let sudo = if is_root() { "" } else { "sudo " };
    let names = packages().map_or_else(|| USUAL.join(" "), |packages| packages.names());
    format!("{sudo}apt-get update && {sudo}apt-get install {names}")
}

/// As root. Removes nothing: where the packages conflict with installed ones
/// it fails.
pub fn install_rust() -> Result<(), String> {
    apt_get(&["update"])?;
    let packages = packages().ok_or("apt offers no Rust that is new enough, with its sources")?;
    let options = ["install", "--yes", "--no-remove", "--no-install-recommends"];
    let names = packages.names();
    apt_get(
        &options
            .into_iter()
            .chain(names.split(' '))
            .collect::<Vec<_>>(),
    )
}

fn apt_get(args: &[&str]) -> Result<(), String> {
    eprintln!("      apt-get {}", args.join(" "));
    let mut command = program("apt-get", args);
    // No questions: there may be nobody to answer.
    run(
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-q"),
        minutes(15),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_packages_and_program_names() {
        assert_eq!(minor("1.96.0+dfsg1-1~deb12u2"), Some(96));
        assert_eq!(minor("1.85"), Some(85));
        assert_eq!(minor("2.0"), None);
        assert_eq!(minor("1.x"), None);
    }
}
