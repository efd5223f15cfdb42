//! `ralph serve`: of which workspace and of which time lists and numbers are.

use ralph_tests::{Project, Service};
use serde_json::{Value, json};

const SHOP: &str = "shop-0123456789abcdef";

fn get(s: &Service, who: &str, path: &str, status: u16) -> Value {
    s.ask(who, "GET", path, None).expect(status).json()
}

#[test]
fn lists_and_numbers_are_those_of_one_workspace() {
    let p = Project::build().ready();
    let other = Project::build().ready();
    std::fs::write(p.operator("shop"), SHOP).unwrap();
    let shop = format!(
        "[workspaces.shop]\npath = {:?}\n[tokens.shop]\nrole = \"observer\"\nworkspaces = [\"shop\"]\nfile = {:?}",
        other.root(),
        p.operator("shop")
    );
    let path = Service::configure(&p, "", &shop);
    let s = Service::again(&p);
    let id = s.submit(json!({ "max_iterations": 1 }));
    s.ended(&id);
    for (workspace, runs) in [("site", 1), ("shop", 0)] {
        let at = |list: &str| format!("/v1/{list}?workspace={workspace}");
        assert_eq!(get(&s, "admin", &at("stats"), 200)["runs"], runs);
        let listed = get(&s, "admin", &at("runs"), 200);
        assert_eq!(listed["runs"].as_array().unwrap().len(), runs);
    }
    assert_eq!(get(&s, SHOP, "/v1/stats?workspace=shop", 200)["runs"], 0);
    for (who, path, status) in [
        ("admin", "/v1/stats?colour=1", 400),
        ("admin", "/v1/stats?workspace=gone", 404),
        ("admin", "/v1/runs?workspace=gone", 404),
        (SHOP, "/v1/stats?workspace=site", 404),
        (SHOP, "/v1/runs?workspace=site", 404),
    ] {
        get(&s, who, path, status);
    }
    // Prometheus' numbers can't be told apart.
    s.ask("observer", "GET", "/metrics", None).expect(200);
    let refused = get(&s, SHOP, "/metrics", 403);
    assert!(
        refused["detail"].as_str().unwrap().contains("workspaces"),
        "{refused}"
    );
    s.kill();
    // What is configured no more has its runs all the same.
    let text = std::fs::read_to_string(&path).unwrap();
    let renamed = text.replace("[workspaces.site]", "[workspaces.new]");
    std::fs::write(&path, renamed).unwrap();
    let s = Service::again(&p);
    let listed = get(&s, "admin", "/v1/runs?workspace=site&status=failed", 200);
    assert_eq!(listed["runs"], json!([]));
    assert_eq!(get(&s, "admin", "/v1/stats?workspace=site", 200)["runs"], 1);
    assert_eq!(get(&s, "admin", "/v1/stats?workspace=new", 200)["runs"], 0);
}

#[test]
fn a_list_begins_at_one_moment_and_ends_before_another() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let ids: Vec<String> = (0..3)
        .map(|_| s.submit(json!({ "max_iterations": 1 })))
        .collect();
    ids.iter().for_each(|id| drop(s.ended(id)));
    let created: Vec<String> = ids
        .iter()
        .map(|id| s.run(id)["created_at"].as_str().unwrap().to_owned())
        .collect();
    let listed = |query: &str| -> Vec<String> {
        let page = get(&s, "admin", &format!("/v1/runs?{query}"), 200);
        let runs = page["runs"].as_array().unwrap().iter().rev();
        runs.map(|r| r["run_id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (second, third) = (&created[1], &created[2]);
    assert_eq!(listed(&format!("until={second}")), ids[..1]);
    assert_eq!(listed(&format!("since={second}&until={third}")), ids[1..2]);
    assert_eq!(listed(&format!("since={second}")), ids[1..]);
    assert_eq!(listed(&format!("until={second}&limit=1")), ids[..1]);

    let audit = |query: &str| -> Vec<Value> {
        let page = get(&s, "admin", &format!("/v1/audit?{query}"), 200);
        page["events"].as_array().unwrap().clone()
    };
    let all = audit("limit=500");
    assert!(all.len() >= 9, "{all:?}");
    let at = |n: usize| all[n]["at"].as_str().unwrap().to_owned();
    assert_eq!(
        audit(&format!("since={}&until={}", at(2), at(5))),
        all[2..5]
    );
    assert_eq!(audit(&format!("until={}", at(3))), all[..3]);
    for list in ["runs", "audit"] {
        for name in ["since", "until"] {
            let said = get(&s, "admin", &format!("/v1/{list}?{name}=yesterday"), 400);
            assert!(said["detail"].as_str().unwrap().contains(name), "{said}");
        }
    }
}

#[test]
fn an_address_that_can_t_be_read_is_an_answer_that_the_document_has() {
    let p = Project::build().ready();
    let s = Service::of(&p);
    let document = get(&s, "", "/openapi.json", 200);
    for (asked, described) in [
        ("/v1/runs/%ff", "/v1/runs/{id}"),
        ("/v1/runs/%ff/events", "/v1/runs/{id}/events"),
        ("/v1/runs/%ff/artifacts", "/v1/runs/{id}/artifacts"),
        (
            "/v1/runs/%ff/artifacts/diff.patch",
            "/v1/runs/{id}/artifacts/{path}",
        ),
    ] {
        get(&s, "observer", asked, 400);
        let answers = &document["paths"][described]["get"]["responses"];
        assert!(answers["400"].is_object(), "{described}: {answers}");
    }
}
