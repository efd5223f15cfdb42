//! How a client is made.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ureq::http::Uri;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use crate::client::Client;
use crate::connection::Connection;
use crate::error::Error;
use crate::token::Token;

/// What a client is made of. Each setting has a default.
#[derive(Debug, Clone)]
pub struct Builder {
    pub(crate) url: String,
    pub(crate) token: Option<Token>,
    pub(crate) actor: Option<String>,
    pub(crate) timeout: Duration,
    pub(crate) idle: Duration,
    pub(crate) patience: Option<Duration>,
    pub(crate) event_max: usize,
    pub(crate) roots: Option<PathBuf>,
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
}

impl Builder {
    pub(crate) fn new(url: impl Into<String>) -> Builder {
        Builder {
            url: url.into(),
            token: None,
            actor: None,
            timeout: Duration::from_secs(75),
            idle: Duration::from_secs(60),
            patience: Some(Duration::from_secs(300)),
            event_max: 4 << 20,
            roots: None,
            identity: None,
        }
    }

    /// The bearer token that each request is sent with.
    #[must_use]
    pub fn token(mut self, token: Token) -> Builder {
        self.token = Some(token);
        self
    }

    /// For whom the requests are made; the service's audit has it behind the token's name.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Builder {
        self.actor = Some(actor.into());
        self
    }

    /// A request has so long: 75 s, which is more than the service gives itself.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Builder {
        self.timeout = timeout;
        self
    }

    /// A stream of events on which nothing comes for so long is broken: 60 s. It has to be more than
    /// the service's `heartbeat` (15 s).
    #[must_use]
    pub fn idle_timeout(mut self, idle: Duration) -> Builder {
        self.idle = idle;
        self
    }

    /// Streams of events give up when the service was away for so long: 5 minutes. `None`: never.
    #[must_use]
    pub fn patience(mut self, patience: impl Into<Option<Duration>>) -> Builder {
        self.patience = patience.into();
        self
    }

    /// An event has at most so many bytes: 4 MiB. A longer one ends its stream.
    #[must_use]
    pub fn event_max(mut self, bytes: usize) -> Builder {
        self.event_max = bytes;
        self
    }

    /// A file of certificates (PEM) that count instead of Mozilla's.
    #[must_use]
    pub fn root_certificates(mut self, path: impl Into<PathBuf>) -> Builder {
        self.roots = Some(path.into());
        self
    }

    /// Files with a certificate of this client's and its key (PEM), for a service with `client_ca`.
    #[must_use]
    pub fn client_certificate(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Builder {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// The client. It connects to nobody yet.
    ///
    /// # Errors
    /// The address is none, or a file of certificates can't be used.
    pub fn build(self) -> Result<Client, Error> {
        let (base, loopback) = address(&self.url)?;
        let tls = self.tls()?;
        let connection = Connection::new(base, loopback, tls, &self)?;
        Ok(Client::new(connection, &self))
    }

    fn tls(&self) -> Result<TlsConfig, Error> {
        let mut tls = TlsConfig::builder();
        if let Some(path) = &self.roots {
            tls = tls.root_certs(RootCerts::Specific(Arc::new(certificates(path)?)));
        }
        if let Some((path, key)) = &self.identity {
            let chain = certificates(path)?;
            let key = items(key)?.find_map(|item| match item {
                PemItem::PrivateKey(key) => Some(key),
                _ => None,
            });
            let key: PrivateKey<'static> = key.ok_or_else(|| {
                let shown = self.identity.as_ref().map(|(_, key)| key.display());
                let shown = shown.map(|s| s.to_string()).unwrap_or_default();
                Error::Settings(format!("{shown}: there is no private key in it"))
            })?;
            tls = tls.client_cert(Some(ClientCert::new_with_certs(&chain, key)));
        }
        Ok(tls.build())
    }
}

fn items(path: &PathBuf) -> Result<impl Iterator<Item = PemItem<'static>>, Error> {
    let bytes =
        std::fs::read(path).map_err(|e| Error::Settings(format!("{}: {e}", path.display())))?;
    let items: Vec<_> = parse_pem(&bytes).filter_map(Result::ok).collect();
    Ok(items.into_iter())
}

fn certificates(path: &PathBuf) -> Result<Vec<Certificate<'static>>, Error> {
    let found: Vec<Certificate<'static>> = items(path)?
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        let why = "there is no certificate in it";
        return Err(Error::Settings(format!("{}: {why}", path.display())));
    }
    Ok(found)
}

/// The address without its last slashes, and whether it is this machine's own.
fn address(url: &str) -> Result<(String, bool), Error> {
    let bad = |why: &str| Error::Settings(format!("the service's address {url:?}: {why}"));
    let base = url.trim_end_matches('/');
    let uri: Uri = base.parse().map_err(|_| bad("it is none"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(bad("it begins with http:// or https://"));
    }
    // It would be in errors and logs.
    if uri.authority().is_some_and(|a| a.as_str().contains('@')) {
        return Err(Error::Settings(
            "the service's address has a password in it; a token goes into RALPH_SERVE_TOKEN"
                .into(),
        ));
    }
    if uri.query().is_some() || base.contains('#') {
        return Err(bad("it has no query"));
    }
    let host = uri.host().unwrap_or_default();
    let ip = host.trim_start_matches('[').trim_end_matches(']');
    let ip = ip.parse::<std::net::IpAddr>();
    let loopback = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
    Ok((base.to_owned(), loopback))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_checked_before_anything_is_asked() {
        for (url, want) in [
            ("http://127.0.0.1:8765/", ("http://127.0.0.1:8765", true)),
            ("http://[::1]:1", ("http://[::1]:1", true)),
            ("http://localhost", ("http://localhost", true)),
            ("https://x.example/at//", ("https://x.example/at", false)),
        ] {
            assert_eq!(address(url).unwrap(), (want.0.to_owned(), want.1));
        }
        for url in [
            "",
            "x",
            "/v1",
            "ftp://x",
            "http://",
            "http://x/?q",
            "http://a b",
            "x.example:80",
        ] {
            let said = address(url).unwrap_err();
            assert!(matches!(said, Error::Settings(_)), "{url}: {said}");
        }
        let said = address("http://me:s3cret@x").unwrap_err().to_string();
        assert!(!said.contains("s3cret"), "{said}");
    }

    #[test]
    fn a_certificate_that_isn_t_there_is_told_when_the_client_is_made() {
        let made = Builder::new("https://x").root_certificates("/nowhere/ca.pem");
        let said = made.build().unwrap_err().to_string();
        assert!(said.starts_with("/nowhere/ca.pem: "), "{said}");
    }
}
