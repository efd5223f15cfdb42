//! What holds for every request, before any handler: by which name the service is asked (against
//! DNS rebinding), from which page, how long it may take; and the headers of every answer.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::Shared;
use crate::problem::Problem;

/// A handler has so long; a stream's body may take longer.
const LIMIT: Duration = Duration::from_secs(60);

/// Names by which the service may be asked.
pub struct Names {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Names {
    /// Its own address, `localhost` where that is this machine, and what the operator names.
    pub fn new(listen: SocketAddr, hosts: &[String], origins: &[String]) -> Names {
        let port = listen.port();
        let mut all = vec![listen.to_string()];
        if listen.ip().is_loopback() {
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                all.push(format!("{name}:{port}"));
            }
        }
        for host in hosts {
            let host = host.to_ascii_lowercase();
            all.push(format!("{host}:{port}"));
            all.push(host);
        }
        Names {
            hosts: all,
            origins: origins.iter().map(|o| o.to_ascii_lowercase()).collect(),
        }
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
                .strip_prefix("http://")
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
    let response = match app.names.check(request.headers()) {
        Err(problem) => problem.into_response(),
        Ok(()) => match tokio::time::timeout(LIMIT, next.run(request)).await {
            Ok(response) => response,
            Err(_) => {
                Problem::unavailable("timeout", format!("the {method} took too long")).into_response()
            }
        },
    };
    app.metrics.answered(response.status());
    secured(response)
}

fn secured(mut response: Response) -> Response {
    const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (CORP, "same-origin"),
        (CACHE_CONTROL, "no-store"),
        (VARY, "Origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
