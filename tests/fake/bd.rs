//! What the stand-in knows of `bd`.

use serde_json::{Value, json};

use crate::{Answer, Call};

pub fn answer(call: &mut Call) -> Answer {
    let verb = call.args[0].clone();
    match verb.as_str() {
        "list" => {
            // It says how many there are, not which.
            let mut all = call.issues.clone();
            for issue in &mut all {
                let issue = issue.as_object_mut().unwrap();
                let links = issue.remove("dependencies");
                let count = links.map_or(0, |l| l.as_array().unwrap().len());
                issue.insert("dependency_count".into(), count.into());
            }
            return Ok(Value::Array(all).to_string());
        }
        "ready" => {
            let done = |id: &Value| {
                call.issues
                    .iter()
                    .any(|i| i["id"] == *id && i["status"] == "closed")
            };
            let ready: Vec<&Value> = call
                .issues
                .iter()
                .filter(|i| i["status"] == "open" && i["deferred"] != true)
                .filter(|i| {
                    let links = i["dependencies"].as_array().cloned().unwrap_or_default();
                    links
                        .iter()
                        .all(|l| l["dependency_type"] != "blocks" || done(&l["id"]))
                })
                .collect();
            return Ok(json!(ready).to_string());
        }
        "create" => {
            let title = call.args.last().unwrap().clone();
            let links: Vec<Value> = call
                .option("--deps")
                .iter()
                .flat_map(|d| d.split(','))
                .map(|id| json!({ "id": id, "dependency_type": "blocks" }))
                .collect();
            let issue = json!({
                "id": format!("bd-{}", call.issues.len() + 1), "title": title, "status": "open",
                "priority": 2, "issue_type": "task", "dependencies": links,
                "acceptance_criteria": call.option("--acceptance").unwrap_or_default(),
            });
            call.issues.push(issue.clone());
            return Ok(issue.to_string());
        }
        "show" => {
            let ids: Vec<&String> = call.args[1..].iter().filter(|a| *a != "--json").collect();
            let found: Vec<&Value> = call
                .issues
                .iter()
                .filter(|i| ids.iter().any(|id| i["id"] == id.as_str()))
                .collect();
            return match found.is_empty() {
                true => Err((format!("Error: no issue found matching {:?}", ids[0]), 1)),
                false => Ok(json!(found).to_string()),
            };
        }
        _ => {}
    }
    let at = if verb == "comments" { 2 } else { 1 };
    let id = call.args[at].clone();
    let (status, reason) = (call.option("--status"), call.option("--reason"));
    let text = call.args.last().unwrap().clone();
    let Some(issue) = call.issues.iter_mut().find(|i| i["id"] == id.as_str()) else {
        return Err((format!("Error: issue {id} not found"), 1));
    };
    match verb.as_str() {
        "update" => issue["status"] = status.expect("--status").into(),
        "close" => {
            issue["status"] = "closed".into();
            issue["close_reason"] = reason.expect("--reason").into();
            issue["closed_times"] = (issue["closed_times"].as_u64().unwrap_or(0) + 1).into();
        }
        "comments" => {
            let all = issue
                .as_object_mut()
                .unwrap()
                .entry("comments")
                .or_insert(json!([]));
            all.as_array_mut()
                .unwrap()
                .push(json!({ "id": 1, "author": "x", "text": text }));
        }
        other => panic!("bd {other}"),
    }
    Ok(json!([issue]).to_string())
}
