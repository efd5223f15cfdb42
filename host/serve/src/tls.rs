//! TLS by rustls, with clients' certificates where they are asked for.

use std::path::Path;
use std::sync::Arc;

use ralph_runner::Error;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::settings::Tls;

/// As `[serve.tls]` says.
///
/// # Errors
/// A file can't be read, or they don't belong together.
pub fn acceptor(tls: &Tls) -> Result<TlsAcceptor, Error> {
    let wrong = |path: &Path, e: &dyn std::fmt::Display| {
        Error::Usage(format!("[serve.tls] {}: {e}", path.display()))
    };
    let certificates = |path: &Path| -> Result<Vec<CertificateDer<'static>>, Error> {
        let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let found: Vec<_> = found.map_err(|e| wrong(path, &e))?;
        match found.is_empty() {
            true => Err(wrong(path, &"there is no certificate in it")),
            false => Ok(found),
        }
    };
    let chain = certificates(&tls.cert)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|e| wrong(&tls.key, &e))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::Internal(e.to_string()))?;
    let builder = match &tls.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|e| wrong(path, &e))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                .build()
                .map_err(|e| wrong(path, &e))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder
        .with_single_cert(chain, key)
        .map_err(|e| wrong(&tls.cert, &e))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
