//! A checkout that a death cut off half way: files of the commit to come that git doesn't know of yet, and
//! which it therefore wouldn't overwrite.

use std::collections::BTreeSet;

use super::raw::{self, RawChange};
use super::run::Cmd;
use super::{Git, GitError};

impl Git {
    /// Enters those files of `commit` that the working tree has already, byte for byte, in the index. Only
    /// files whose index is as HEAD has it: what the user has staged stays. Their paths.
    ///
    /// # Errors
    /// What git says.
    pub(super) async fn adopt(&self, commit: &str) -> Result<Vec<Vec<u8>>, GitError> {
        let cmd =
            Cmd::read("diff-tree").args(["-r", "-z", "--raw", "--no-renames", "HEAD", commit]);
        let (changes, _) = raw::parse(&self.runner().run(cmd).await?.ok()?)?;
        let cmd = Cmd::read("diff-index").args(["--cached", "-z", "--name-only", "HEAD"]);
        let staged = self.runner().run(cmd).await?.ok()?;
        let staged: BTreeSet<&[u8]> = staged.split(|b| *b == 0).collect();
        let there: Vec<(&RawChange, &[u8])> = changes
            .iter()
            .filter(|c| c.new.as_ref().is_some_and(|new| new.is_file()))
            .filter(|c| !staged.contains(c.path.as_slice()))
            .filter_map(|c| Some((c, self.regular(&c.path)?)))
            .collect();
        if there.is_empty() {
            return Ok(Vec::new());
        }
        let paths = there.iter().map(|(_, path)| *path);
        let cmd = Cmd::read("hash-object")
            .arg("--stdin-paths")
            .stdin(paths.collect::<Vec<_>>().join(&b'\n'));
        let hashes = self.runner().run(cmd).await?.ok()?;
        let same: Vec<Vec<u8>> = hashes
            .split(|b| *b == b'\n')
            .zip(&there)
            .filter(|(hash, (c, _))| {
                c.new
                    .as_ref()
                    .is_some_and(|new| new.oid.as_bytes() == *hash)
            })
            .map(|(_, (_, path))| path.to_vec())
            .collect();
        if !same.is_empty() {
            let cmd = Cmd::write("update-index")
                .args(["--add", "-z", "--stdin"])
                .stdin(same.join(&0));
            self.runner().run(cmd).await?.ok()?;
        }
        Ok(same)
    }

    /// Lets the index be as HEAD has these again.
    ///
    /// # Errors
    /// What git says.
    pub(super) async fn disown(&self, paths: &[Vec<u8>]) -> Result<(), GitError> {
        let literal = paths
            .iter()
            .map(|path| [b":(literal)", path.as_slice()].concat());
        let literal: Vec<_> = literal.collect();
        let cmd = Cmd::write("reset")
            .args(["--quiet", "--pathspec-from-file=-", "--pathspec-file-nul"])
            .stdin(literal.join(&0));
        self.runner().run(cmd).await?.ok().map(drop)
    }

    /// The path below the project's root, of a regular file that is there and has a name that `hash-object` can be told.
    fn regular<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let path = path.strip_prefix(self.repo().prefix.as_bytes())?;
        let name = std::str::from_utf8(path).ok()?;
        let meta = self.inner.ws.root().join(name).symlink_metadata().ok()?;
        let plain = !name.contains('\n') && !name.starts_with('"');
        (meta.is_file() && plain).then_some(path)
    }
}
