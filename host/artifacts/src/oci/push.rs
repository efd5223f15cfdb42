//! The way up.

use std::collections::BTreeMap;

use ralph_config::OciName;
use serde_json::json;
use ureq::http::Request;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE};

use super::{CONFIG, Descriptor, IMAGE, Manifest, Registry, SIGNATURE, VERSION, WASM};
use crate::error::ArtifactError;
use crate::http::Answer;
use crate::sha256_hex;

const ACTIONS: &str = "pull,push";

impl Registry<'_> {
    /// Component, configuration, manifest; the manifest's digest.
    pub(crate) fn push(
        &self,
        bytes: &[u8],
        version: Option<&str>,
        signature: Option<&str>,
    ) -> Result<String, ArtifactError> {
        let layer = descriptor(WASM, bytes);
        // What it is for is in the component itself.
        let config = json!({
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [&layer.digest],
        });
        let config = config.to_string().into_bytes();
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(IMAGE.to_owned()),
            config: descriptor(CONFIG, &config),
            layers: vec![layer],
            annotations: [(VERSION, version), (SIGNATURE, signature)]
                .into_iter()
                .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())))
                .collect::<BTreeMap<_, _>>(),
        };
        let manifest = serde_json::to_vec(&manifest).map_err(|e| self.refused(e.to_string()))?;
        self.blob_up(bytes)?;
        self.blob_up(&config)?;
        let digest = sha256_hex(&manifest);
        let by_digest = format!("sha256:{digest}");
        let tag = match (&self.name.tag, &self.name.digest) {
            (Some(tag), _) => tag.as_str(),
            (None, Some(wanted)) if *wanted != digest => {
                return Err(self.refused(format!("its manifest has the digest {digest}")));
            }
            (None, Some(_)) => &by_digest,
            (None, None) => "latest",
        };
        let url = self.url(&format!("manifests/{tag}"));
        let put = self.authorised(ACTIONS, |token| {
            let request = with(Request::put(&url).header(CONTENT_TYPE, IMAGE), token);
            self.http.ask(&url, request.body(&manifest[..]))
        })?;
        self.taken(put)?;
        Ok(digest)
    }

    /// Unless the registry has it.
    fn blob_up(&self, bytes: &[u8]) -> Result<(), ArtifactError> {
        let digest = format!("sha256:{}", sha256_hex(bytes));
        let url = self.url(&format!("blobs/{digest}"));
        let there = self.authorised(ACTIONS, |token| {
            self.http
                .ask(&url, with(Request::head(&url), token).body(()))
        })?;
        if there.status == 200 {
            return Ok(());
        }
        let url = self.url("blobs/uploads/");
        let begun = self.authorised(ACTIONS, |token| {
            self.http
                .ask(&url, with(Request::post(&url), token).body(()))
        })?;
        let begun = self.taken(begun)?;
        let place = begun.header("location").unwrap_or_default();
        let place = self.own(place)?;
        let joint = if place.contains('?') { '&' } else { '?' };
        let url = format!("{place}{joint}digest={digest}");
        let put = self.authorised(ACTIONS, |token| {
            let request = Request::put(&url).header(CONTENT_TYPE, "application/octet-stream");
            self.http.ask(&url, with(request, token).body(bytes))
        })?;
        self.taken(put).map(drop)
    }

    /// Where to send it: nowhere but to the registry itself.
    fn own(&self, location: &str) -> Result<String, ArtifactError> {
        let base = self.base();
        if location.starts_with('/') && !location.starts_with("//") {
            return Ok(format!("{base}{location}"));
        }
        if location
            .strip_prefix(&base)
            .is_some_and(|rest| rest.starts_with('/'))
        {
            return Ok(location.to_owned());
        }
        let place = location.split(['?', '#']).next().unwrap_or_default();
        Err(self.refused(format!("it wants it sent elsewhere, to {place:?}")))
    }

    fn taken(&self, answer: Answer) -> Result<Answer, ArtifactError> {
        match answer.status {
            200..=299 => Ok(answer),
            401 | 403 => Err(self.refused(format!(
                "it refuses ({}); the login may not push there",
                answer.status
            ))),
            status => Err(self.refused(format!("it answers {status}"))),
        }
    }

    fn refused(&self, why: String) -> ArtifactError {
        let name: &OciName = self.name;
        ArtifactError::Push {
            to: name.to_string(),
            why,
        }
    }
}

fn descriptor(kind: &str, bytes: &[u8]) -> Descriptor {
    Descriptor {
        media_type: kind.to_owned(),
        digest: format!("sha256:{}", sha256_hex(bytes)),
        size: bytes.len() as u64,
    }
}

fn with(
    request: ureq::http::request::Builder,
    token: Option<&str>,
) -> ureq::http::request::Builder {
    match token {
        Some(token) => request.header(AUTHORIZATION, token),
        None => request,
    }
}
