//! What handlers take: who asks, and what they send.

use std::marker::PhantomData;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use ralph_runner::clock;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::app::Shared;
use crate::auth::{Action, Identity};
use crate::problem::Problem;

/// A body has to be there within this time.
const BODY_TIME: Duration = Duration::from_secs(20);
/// On whose behalf a service asks; for the audit.
const ON_BEHALF: &str = "ralph-actor";

/// Who asks: the bearer of a good token.
#[derive(Debug, Clone)]
pub struct Caller {
    identity: Identity,
    /// For the audit: the token's name, and behind a slash whom its bearer acts for.
    pub actor: String,
}

impl Caller {
    /// May they do this?
    ///
    /// # Errors
    /// 403, with the role it takes.
    pub fn may(&self, action: Action) -> Result<(), Problem> {
        if self.identity.role >= action.role() {
            return Ok(());
        }
        Err(Problem::forbidden(format!(
            "this takes the role {}; the token has {}",
            action.role(),
            self.identity.role
        ))
        .with("role_needed", action.role().to_string()))
    }

    /// May they do this in that workspace?
    ///
    /// # Errors
    /// 403 for the role, 404 for a workspace that isn't theirs.
    pub fn may_in(&self, action: Action, workspace: &str) -> Result<(), Problem> {
        self.may(action)?;
        match self.identity.scope.has(workspace) {
            true => Ok(()),
            false => Err(Problem::not_found("such workspace")),
        }
    }

    /// The token's name.
    pub fn name(&self) -> &str {
        &self.identity.name
    }

    /// For how much longer; `None`: as long as the service runs.
    pub fn time_left(&self) -> Option<Duration> {
        let until = self.identity.until?;
        Some(Duration::from_secs(until.saturating_sub(clock::unix())))
    }

    /// Where they may do what they may.
    pub fn scope(&self) -> &crate::auth::Scope {
        &self.identity.scope
    }
}

impl FromRequestParts<Shared> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Caller, Problem> {
        let bearer = bearer(&parts.headers)?;
        let identity = app.access.admit(bearer)?;
        let mut actor = identity.name.clone();
        if let Some(behalf) = parts.headers.get(ON_BEHALF) {
            let good = |t: &&str| !t.is_empty() && t.len() <= 128;
            let text = behalf.to_str().ok().filter(good).ok_or_else(|| {
                Problem::bad("the header `ralph-actor` has 1 to 128 visible characters")
            })?;
            actor = format!("{actor}/{text}");
        }
        Ok(Caller { identity, actor })
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (given.next(), given.next());
    let bearer = first
        .filter(|_| second.is_none())
        .and_then(|v| v.to_str().ok())
        .and_then(|v| v.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    bearer.ok_or_else(|| {
        Problem::unauthenticated(
            "send `Authorization: Bearer` with a token of serve.toml, or a minted one",
        )
    })
}

/// Parts of an address.
pub struct At<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Shared> for At<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<At<T>, Problem> {
        match Path::from_request_parts(parts, app).await {
            Ok(Path(at)) => Ok(At(at)),
            Err(e) => Err(Problem::bad(format!("the address: {}", e.body_text()))),
        }
    }
}

/// A query.
pub struct Asked<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Asked<T>, Problem> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(query)) => Ok(Asked(query)),
            Err(e) => Err(Problem::bad(format!("the query: {}", e.body_text()))),
        }
    }
}

/// A body of JSON.
pub struct Input<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Shared> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Shared) -> Result<Input<T>, Problem> {
        let bytes = body(request, app, Some("application/json")).await?;
        // An empty body says nothing, which may be enough.
        let bytes: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let mut from = serde_json::Deserializer::from_slice(bytes);
        match object(&mut from).and_then(|value| from.end().map(|()| value)) {
            Ok(value) => Ok(Input(value)),
            Err(e) if e.is_data() => Err(Problem::unprocessable("invalid", e.to_string())),
            Err(e) => Err(Problem::bad(format!("the body is no JSON: {e}"))),
        }
    }
}

/// An object and nothing else: serde takes a list of an object's members for it, too.
///
/// # Errors
/// It is something else, or not as its type says.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    struct Members<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
        type Value = T;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(members))
        }
    }
    from.deserialize_map(Members(PhantomData))
}

/// A request's body, within the limits of size and time.
///
/// # Errors
/// 408, 413, 415.
pub async fn body(
    request: Request,
    app: &Shared,
    wanted: Option<&str>,
) -> Result<bytes::Bytes, Problem> {
    let limit = usize::try_from(app.settings.serve.body_limit.bytes()).unwrap_or(usize::MAX);
    let too_long = || {
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        let detail = format!("the body is longer than {limit} bytes ([serve] body_limit)");
        Problem::new(status, "body-too-long", detail)
    };
    let announced = request.headers().get(CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    // It isn't waited for what is going to be refused.
    if announced.is_some_and(|length| length > app.settings.serve.body_limit.bytes()) {
        return Err(too_long());
    }
    let kind = request.headers().get(CONTENT_TYPE).cloned();
    let reading = axum::body::to_bytes(request.into_body(), limit);
    let bytes = match tokio::time::timeout(BODY_TIME, reading).await {
        Err(_) => {
            let status = StatusCode::REQUEST_TIMEOUT;
            return Err(Problem::new(
                status,
                "slow-body",
                "the body didn't come in time",
            ));
        }
        Ok(Err(e)) => {
            let longer =
                std::error::Error::source(&e).is_some_and(|s| s.to_string().contains("limit"));
            return Err(match longer {
                true => too_long(),
                false => Problem::bad("the body broke off"),
            });
        }
        Ok(Ok(bytes)) => bytes,
    };
    let Some(wanted) = wanted.filter(|_| !bytes.is_empty()) else {
        return Ok(bytes);
    };
    let kind = kind
        .as_ref()
        .and_then(|k| k.to_str().ok())
        .unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case(wanted) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        let detail = format!("the body has to be {wanted}, and `Content-Type` has to say so");
        return Err(Problem::new(status, "media-type", detail));
    }
    Ok(bytes)
}
