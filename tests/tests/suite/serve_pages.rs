//! `ralph serve`: pages of other origins.

use ralph_tests::{Answer, Project, Service};

const PAGE: &str = "https://console.example";

fn ready(p: &Project) -> Service {
    Service::configure(p, &format!("origins = [{PAGE:?}]"), "");
    Service::again(p)
}

fn named(answer: &Answer) -> Option<&str> {
    assert_eq!(answer.header("vary"), Some("Origin"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    answer.header("access-control-allow-origin")
}

#[test]
fn a_page_of_a_configured_origin_may_ask_what_a_token_may() {
    let p = Project::build().ready();
    let s = ready(&p);
    let preflight = |origin: &str, more: &[(&str, &str)]| {
        let headers = [&[("origin", origin)], more].concat();
        s.ask_with("", "OPTIONS", "/v1/runs", None, &headers)
    };
    let wish = [
        ("access-control-request-method", "POST"),
        (
            "access-control-request-headers",
            "authorization,content-type,idempotency-key,last-event-id,ralph-actor",
        ),
    ];
    for origin in [PAGE, "https://CONSOLE.example"] {
        let answer = preflight(origin, &wish).expect(204);
        assert_eq!(named(&answer), Some(origin));
        let listed = |name: &str, all: &str| {
            let given = answer.header(name).unwrap_or_else(|| panic!("{name}"));
            let given: Vec<&str> = given.split(", ").collect();
            all.split(',').all(|one| given.contains(&one))
        };
        assert!(listed("access-control-allow-headers", wish[1].1));
        assert!(listed(
            "access-control-allow-methods",
            "GET,POST,PUT,DELETE"
        ));
        let age = answer.header("access-control-max-age").expect("an age");
        assert!(age.parse::<u32>().unwrap() > 0);
    }
    // Everything is answered so that the page can read it, refusals and streams too.
    let from = |who: &str, path: &str| s.ask_with(who, "GET", path, None, &[("origin", PAGE)]);
    for (who, path, status) in [
        ("observer", "/v1/runs", 200),
        ("", "/v1/runs", 401),
        ("observer", "/v1/audit", 403),
        ("observer", "/v1/runs/none/events", 404),
        ("observer", "/v1/runs?colour=1", 400),
        ("", "/healthz", 200),
    ] {
        let answer = from(who, path).expect(status);
        assert_eq!(named(&answer), Some(PAGE), "{path}");
    }
    // No preflight without what is wanted.
    assert_eq!(named(&preflight(PAGE, &[]).expect(405)), Some(PAGE));
}

#[test]
fn no_other_page_is_named_and_none_is_needed() {
    let p = Project::build().ready();
    let s = ready(&p);
    let own = format!("http://{}", s.addr);
    let wish = ("access-control-request-method", "POST");
    for (origins, status) in [
        (vec!["https://evil.example"], 403),
        (vec!["null"], 403),
        (vec![PAGE, "https://evil.example"], 403),
        (vec![own.as_str()], 405),
        (vec![PAGE, &own], 405),
        (vec![], 405),
    ] {
        let mut headers = vec![wish];
        headers.extend(origins.iter().map(|origin| ("origin", *origin)));
        let answer = s.ask_with("", "OPTIONS", "/v1/runs", None, &headers);
        assert_eq!(named(&answer.expect(status)), None, "{origins:?}");
    }
    let answer = s.ask_with("observer", "GET", "/v1/runs", None, &[("origin", &own)]);
    assert_eq!(named(&answer.expect(200)), None);
}
