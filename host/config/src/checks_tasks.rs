//! What `[tasks]` must look like: its values become arguments of `gh`.

use crate::checks::Checks;
use crate::show;
use crate::types::TaskSource;

/// GitHub's own limit for a label, in characters.
const LABEL_MAX: usize = 50;

impl Checks<'_> {
    pub(crate) fn tasks(&mut self) {
        let tasks = &self.config.tasks;
        if !tasks.repo.is_empty() && !is_repo(&tasks.repo) {
            let message = format!("{} can't be a repository", show::name(&tasks.repo));
            let hint = Some("write OWNER/NAME, or HOST/OWNER/NAME".to_owned());
            self.error(&["tasks", "repo"], message, hint);
        }
        if !tasks.label.is_empty() && !is_label(&tasks.label) {
            self.label(&["tasks", "label"], &tasks.label);
        }
        for (i, label) in tasks.exclude_labels.iter().enumerate() {
            if !is_label(label) {
                self.label(&["tasks", "exclude_labels", &i.to_string()], label);
            }
        }
        if tasks.source == TaskSource::Plugin {
            self.own_plugin(&["tasks", "plugin"], "tracker", &tasks.plugin);
        }
        if tasks.timeout.get().is_zero() {
            let message = "`timeout` should be more than nothing";
            self.error(&["tasks", "timeout"], message, None);
        }
    }

    fn label(&mut self, at: &[&str], label: &str) {
        let message = format!("{} can't be a label", show::name(label));
        let hint =
            "a label is one line of at most 50 characters, without a comma or a quotation mark";
        self.error(at, message, Some(hint.to_owned()));
    }
}

fn is_repo(repo: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['-', '.'])
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    // A repository's own name may begin with a dot; the others can't.
    let Some((owner, name)) = repo.rsplit_once('/') else {
        return false;
    };
    let name = name.strip_prefix('.').unwrap_or(name);
    owner.split('/').count() <= 2 && owner.split('/').all(part) && part(name)
}

/// `gh` takes a comma for the end of one label.
fn is_label(label: &str) -> bool {
    !label.trim().is_empty()
        && label.trim() == label
        && label.chars().count() <= LABEL_MAX
        && !label.contains([',', '"'])
        && show::visible(label) == label
}
