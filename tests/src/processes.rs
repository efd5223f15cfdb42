//! Which processes work below a directory. What a run starts has its working
//! directory there, whatever else it does to hide.

use std::path::Path;

/// A living process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its command line, words separated by blanks.
    pub command: String,
}

/// All living processes whose working directory is below `dir`.
pub fn below(dir: &Path) -> Vec<Process> {
    let dir = dir.canonicalize().expect("a directory");
    let all = std::fs::read_dir("/proc").expect("/proc");
    all.flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let cwd = std::fs::read_link(entry.path().join("cwd")).ok()?;
            let command = std::fs::read(entry.path().join("cmdline")).ok()?;
            cwd.starts_with(&dir).then(|| Process {
                pid,
                command: String::from_utf8_lossy(&command).replace('\0', " "),
            })
        })
        .collect()
}
