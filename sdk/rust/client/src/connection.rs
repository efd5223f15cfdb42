//! Requests and their answers, with a bound on bytes and time. No redirect is followed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use ureq::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use ureq::http::{Method, Request, Response, StatusCode};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body};

use crate::error::{Error, Problem};
use crate::settings::Builder;
use crate::token::Token;

const CONNECT: Duration = Duration::from_secs(10);
/// Of an answer; a page of 500 runs or a prompt has a fraction of it.
const ANSWER_MAX: u64 = 32 << 20;
/// Of a refusal.
const PROBLEM_MAX: u64 = 1 << 20;
/// Whom a request is made for.
const ACTOR: HeaderName = HeaderName::from_static("ralph-actor");

/// A service, and how it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    base: Arc<str>,
    token: Option<Token>,
    actor: Option<String>,
    /// Asks, and has all of the answer in time.
    asking: Agent,
    /// Follows a stream, as long as something comes.
    following: Agent,
}

impl Connection {
    pub(crate) fn new(
        base: String,
        loopback: bool,
        tls: TlsConfig,
        settings: &Builder,
    ) -> Result<Connection, Error> {
        let agent = |whole: Option<Duration>, idle: Option<Duration>| {
            let config = Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .timeout_connect(Some(CONNECT.min(settings.timeout)))
                .timeout_recv_response(Some(settings.timeout))
                .timeout_global(whole)
                .timeout_per_read(idle)
                .user_agent(concat!("ralph-service/", env!("CARGO_PKG_VERSION")))
                .tls_config(tls.clone());
            // This machine is asked without a proxy.
            let config = if loopback { config.proxy(None) } else { config };
            Agent::new_with_config(config.build())
        };
        Ok(Connection {
            base: base.into(),
            token: settings.token.clone(),
            actor: settings.actor.clone(),
            asking: agent(Some(settings.timeout), None),
            following: agent(None, Some(settings.idle)),
        })
    }

    /// The same on somebody's behalf.
    pub(crate) fn acting_for(&self, actor: &str) -> Connection {
        Connection {
            actor: Some(actor.to_owned()),
            ..self.clone()
        }
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Asks for JSON.
    pub(crate) fn ask<T: DeserializeOwned>(&self, asked: Asked<'_>) -> Result<T, Error> {
        let url = format!("{}{}", self.base, asked.path);
        let mut answer = self.send(&self.asking, &url, asked)?;
        let body = answer.body_mut().with_config().limit(ANSWER_MAX);
        let bytes = body.read_to_vec().map_err(|e| said(&url, e))?;
        serde_json::from_slice(&bytes).map_err(|e| Error::Garbled {
            why: format!("the answer isn't what a service answers: {e}"),
            url,
        })
    }

    /// Asks for events; `None` if there are none to come.
    pub(crate) fn follow(
        &self,
        path: &str,
        last: Option<&str>,
    ) -> Result<Option<Box<dyn io::Read + Send>>, Error> {
        let url = format!("{}{path}", self.base);
        let mut asked = Asked::get(path);
        asked.header(ACCEPT, "text/event-stream")?;
        if let Some(last) = last {
            asked.header(HeaderName::from_static("last-event-id"), last)?;
        }
        let answer = self.send(&self.following, &url, asked)?;
        if answer.status() == StatusCode::NO_CONTENT {
            return Ok(None);
        }
        let kind = answer.headers().get(CONTENT_TYPE);
        let kind = kind.and_then(|k| k.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("text/event-stream") {
            let why = format!("the answer is no stream of events: its type is {kind:?}");
            return Err(Error::Garbled { url, why });
        }
        Ok(Some(Box::new(answer.into_body().into_reader())))
    }

    /// A good answer.
    fn send(
        &self,
        agent: &Agent,
        url: &str,
        mut asked: Asked<'_>,
    ) -> Result<Response<Body>, Error> {
        plain(asked.path)?;
        if let Some(token) = &self.token {
            asked.header(AUTHORIZATION, &format!("Bearer {}", token.get()?))?;
        }
        if let Some(actor) = &self.actor {
            asked.header(ACTOR, actor)?;
        }
        let mut request = Request::builder().method(asked.method).uri(url);
        if asked.body.is_some() {
            let kind = HeaderValue::from_static("application/json");
            asked.headers.insert(CONTENT_TYPE, kind);
        }
        if let Some(headers) = request.headers_mut() {
            *headers = asked.headers;
        }
        let settings = |e: ureq::http::Error| Error::Settings(format!("{url}: {e}"));
        let answer = match asked.body {
            Some(body) => agent.run(request.body(body).map_err(settings)?),
            None => agent.run(request.body(()).map_err(settings)?),
        };
        let mut answer = answer.map_err(|e| said(url, e))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let after = answer.headers().get(RETRY_AFTER);
        let after = after.and_then(|v| v.to_str().ok()?.parse().ok());
        let after = after.map(Duration::from_secs);
        // If it can't be read, the status says enough.
        let body = answer.body_mut().with_config().limit(PROBLEM_MAX);
        let body = body.read_to_vec().unwrap_or_default();
        let problem = Problem::new(status.as_u16(), after, &body);
        Err(Error::Refused(Box::new(problem)))
    }
}

/// A request.
pub(crate) struct Asked<'a> {
    method: Method,
    path: &'a str,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(method: Method, path: &'a str) -> Asked<'a> {
        Asked {
            method,
            path,
            headers: HeaderMap::new(),
            body: None,
        }
    }

    pub(crate) fn get(path: &'a str) -> Asked<'a> {
        Asked::new(Method::GET, path)
    }

    pub(crate) fn json(mut self, body: &impl serde::Serialize) -> Result<Asked<'a>, Error> {
        let body = serde_json::to_vec(body).map_err(|e| Error::Settings(e.to_string()))?;
        self.body = Some(body);
        Ok(self)
    }

    pub(crate) fn header(&mut self, name: HeaderName, value: &str) -> Result<(), Error> {
        let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
            Error::Settings(format!("the header `{name}` can't have what it is given"))
        })?;
        value.set_sensitive(name == AUTHORIZATION);
        self.headers.insert(name, value);
        Ok(())
    }
}

/// Whoever resolves dots in a path asks for another thing than is named, whatever the service does.
fn plain(path: &str) -> Result<(), Error> {
    let names = path.split('?').next().unwrap_or_default();
    for name in names.split('/').skip(1) {
        // A percent sign of a name is encoded by now.
        let dots = name.to_ascii_lowercase().replace("%252e", ".");
        if matches!(dots.as_str(), "" | "." | "..") {
            let name = name.replace("%25", "%");
            return Err(Error::Name(format!(
                "a name can't be {name:?} (asked for {names})"
            )));
        }
    }
    Ok(())
}

fn said(url: &str, error: ureq::Error) -> Error {
    let url = url.to_owned();
    match error {
        ureq::Error::Timeout(what) => Error::TimedOut {
            url,
            what: what.to_string(),
        },
        ureq::Error::Rustls(e) => Error::Tls {
            url,
            why: e.to_string(),
        },
        ureq::Error::Tls(e) => Error::Tls { url, why: e.into() },
        // How rustls says what is wrong with a handshake.
        ureq::Error::Io(e) if e.kind() == io::ErrorKind::InvalidData => {
            let why = e.to_string();
            Error::Tls { url, why }
        }
        ureq::Error::Io(source) => broken(url, source),
        ureq::Error::HostNotFound => {
            let source = io::Error::new(io::ErrorKind::NotFound, "there is no such host");
            Error::Unreachable { url, source }
        }
        ureq::Error::BodyExceedsLimit(limit) => Error::Garbled {
            url,
            why: format!("the answer is longer than {limit} bytes"),
        },
        e @ (ureq::Error::ConnectionFailed | ureq::Error::Protocol(_)) => Error::Unreachable {
            url,
            source: io::Error::other(e.to_string()),
        },
        e => Error::Settings(format!("{url}: {e}")),
    }
}

/// What was said while a body was read.
pub(crate) fn broken(url: String, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::TimedOut {
        let what = "nothing came".to_owned();
        return Error::TimedOut { url, what };
    }
    Error::Unreachable { url, source: error }
}
