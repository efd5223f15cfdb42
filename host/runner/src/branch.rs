//! `[git] branch`, with `{branch_name}` filled in from the `prd.json` at hand.

use ralph_config::types::TaskSource;
use serde::Deserialize;

use crate::error::Error;
use crate::project::Project;

/// What stands for the branch that the task file names.
const HOLDER: &str = "{branch_name}";
/// A task file may be this big.
const MAX: u64 = 64 << 20;

#[derive(Deserialize)]
struct Prd {
    #[serde(rename = "branchName", alias = "branch_name")]
    branch: Option<String>,
}

/// The branch that a run switches to, if any.
pub(crate) fn wanted(project: &Project) -> Result<Option<String>, Error> {
    let config = &project.config;
    let Some(branch) = &config.git.branch else {
        return Ok(None);
    };
    if !branch.contains(HOLDER) {
        return Ok(Some(branch.clone()));
    }
    let bad = |message: String| {
        let hint = Some(format!("`{HOLDER}` is the `branchName` of a prd.json"));
        Error::from(project.origins.error(&["git", "branch"], message, hint))
    };
    if config.tasks.source != TaskSource::File {
        return Err(bad("the tasks don't come from a file".to_owned()));
    }
    let path = project.task_path()?;
    let bytes = project.ws.read(&path, MAX)?.unwrap_or_default();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let named = serde_json::from_slice::<Prd>(bytes).ok();
    let Some(name) = named.and_then(|p| p.branch) else {
        return Err(bad(format!("{path} names no branch")));
    };
    let name = branch.replace(HOLDER, &name);
    if !ralph_config::is_branch_name(&name) {
        let shown = ralph_engine::text::one_line(&name, 100);
        return Err(bad(format!(
            "{path} names `{shown}`, which can't be a branch"
        )));
    }
    Ok(Some(name))
}
