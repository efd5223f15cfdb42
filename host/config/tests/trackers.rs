//! The Python loop's trackers are sources of tasks, where there is the like here.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{config, loaded, only};
use ralph_config::types::TaskSource;

#[test]
fn trackers_are_task_sources() {
    let c = config("[tracker]\nkind = 'github_issues'\n[tracker.github]\nrepo = 'o/r'");
    assert_eq!(c.tasks.source, TaskSource::Github);
    assert_eq!(
        (c.tasks.repo.as_str(), c.tasks.label.as_str()),
        ("o/r", "ready"),
        "the Python loop's own label"
    );
    assert_eq!(c.tasks.exclude_labels, ["blocked"]);
    let c = config(
        "[tracker]\nkind = 'github'\n[tracker.github]\nlabel_filter = ''\nexclude_labels = []",
    );
    assert!(c.tasks.label.is_empty() && c.tasks.exclude_labels.is_empty());
    assert_eq!(
        config("tracker.kind = 'bd'").tasks.source,
        TaskSource::Beads
    );
    for kind in ["auto", "markdown", "yml"] {
        let all = loaded(&format!("tracker.kind = '{kind}'"));
        assert_eq!(all.config.tasks.source, TaskSource::File);
        assert!(all.warnings.is_empty());
    }
    let all = loaded("[tracker]\nkind = 'web'\n[tracker.github]\ncache_ttl_seconds = 300");
    assert_eq!(
        all.warnings,
        [
            "ralph.toml: written for the Python loop; these have no effect here: tracker.github.cache_ttl_seconds, tracker.kind"
        ]
    );
    assert_eq!(
        only("[tracker]\nkind = 'bd'\n[tasks]\nsource = 'file'"),
        "2:8: `tracker.kind` and `tasks.source` mean the same; keep one"
    );
}
