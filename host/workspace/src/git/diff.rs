//! A bounded unified diff between two snapshots.

use ralph_engine::types::DiffText;

use super::run::Cmd;
use super::{Git, GitError, Snapshot};
use crate::path::{RECORD_DIRS, RECORD_FILES, TEMP_PREFIX};

impl Git {
    /// The unified diff from `base` to `now`, without ralph's own records and
    /// `ignore`, at most `max_bytes` long. A file whose diff no longer fits is
    /// left out whole; in its place stands its header and how long it was.
    /// Bytes that aren't UTF-8 become replacement characters. Memory is bounded
    /// by `max_bytes`, however long the diff is.
    ///
    /// # Errors
    /// What git says.
    pub async fn diff(
        &self,
        base: &Snapshot,
        now: &Snapshot,
        ignore: &[String],
        max_bytes: u64,
    ) -> Result<DiffText, GitError> {
        base.check()?;
        now.check()?;
        if base.tree == now.tree {
            return Ok(DiffText::default());
        }
        let cmd = Cmd::read("diff-tree")
            .config("core.quotePath=false")
            .args([
                "-r",
                "-p",
                "-M",
                "--relative",
                "--no-color",
                "--no-ext-diff",
                "--no-textconv",
            ])
            .args(["--submodule=short", "--ignore-submodules=none"])
            .args(["--src-prefix=a/", "--dst-prefix=b/"])
            .args([&base.tree, &now.tree, "--", "."])
            .args(exclusions(ignore));
        let mut picker = Picker::new(usize::try_from(max_bytes).unwrap_or(usize::MAX));
        let (code, stderr) = self
            .runner()
            .stream(cmd, |chunk| {
                picker.push(chunk);
                true
            })
            .await?;
        match code {
            Some(0) => Ok(picker.finish()),
            _ => Err(GitError::Failed {
                command: "diff-tree".to_owned(),
                code,
                stderr,
            }),
        }
    }
}

fn exclusions(ignore: &[String]) -> Vec<String> {
    let records = RECORD_FILES.iter().chain(RECORD_DIRS);
    let mut specs: Vec<String> = records
        .map(|name| format!(":(exclude,literal).ralph/{name}"))
        .collect();
    specs.push(":(exclude,glob).ralph/journal-*.jsonl".to_owned());
    specs.push(format!(":(exclude,glob)**/{TEMP_PREFIX}*"));
    specs.extend(ignore.iter().filter_map(|path| {
        // What is no path below the root can have no change either.
        crate::path::normal(path)
            .ok()
            .map(|path| format!(":(exclude,literal){path}"))
    }));
    specs
}

const HEADER: &[u8] = b"diff --git ";
/// Bytes of a header line that are kept of a file that is left out.
const MAX_HEADER: usize = 1024;

/// Takes a diff in pieces and keeps the files that fit.
struct Picker {
    max: usize,
    text: String,
    omitted: u64,
    /// The file at hand, as long as it may still fit.
    current: Vec<u8>,
    current_bytes: u64,
    /// The beginning of a line that may become a header.
    carry: Vec<u8>,
    at_line_start: bool,
}

impl Picker {
    fn new(max: usize) -> Self {
        Picker {
            max,
            text: String::new(),
            omitted: 0,
            current: Vec::new(),
            current_bytes: 0,
            carry: Vec::new(),
            at_line_start: true,
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        let joined;
        let chunk = if self.carry.is_empty() {
            chunk
        } else {
            joined = [std::mem::take(&mut self.carry).as_slice(), chunk].concat();
            joined.as_slice()
        };
        for piece in chunk.split_inclusive(|b| *b == b'\n') {
            if self.at_line_start {
                if piece.len() < HEADER.len() && HEADER.starts_with(piece) {
                    // Only the last piece can be that short without a line's end.
                    self.carry = piece.to_vec();
                    return;
                }
                if piece.starts_with(HEADER) {
                    self.end_file();
                }
            }
            self.at_line_start = piece.ends_with(b"\n");
            self.current_bytes += piece.len() as u64;
            let room = self.max.max(MAX_HEADER).saturating_sub(self.current.len());
            self.current
                .extend_from_slice(piece.get(..piece.len().min(room)).unwrap_or(piece));
        }
    }

    fn end_file(&mut self) {
        let bytes = std::mem::take(&mut self.current);
        let whole = std::mem::take(&mut self.current_bytes);
        if whole == 0 {
            return;
        }
        let room = self.max.saturating_sub(self.text.len());
        if bytes.len() as u64 == whole {
            let text = String::from_utf8_lossy(&bytes);
            if text.len() <= room {
                self.text.push_str(&text);
                return;
            }
        }
        self.omitted += whole;
        let header = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        let header = header.get(..header.len().min(MAX_HEADER)).unwrap_or(header);
        let note = format!(
            "{}\n({whole} bytes left out)\n",
            String::from_utf8_lossy(header)
        );
        if note.len() <= room {
            self.text.push_str(&note);
        }
    }

    fn finish(mut self) -> DiffText {
        let carry = std::mem::take(&mut self.carry);
        self.current_bytes += carry.len() as u64;
        self.current.extend(carry);
        self.end_file();
        DiffText {
            text: self.text,
            omitted_bytes: self.omitted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(max: usize, diff: &str, step: usize) -> DiffText {
        let mut picker = Picker::new(max);
        for chunk in diff.as_bytes().chunks(step) {
            picker.push(chunk);
        }
        picker.finish()
    }

    #[test]
    fn a_file_that_does_not_fit_is_left_out_whole_and_the_rest_stays() {
        let small = "diff --git a/s b/s\n+s\n";
        let big = format!("diff --git a/b b/b\n+{}\n", "x".repeat(5000));
        let diff = format!("{big}{small}");
        for step in [1, 2, 7, 4096, 100_000] {
            let DiffText {
                text,
                omitted_bytes,
            } = pick(200, &diff, step);
            assert_eq!(omitted_bytes, big.len() as u64, "{step}");
            let note = format!("diff --git a/b b/b\n({} bytes left out)\n", big.len());
            assert_eq!(text, format!("{note}{small}"), "{step}");
        }
    }

    #[test]
    fn what_fits_is_given_byte_for_byte_in_any_pieces() {
        let diff = "diff --git a/s b/s\n+diff --git x\n-d\ndiff --git a/t b/t\n di";
        for step in 1..diff.len() {
            let got = pick(1000, diff, step);
            assert_eq!((got.text.as_str(), got.omitted_bytes), (diff, 0), "{step}");
        }
    }

    #[test]
    fn no_text_is_longer_than_the_limit_also_with_bytes_that_grow_when_replaced() {
        let mut diff = b"diff --git a/s b/s\n+".to_vec();
        diff.extend([0xff; 300]);
        for max in [0, 1, 30, 320, 700, 2000] {
            let mut picker = Picker::new(max);
            picker.push(&diff);
            let got = picker.finish();
            assert!(got.text.len() <= max, "{max}");
            assert_eq!(got.omitted_bytes > 0, max < 19 + 1 + 900, "{max}");
        }
    }
}
