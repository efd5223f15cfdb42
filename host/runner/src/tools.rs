//! The tools that a project's plugins offer to other programs (`[tools] plugins`).

use std::time::Duration;

use ralph_engine::arguments::Schema;
use ralph_plugins::Kind;
use serde_json::{Map, Value};

use crate::acting::{Acting, host};
use crate::error::Error;
use crate::project::Project;
use crate::trust::Trust;

/// One component may offer so many.
const TOOLS_MAX: usize = 128;

/// One call may take this long, waiting for the host included.
const CALL_MAX: Duration = Duration::from_secs(300);

/// A tool, fit to be shown: its name is one, its schema can be checked.
pub struct Offered {
    /// `<plugin>.<name>`
    pub name: String,
    /// For people and models.
    pub description: String,
    /// Of its arguments.
    pub schema: Schema,
}

/// Why a call of a tool has no answer.
pub enum Refused {
    /// No plugin of the project offers it.
    Unknown,
    /// They don't meet the tool's schema.
    Arguments(String),
    /// Anything else.
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Failed(error)
    }
}

/// All tools of a project, and what is wrong with those that can't be offered. Nothing is run of a
/// configuration that nobody has accepted.
pub async fn offered(project: &Project) -> (Vec<Offered>, Vec<String>) {
    let (mut tools, mut problems) = (Vec::new(), Vec::new());
    for name in &project.config.tools.plugins {
        match of_plugin(project, name).await {
            Ok((_, found, odd)) => {
                tools.extend(found);
                problems.extend(odd);
            }
            Err(error) => problems.push(error.with_advice()),
        }
    }
    (tools, problems)
}

/// Calls one by the name under which it is offered.
///
/// # Errors
/// See [`Refused`].
pub async fn call(
    project: &Project,
    name: &str,
    arguments: Value,
) -> Result<Map<String, Value>, Refused> {
    let Some((plugin, tool)) = name.rsplit_once('.') else {
        return Err(Refused::Unknown);
    };
    if !project.config.tools.plugins.iter().any(|p| p == plugin) {
        return Err(Refused::Unknown);
    }
    let (acting, tools, problems) = of_plugin(project, plugin).await?;
    let Some(found) = tools.iter().find(|t| t.name == name) else {
        return Err(match problems.first() {
            Some(problem) => Refused::Failed(Error::Usage(problem.clone())),
            None => Refused::Unknown,
        });
    };
    found.schema.check(&arguments).map_err(Refused::Arguments)?;
    let (ctx, text) = (acting.context(), arguments.to_string());
    let call = acting.plugin().call_tool(&ctx, tool, &text);
    let answer = tokio::time::timeout(CALL_MAX, call).await;
    let answer = answer
        .map_err(|_| Error::Usage(format!("{name}: no answer within {} s", CALL_MAX.as_secs())))?;
    let answer = answer.map_err(Error::from)?;
    let object: Result<Map<String, Value>, _> = serde_json::from_str(&answer);
    object.map_err(|e| {
        Refused::Failed(Error::Usage(format!(
            "{name}: what it gave back is no JSON object: {e}"
        )))
    })
}

async fn of_plugin(
    project: &Project,
    plugin: &str,
) -> Result<(Acting, Vec<Offered>, Vec<String>), Error> {
    Trust::of(project)?.demand()?;
    let acting = Acting::new(project, host()?, Kind::Tool, plugin, CALL_MAX).await?;
    let told = acting.plugin().tools(&acting.context()).await?;
    let (mut tools, mut problems): (Vec<Offered>, _) = (Vec::new(), Vec::new());
    for tool in told.into_iter().take(TOOLS_MAX) {
        let name = format!("{plugin}.{}", tool.name);
        let twice = tools.iter().any(|t| t.name == name);
        match Schema::parse(&tool.input_schema) {
            _ if !is_name(&tool.name) || twice => {
                let shown = ralph_engine::text::one_line(&tool.name, 80);
                problems.push(format!(
                    "plugin {plugin:?}: a tool's name is 1 to 64 letters, digits, `-` and `_`, each once, not {shown:?}"
                ));
            }
            Err(why) => problems.push(format!("the tool {name:?} isn't offered: {why}")),
            Ok(schema) => tools.push(Offered {
                name,
                description: ralph_engine::text::strip_escapes(&tool.description),
                schema,
            }),
        }
    }
    Ok((acting, tools, problems))
}

fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=64).contains(&name.len()) && name.chars().all(good)
}
