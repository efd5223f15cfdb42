//! What an agent that asks may do.

use ralph_plugin::Sandbox;
use ralph_plugin::json_lines::str_at;
use serde_json::{Value, json};

/// Kinds of tools that change nothing.
const READING: &[&str] = &["read", "search", "think"];
/// Kinds of tools that say which files they change.
const CHANGING: &[&str] = &["edit", "delete", "move"];

/// The result of `session/request_permission`, and whether it allows.
pub fn answer(sandbox: Sandbox, workspace: &str, params: &Value) -> (Value, bool) {
    let allowed = allows(sandbox, workspace, &params["toolCall"]);
    let wanted = match allowed {
        true => ["allow_once", "allow_always"],
        false => ["reject_once", "reject_always"],
    };
    let options = || params["options"].as_array().into_iter().flatten();
    let chosen = wanted
        .iter()
        .find_map(|kind| options().find(|o| str_at(o, "/kind") == Some(kind)))
        .and_then(|option| str_at(option, "/optionId"));
    let outcome = match chosen {
        Some(id) => json!({"outcome": "selected", "optionId": id}),
        None => json!({"outcome": "cancelled"}),
    };
    (json!({ "outcome": outcome }), allowed && chosen.is_some())
}

fn allows(sandbox: Sandbox, workspace: &str, call: &Value) -> bool {
    // An agent that doesn't say what kind it is might do anything.
    let kind = str_at(call, "/kind").unwrap_or("other");
    match sandbox {
        Sandbox::Off | Sandbox::Held => true,
        Sandbox::ReadOnly => READING.contains(&kind),
        Sandbox::WorkspaceWrite if CHANGING.contains(&kind) => {
            let mut places = call["locations"].as_array().into_iter().flatten();
            places.all(|place| str_at(place, "/path").is_some_and(|path| inside(workspace, path)))
        }
        Sandbox::WorkspaceWrite => true,
    }
}

/// By name only: where links lead is not seen from here.
fn inside(workspace: &str, path: &str) -> bool {
    let workspace = workspace.trim_end_matches('/');
    let below = match path.strip_prefix(workspace) {
        Some(rest) => rest.strip_prefix('/'),
        None if path.starts_with('/') => None,
        None => Some(path),
    };
    below.is_some_and(|rest| rest.split('/').all(|part| part != ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(sandbox: Sandbox, kind: &str, path: &str) -> Value {
        let params = json!({
            "toolCall": {"kind": kind, "locations": [{"path": path}]},
            "options": [
                {"optionId": "a", "kind": "allow_once"}, {"optionId": "A", "kind": "allow_always"},
                {"optionId": "r", "kind": "reject_once"},
            ],
        });
        answer(sandbox, "/project/", &params).0["outcome"]["optionId"].clone()
    }

    #[test]
    fn the_sandbox_decides_by_kind_and_place() {
        use Sandbox::{Off, ReadOnly, WorkspaceWrite};
        for (sandbox, kind, path, chosen) in [
            (Off, "edit", "/etc/passwd", "a"),
            (WorkspaceWrite, "edit", "/project/a/b", "a"),
            (WorkspaceWrite, "edit", "a/b", "a"),
            (WorkspaceWrite, "edit", "/project/../etc/x", "r"),
            (WorkspaceWrite, "delete", "/projectshop/x", "r"),
            (WorkspaceWrite, "move", "/etc/x", "r"),
            (WorkspaceWrite, "read", "/etc/x", "a"),
            (WorkspaceWrite, "execute", "/project", "a"),
            (ReadOnly, "read", "/etc/x", "a"),
            (ReadOnly, "edit", "/project/a", "r"),
            (ReadOnly, "execute", "/project/a", "r"),
            (ReadOnly, "other", "/project/a", "r"),
        ] {
            assert_eq!(
                asked(sandbox, kind, path),
                chosen,
                "{sandbox:?} {kind} {path}"
            );
        }
    }

    #[test]
    fn without_a_fitting_option_it_is_called_off() {
        let params = json!({"toolCall": {"kind": "edit"}, "options": []});
        let (result, allowed) = answer(Sandbox::Off, "/w", &params);
        assert_eq!(result["outcome"]["outcome"], "cancelled");
        assert!(!allowed);
    }
}
