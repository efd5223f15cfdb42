//! What `[git]` and `[budget]` must look like.

use crate::checks::Checks;
use crate::show;
use crate::walk::nearest;

impl Checks<'_> {
    pub(crate) fn git(&mut self) {
        self.commit_message();
        let git = &self.config.git;
        if let Some(branch) = &git.branch {
            self.branch("branch", branch, branch);
        }
        // Something is always put behind it.
        self.branch(
            "branch_prefix",
            &git.branch_prefix,
            &format!("{}x", git.branch_prefix),
        );
    }

    pub(crate) fn budget(&mut self) {
        let budget = &self.config.budget;
        if budget.time.is_some_and(|t| t.get().as_secs() == 0) {
            self.error(
                &["budget", "time"],
                "`time` should be a second or more",
                None,
            );
        }
        let usd = budget.cost_usd.unwrap_or(1.0);
        if !(usd.is_finite() && usd > 0.0 && usd < 1e9) {
            let message = "`cost_usd` should be more than nothing and less than a milliard";
            self.error(&["budget", "cost_usd"], message, None);
        }
    }

    fn commit_message(&mut self) {
        const KNOWN: [&str; 4] = ["task_id", "title", "iteration", "agent"];
        let at = ["git", "commit_message"];
        let text = &self.config.git.commit_message;
        if text.trim().is_empty() || text.contains('\0') {
            self.error(
                &at,
                "`commit_message` is empty or has a NUL character",
                None,
            );
        }
        for piece in text.split('{').skip(1) {
            let Some((name, _)) = piece.split_once('}') else {
                continue;
            };
            let word =
                !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            if word && !KNOWN.contains(&name) {
                let hint =
                    nearest(name, KNOWN.into_iter()).map(|n| format!("did you mean `{{{n}}}`?"));
                self.error(&at, format!("`commit_message` has `{{{name}}}`; known are {{task_id}}, {{title}}, {{iteration}}, {{agent}}"), hint);
            }
        }
    }

    fn branch(&mut self, key: &str, shown: &str, name: &str) {
        if !is_branch_name(name) {
            let message = format!(
                "{} can't be (the beginning of) a branch's name",
                show::name(shown)
            );
            let hint = "letters, digits, `-`, `_`, `.` and `/` between them will do".to_owned();
            self.error(&["git", key], message, Some(hint));
        }
    }
}

/// The rules of `git check-ref-format` for a branch.
pub fn is_branch_name(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let odd = |c: char| c <= ' ' || c == '\u{7f}' || "~^:?*[\\".contains(c);
    name.split('/').all(part)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(odd)
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !matches!(name, "@" | "HEAD")
}
