//! What holds for every request, before any handler: by which name the service is asked (against
//! DNS rebinding), from which page, how long it may take; and the headers of every answer.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::Shared;
use crate::problem::Problem;
use crate::settings::Serve;

/// A handler has so long; a stream's body may take longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Names by which the service may be asked.
pub struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// `http://` or `https://`
    scheme: &'static str,
}

impl Names {
    /// Its own address, `localhost` where that is this machine, and what the operator names.
    pub fn new(listen: SocketAddr, serve: &Serve) -> Names {
        let port = listen.port();
        let scheme = serve.scheme();
        let mut all = vec![listen.to_string()];
        if listen.ip().is_loopback() {
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                all.push(format!("{name}:{port}"));
            }
        }
        // Clients leave out the port that everybody knows.
        let short = all
            .iter()
            .filter_map(|host| host.strip_suffix(usual_port(scheme)));
        let short: Vec<String> = short.map(str::to_owned).collect();
        all.extend(short);
        for host in &serve.hosts {
            let host = host.to_ascii_lowercase();
            all.push(format!("{host}:{port}"));
            all.push(host);
        }
        let origins = serve.origins.iter().map(|origin| {
            let origin = origin.to_ascii_lowercase();
            let scheme = if origin.starts_with("https:") {
                "https://"
            } else {
                "http://"
            };
            match origin.strip_suffix(usual_port(scheme)) {
                Some(short) => short.to_owned(),
                None => origin,
            }
        });
        Names {
            hosts: all,
            origins: origins.collect(),
            scheme,
        }
    }

    /// The page that asks, if it is one of those that the operator names.
    fn page(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = origins.next().filter(|_| origins.next().is_none())?;
        let named = origin
            .to_str()
            .is_ok_and(|o| self.origins.contains(&o.to_ascii_lowercase()));
        named.then(|| origin.clone())
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|h| h.to_str().ok());
        let host = host.map(str::to_ascii_lowercase).unwrap_or_default();
        if hosts.next().is_some() || !self.hosts.contains(&host) {
            let status = StatusCode::FORBIDDEN;
            let detail = "the service doesn't go by the name in `Host`; [serve] hosts in serve.toml has further names";
            return Err(Problem::new(status, "host", detail));
        }
        for origin in headers.get_all(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
            let own = origin
                .strip_prefix(self.scheme)
                .is_some_and(|o| self.hosts.iter().any(|h| h == o));
            if !own && !self.origins.contains(&origin) {
                let status = StatusCode::FORBIDDEN;
                let detail = "pages of this origin may not ask; [serve] origins in serve.toml says which may";
                return Err(Problem::new(status, "origin", detail));
            }
        }
        Ok(())
    }
}

/// The layer around all routes.
pub async fn guard(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    app.metrics.request();
    let checked = app.names.check(request.headers());
    let page = checked
        .is_ok()
        .then(|| app.names.page(request.headers()))
        .flatten();
    let preflight = page.is_some()
        && method == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match checked {
        Err(problem) => problem.into_response(),
        Ok(()) if preflight => may_ask(),
        Ok(()) => match tokio::time::timeout(LIMIT, next.run(request)).await {
            Ok(response) => response,
            Err(_) => Problem::unavailable("timeout", format!("the {method} took too long"))
                .into_response(),
        },
    };
    app.metrics.answered(response.status());
    if let Some(page) = page {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("location, retry-after, content-range"),
        );
    }
    secured(response)
}

/// What a page may send. A token is sent by its script, never by its browser of its own accord, so
/// credentials aren't allowed.
fn may_ask() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, DELETE"),
        (
            ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, idempotency-key, last-event-id, range, ralph-actor",
        ),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

fn usual_port(scheme: &str) -> &'static str {
    match scheme {
        "https://" => ":443",
        _ => ":80",
    }
}

fn secured(mut response: Response) -> Response {
    const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ),
        (CORP, "same-origin"),
        (CACHE_CONTROL, "no-store"),
        (VARY, "Origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::settings::Tls;

    fn asked(names: &Names, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        names.check(&headers).is_ok()
    }

    #[test]
    fn the_port_of_its_scheme_may_be_left_out_and_no_other() {
        let tls = Tls {
            cert: "cert".into(),
            key: "key".into(),
            client_ca: None,
        };
        for (listen, tls, short) in [
            ("127.0.0.1:80", None, true),
            ("127.0.0.1:443", Some(&tls), true),
            ("127.0.0.1:443", None, false),
            ("127.0.0.1:80", Some(&tls), false),
            ("127.0.0.1:8080", None, false),
        ] {
            let serve = Serve {
                tls: tls.cloned(),
                ..Serve::default()
            };
            let names = Names::new(listen.parse().unwrap(), &serve);
            assert!(asked(&names, listen, None));
            for host in ["127.0.0.1", "localhost", "[::1]"] {
                assert_eq!(asked(&names, host, None), short, "{listen} {host}");
            }
            let origin = format!("{}localhost", serve.scheme());
            assert_eq!(
                asked(&names, listen, Some(&origin)),
                short,
                "{listen} {origin}"
            );
            assert!(!asked(&names, "evil.example", None));
        }
        let outside = Names::new("192.0.2.7:80".parse().unwrap(), &Serve::default());
        assert!(asked(&outside, "192.0.2.7", None) && !asked(&outside, "localhost", None));
        let six = Names::new("[2001:db8::7]:80".parse().unwrap(), &Serve::default());
        assert!(asked(&six, "[2001:db8::7]", None));
    }

    #[test]
    fn an_origin_is_the_same_with_its_usual_port() {
        let serve = Serve {
            origins: ["https://a.example:443", "http://b.example:443"]
                .map(str::to_owned)
                .into(),
            ..Serve::default()
        };
        let names = Names::new("127.0.0.1:8765".parse().unwrap(), &serve);
        for (origin, known) in [
            ("https://a.example", true),
            ("http://b.example:443", true),
            ("http://b.example", false),
            ("http://a.example", false),
        ] {
            assert_eq!(
                asked(&names, "localhost:8765", Some(origin)),
                known,
                "{origin}"
            );
        }
    }
}
