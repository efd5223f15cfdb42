//! As much of the OCI distribution protocol as one component in one layer needs. Components are
//! laid out as other WebAssembly tools do, so that they read each other's.

mod auth;
mod docker;
mod push;

use std::collections::BTreeMap;

use ralph_config::{OciName, is_sha256};
use serde::{Deserialize, Serialize};
use ureq::http::Request;
use ureq::http::header::{ACCEPT, AUTHORIZATION};

use crate::error::ArtifactError;
use crate::http::{Answer, Http};
use crate::sha256_hex;
use auth::Auth;

const IMAGE: &str = "application/vnd.oci.image.manifest.v1+json";
const WASM: &str = "application/wasm";
/// What older tools call it.
const OLD_WASM: [&str; 2] = [
    "application/vnd.wasm.content.layer.v1+wasm",
    "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm",
];
const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The annotation of a manifest that holds the component's signature.
const SIGNATURE: &str = "ralph.minisig";
const VERSION: &str = "org.opencontainers.image.version";

/// A manifest, as far as it is of interest.
pub(crate) struct Image {
    /// The component's digest.
    pub(crate) sha256: String,
    size: u64,
    pub(crate) signature: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    config: Descriptor,
    layers: Vec<Descriptor>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

impl Image {
    /// No manifest is longer.
    pub(crate) const MAX: u64 = 1 << 20;

    pub(crate) fn parse(name: &OciName, bytes: &[u8]) -> Result<Image, ArtifactError> {
        let wrong = |why: String| ArtifactError::fetch(name, why);
        let manifest: Manifest = serde_json::from_slice(bytes)
            .map_err(|e| wrong(format!("its manifest is no image's: {e}")))?;
        let is_wasm = |layer: &&Descriptor| {
            layer.media_type == WASM || OLD_WASM.contains(&layer.media_type.as_str())
        };
        let wasm: Vec<_> = manifest.layers.iter().filter(is_wasm).collect();
        let [layer] = wasm.as_slice() else {
            return Err(wrong(format!(
                "it has {} layers of WebAssembly; a plugin is one",
                wasm.len()
            )));
        };
        let sha256 = layer
            .digest
            .strip_prefix("sha256:")
            .filter(|d| is_sha256(d));
        let Some(sha256) = sha256 else {
            return Err(wrong("its layer isn't named by a SHA-256".into()));
        };
        Ok(Image {
            sha256: sha256.to_owned(),
            size: layer.size,
            signature: manifest.annotations.get(SIGNATURE).cloned(),
        })
    }
}

/// One repository of a registry.
pub(crate) struct Registry<'a> {
    http: &'a Http,
    name: &'a OciName,
    auth: Auth<'a>,
}

impl<'a> Registry<'a> {
    pub(crate) fn new(http: &'a Http, name: &'a OciName) -> Registry<'a> {
        Registry {
            http,
            name,
            auth: Auth::new(http, name),
        }
    }

    /// The bytes of the manifest that the name stands for, checked against its digest.
    pub(crate) fn manifest(&self) -> Result<Vec<u8>, ArtifactError> {
        let digest = self.name.digest.as_ref().map(|d| format!("sha256:{d}"));
        let tag = self.name.tag.as_deref().unwrap_or("latest");
        let which = digest.as_deref().unwrap_or(tag);
        let url = self.url(&format!("manifests/{which}"));
        let bytes = self.get(&url, IMAGE)?.bytes(Image::MAX)?;
        let found = sha256_hex(&bytes);
        if let Some(wanted) = &self.name.digest
            && *wanted != found
        {
            return Err(ArtifactError::Digest {
                from: self.name.to_string(),
                expected: wanted.clone(),
                found,
            });
        }
        Ok(bytes)
    }

    /// The component that a manifest names; its digest is to be checked.
    pub(crate) fn blob(&self, image: &Image, limit: u64) -> Result<Vec<u8>, ArtifactError> {
        if image.size > limit {
            return Err(ArtifactError::TooLarge {
                from: self.name.to_string(),
                limit,
            });
        }
        let url = self.url(&format!("blobs/sha256:{}", image.sha256));
        self.get(&url, "*/*")?.bytes(image.size)
    }

    fn get(&self, url: &str, accept: &str) -> Result<Answer, ArtifactError> {
        self.authorised("pull", |token| {
            let mut request = Request::get(url).header(ACCEPT, accept);
            if let Some(token) = token {
                request = request.header(AUTHORIZATION, token);
            }
            self.http.ask(url, request.body(()))
        })?
        .good()
    }

    /// Asks, and asks once more with what the registry wants to see.
    fn authorised(
        &self,
        action: &str,
        ask: impl Fn(Option<&str>) -> Result<Answer, ArtifactError>,
    ) -> Result<Answer, ArtifactError> {
        let known = self.auth.known();
        let answer = ask(known.as_deref())?;
        if answer.status != 401 || known.is_some() {
            return Ok(answer);
        }
        let challenge = answer.header("www-authenticate").unwrap_or_default();
        let token = self.auth.answer(challenge, action)?;
        ask(Some(&token))
    }

    fn url(&self, rest: &str) -> String {
        format!("{}/v2/{}/{rest}", self.base(), self.repository())
    }

    /// Docker's own registry has another address than name.
    fn base(&self) -> String {
        let registry = self.name.registry.as_str();
        match registry {
            "docker.io" => "https://registry-1.docker.io".to_owned(),
            _ if is_here(registry) => format!("http://{registry}"),
            _ => format!("https://{registry}"),
        }
    }

    fn repository(&self) -> String {
        let repository = &self.name.repository;
        if self.name.registry == "docker.io" && !repository.contains('/') {
            format!("library/{repository}")
        } else {
            repository.clone()
        }
    }
}

/// Is it this machine? What is said to it passes no wire.
pub(super) fn is_here(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use ralph_config::Reference;

    fn name() -> OciName {
        match Reference::parse("oci://ghcr.io/o/gate:1").unwrap() {
            Reference::Oci(name) => name,
            other => panic!("{other}"),
        }
    }

    fn manifest(layers: &[(&str, &str)]) -> Vec<u8> {
        let layers: Vec<_> = layers
            .iter()
            .map(|(kind, digest)| {
                format!(r#"{{"mediaType":"{kind}","digest":"{digest}","size":3}}"#)
            })
            .collect();
        format!(
            r#"{{"schemaVersion":2,"config":{{"mediaType":"x","digest":"y","size":2}},"layers":[{}],"annotations":{{"ralph.minisig":"s"}}}}"#,
            layers.join(",")
        )
        .into_bytes()
    }

    #[test]
    fn a_manifest_names_one_component() {
        let good = format!("sha256:{}", "ab".repeat(32));
        for kind in [WASM, OLD_WASM[0], OLD_WASM[1]] {
            let image = Image::parse(&name(), &manifest(&[("text/plain", "z"), (kind, &good)]));
            let image = image.unwrap();
            assert_eq!(image.sha256, "ab".repeat(32));
            assert_eq!(image.signature.as_deref(), Some("s"));
        }
        for bad in [
            manifest(&[]),
            manifest(&[("text/plain", &good)]),
            manifest(&[(WASM, &good), (WASM, &good)]),
            manifest(&[(WASM, "sha512:00")]),
            manifest(&[(WASM, "sha256:../../etc")]),
            br#"{"schemaVersion":2,"manifests":[]}"#.to_vec(),
            b"".to_vec(),
        ] {
            assert!(Image::parse(&name(), &bad).is_err());
        }
    }

    #[test]
    fn only_this_machine_is_spoken_to_in_plain() {
        for here in [
            "localhost",
            "localhost:5000",
            "127.0.0.1:5000",
            "127.8.8.8",
            "[::1]:5000",
        ] {
            assert!(is_here(here), "{here}");
        }
        for there in [
            "ghcr.io",
            "localhost.evil.org",
            "127.0.0.1.evil.org:80",
            "10.0.0.1",
            "[::2]:1",
        ] {
            assert!(!is_here(there), "{there}");
        }
    }
}
