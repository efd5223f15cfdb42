//! Requests with a bound on everything: bytes, time, redirects. Never to plain HTTP, except
//! to a registry on this very machine.

use std::sync::Arc;
use std::time::Duration;

use ureq::http::{HeaderMap, Request};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, AsSendBody, Body};

use crate::error::ArtifactError;

const CONNECT: Duration = Duration::from_secs(15);
/// From the request's end to the answer's head.
const ANSWER: Duration = Duration::from_secs(60);
/// One file of the largest size, over a slow line.
const WHOLE: Duration = Duration::from_secs(600);
const REDIRECTS: u32 = 5;

/// Where certificates are that count in place of those built in, as OpenSSL has it.
const ROOTS: &str = "SSL_CERT_FILE";

pub(crate) struct Http {
    /// HTTPS, follows redirects to HTTPS.
    pulling: Agent,
    /// HTTPS, follows none.
    pushing: Agent,
    /// For this machine's own registries, follows none.
    plain: Agent,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Body,
    url: String,
}

impl Http {
    pub(crate) fn new() -> Result<Http, ArtifactError> {
        let roots = roots()?;
        let agent = |https: bool, redirects: u32| {
            let tls = TlsConfig::builder().root_certs(roots.clone()).build();
            let config = Agent::config_builder()
                .http_status_as_error(false)
                .https_only(https)
                .max_redirects(redirects)
                .max_redirects_will_error(redirects > 0)
                .timeout_connect(Some(CONNECT))
                .timeout_recv_response(Some(ANSWER))
                .timeout_global(Some(WHOLE))
                .user_agent(concat!("ralph/", env!("CARGO_PKG_VERSION")))
                .tls_config(tls);
            let config = if https { config } else { config.proxy(None) };
            Agent::new_with_config(config.build())
        };
        Ok(Http {
            pulling: agent(true, REDIRECTS),
            pushing: agent(true, 0),
            plain: agent(false, 0),
        })
    }

    /// Gets an `https://` address.
    pub(crate) fn get(&self, url: &str) -> Result<Answer, ArtifactError> {
        let request = Request::get(url).body(());
        send(&self.pulling, url, request)
    }

    /// Sends a request to a registry. Redirects are followed for `GET` only, and by none of
    /// this machine; what authorises the request isn't sent along.
    pub(crate) fn ask(
        &self,
        url: &str,
        request: ureq::http::Result<Request<impl AsSendBody>>,
    ) -> Result<Answer, ArtifactError> {
        let get = request.as_ref().is_ok_and(|r| r.method() == "GET");
        let agent = match url.starts_with("https://") {
            true if get => &self.pulling,
            true => &self.pushing,
            false => &self.plain,
        };
        send(agent, url, request)
    }
}

fn send(
    agent: &Agent,
    url: &str,
    request: ureq::http::Result<Request<impl AsSendBody>>,
) -> Result<Answer, ArtifactError> {
    let request = request.map_err(|e| ArtifactError::fetch(url, e))?;
    let response = agent.run(request).map_err(|e| said(url, e))?;
    let (head, body) = response.into_parts();
    Ok(Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body,
        url: url.to_owned(),
    })
}

fn said(url: &str, error: ureq::Error) -> ArtifactError {
    let why = match error {
        ureq::Error::RequireHttpsOnly(to) => {
            let to = to.split(['?', '#']).next().unwrap_or_default().to_owned();
            format!("it leads to {to}, which isn't https")
        }
        ureq::Error::Timeout(what) => format!("no answer in time ({what})"),
        error => error.to_string(),
    };
    ArtifactError::fetch(url, why)
}

impl Answer {
    /// The whole body, if it isn't longer.
    pub(crate) fn bytes(mut self, limit: u64) -> Result<Vec<u8>, ArtifactError> {
        let too_large = || ArtifactError::TooLarge {
            from: self.url.clone(),
            limit,
        };
        if self.body.content_length().is_some_and(|len| len > limit) {
            return Err(too_large());
        }
        match self.body.with_config().limit(limit).read_to_vec() {
            Ok(bytes) => Ok(bytes),
            Err(ureq::Error::BodyExceedsLimit(_)) => Err(too_large()),
            Err(ureq::Error::Io(e)) if e.kind() == std::io::ErrorKind::UnexpectedEof => Err(
                ArtifactError::fetch(&self.url, "the connection ended before the file did"),
            ),
            Err(e) => Err(said(&self.url, e)),
        }
    }

    /// An error unless the status is a good one.
    pub(crate) fn good(self) -> Result<Answer, ArtifactError> {
        match self.status {
            200..=299 => Ok(self),
            status => Err(ArtifactError::fetch(
                &self.url,
                format!("the server answers {status}"),
            )),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Whose certificates are believed: Mozilla's list, or what the user's environment names.
fn roots() -> Result<RootCerts, ArtifactError> {
    let Some(path) = std::env::var_os(ROOTS).filter(|path| !path.is_empty()) else {
        return Ok(RootCerts::WebPki);
    };
    let failed =
        |why: String| ArtifactError::fetch(format!("{ROOTS} ({})", path.to_string_lossy()), why);
    let bytes = std::fs::read(&path).map_err(|e| failed(e.to_string()))?;
    let found: Vec<Certificate<'static>> = parse_pem(&bytes)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(failed("there is no certificate in it".into()));
    }
    Ok(RootCerts::Specific(Arc::new(found)))
}
