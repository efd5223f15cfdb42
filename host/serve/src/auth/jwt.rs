//! Minted tokens: JSON Web Tokens (RFC 7519) signed with HMAC-SHA-256, and with nothing else.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use ralph_runner::{Error, clock};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{Identity, Role, Scope, Verifier};
use crate::caller::object;
use crate::settings::{Settings, Slug, secret};

const ISSUER: &str = "ralph";
/// Two machines' clocks differ by so much.
const LEEWAY: u64 = 5;
/// Longer ones aren't looked at.
const TOKEN_MAX: usize = 4096;
/// Before the names of those who bear minted tokens, so that none of them is a static token's.
const MINTED: &str = "jwt:";

#[derive(Serialize, Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    /// Extensions that have to be understood; none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crit: Option<serde_json::Value>,
}

/// What a minted token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// `ralph`
    pub iss: String,
    /// Who bears it.
    pub sub: String,
    /// The workspace, or `*`.
    pub ws: String,
    /// What they may do.
    pub role: Role,
    /// When it was made, seconds since 1970.
    pub iat: u64,
    /// Until when it is good.
    pub exp: u64,
}

/// What a token says that none of ours does, and that may forbid to take it.
#[derive(Deserialize)]
struct Conditions {
    /// From when on it is good.
    #[serde(default)]
    nbf: u64,
    /// Whom it is for: nobody here goes by such a name.
    #[serde(default, deserialize_with = "is_there")]
    aud: bool,
}

fn is_there<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(from).map(|_| true)
}

/// Can somebody go by this name? The audit puts a slash between a bearer and whom they act for.
fn is_name(sub: &str) -> bool {
    let good = |b: u8| b.is_ascii_graphic() && b != b'/';
    (1..=128).contains(&sub.len()) && sub.bytes().all(good)
}

/// A part of a token: an object, and nothing behind it.
fn part<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let value = object(&mut from).ok()?;
    from.end().ok().map(|()| value)
}

/// The keys by `kid`.
pub struct Keys {
    keys: BTreeMap<String, Vec<u8>>,
    signer: Option<String>,
    max_ttl: u64,
}

impl Keys {
    /// Reads them.
    ///
    /// # Errors
    /// One can't be read or is too short.
    pub fn read(settings: &Settings) -> Result<Keys, Error> {
        let mut keys = BTreeMap::new();
        for (kid, key) in &settings.keys {
            let table = format!("[keys.{}]", kid.as_str());
            let text = secret(&table, key.file.as_deref(), key.env.as_deref())?;
            if text.len() < 32 {
                return Err(Error::Usage(format!(
                    "{table}: a key has at least 32 characters"
                )));
            }
            keys.insert(kid.as_str().to_owned(), text.into_bytes());
        }
        let only = || match keys.keys().collect::<Vec<_>>().as_slice() {
            [one] => Some((*one).clone()),
            _ => None,
        };
        let signer = settings.mint.key.as_ref().map(Slug::as_str);
        let signer = signer.map(str::to_owned).or_else(only);
        Ok(Keys {
            keys,
            signer,
            max_ttl: settings.mint.max_ttl.get().as_secs(),
        })
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// A new token.
    ///
    /// # Errors
    /// There is no key to sign with, it would be good for too long, or nobody can go by that name.
    pub fn mint(&self, sub: &str, ws: &str, role: Role, ttl: u64) -> Result<String, Error> {
        let Some(kid) = &self.signer else {
            return Err(Error::Usage(match self.keys.len() {
                0 => "there is no key to sign with: write a [keys.<kid>] into serve.toml".into(),
                _ => "there are several [keys]; [mint] key in serve.toml says which signs".into(),
            }));
        };
        if !is_name(sub) {
            return Err(Error::Usage(
                "--actor has 1 to 128 visible ASCII characters, and no slash".into(),
            ));
        }
        if ttl == 0 || ttl > self.max_ttl {
            return Err(Error::Usage(format!(
                "a token is good for 1 to {} seconds ([mint] max_ttl)",
                self.max_ttl
            )));
        }
        let header = Header {
            alg: "HS256".into(),
            typ: Some("JWT".into()),
            kid: Some(kid.clone()),
            crit: None,
        };
        let iat = clock::unix();
        let claims = Claims {
            iss: ISSUER.into(),
            sub: sub.to_owned(),
            ws: ws.to_owned(),
            role,
            iat,
            exp: iat + ttl,
        };
        let part = |json: serde_json::Result<Vec<u8>>| match json {
            Ok(bytes) => Ok(URL_SAFE_NO_PAD.encode(bytes)),
            Err(e) => Err(Error::Internal(e.to_string())),
        };
        let signed = format!(
            "{}.{}",
            part(serde_json::to_vec(&header))?,
            part(serde_json::to_vec(&claims))?
        );
        let signature = URL_SAFE_NO_PAD.encode(sign(&self.keys[kid], &signed));
        Ok(format!("{signed}.{signature}"))
    }

    fn claims(&self, token: &str, now: u64) -> Result<Claims, &'static str> {
        const NONE: &str = "the token can't be read";
        let (signed, signature) = token.rsplit_once('.').ok_or(NONE)?;
        let (header, claims) = signed.split_once('.').ok_or(NONE)?;
        let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| NONE);
        let header: Header = part(&bytes(header)?).ok_or(NONE)?;
        if header.alg != "HS256" || header.crit.is_some() {
            return Err("the token is signed in a way that isn't accepted; HS256 is");
        }
        let kid = header.kid.ok_or("the token names no key (kid)")?;
        let key = self.keys.get(&kid).ok_or("the token's key isn't known")?;
        let right = sign(key, signed);
        if !bool::from(right.as_slice().ct_eq(bytes(signature)?.as_slice())) {
            return Err("the token's signature is wrong");
        }
        let bytes = bytes(claims)?;
        let claims: Claims = part(&bytes).ok_or(NONE)?;
        let conditions: Conditions = part(&bytes).ok_or(NONE)?;
        if claims.iss != ISSUER {
            return Err("the token was made by somebody else");
        }
        if conditions.aud {
            return Err("the token is for somebody else (aud)");
        }
        if !is_name(&claims.sub) {
            return Err(
                "the token's sub has to be 1 to 128 visible ASCII characters without a slash",
            );
        }
        if conditions.nbf > now + LEEWAY {
            return Err("the token isn't good yet (nbf)");
        }
        if claims.exp <= now {
            return Err("the token has expired");
        }
        if claims.iat > now + LEEWAY || claims.exp > claims.iat.saturating_add(self.max_ttl) {
            return Err("the token is good for longer than is accepted");
        }
        Ok(claims)
    }
}

fn sign(key: &[u8], text: &str) -> [u8; 32] {
    let Ok(mut mac) = <Hmac<Sha256> as Mac>::new_from_slice(key) else {
        return [0; 32];
    };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().into()
}

impl Verifier for Keys {
    fn verify(&self, bearer: &str) -> Result<Option<Identity>, String> {
        if self.keys.is_empty() || bearer.len() > TOKEN_MAX || bearer.matches('.').count() != 2 {
            return Ok(None);
        }
        let claims = self.claims(bearer, clock::unix())?;
        let scope = match claims.ws.as_str() {
            "*" => Scope::All,
            slug => Scope::Only([slug.to_owned()].into()),
        };
        Ok(Some(Identity {
            name: format!("{MINTED}{}", claims.sub),
            role: claims.role,
            scope,
            until: Some(claims.exp),
        }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn keys() -> Keys {
        let key = |n: &str| {
            (
                n.to_owned(),
                format!("{n}-0123456789012345678901234567").into(),
            )
        };
        Keys {
            keys: ["old", "new"].map(key).into(),
            signer: Some("new".into()),
            max_ttl: 3600,
        }
    }

    fn forged(header: &str, claims: &str, key: &[u8]) -> String {
        let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let signed = format!("{}.{}", part(header), part(claims));
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(sign(key, &signed)))
    }

    #[test]
    fn what_was_minted_is_good_for_its_time_only() {
        let (keys, now) = (keys(), clock::unix());
        let token = keys.mint("tess", "site", Role::Operator, 300).unwrap();
        let claims = keys.claims(&token, now).unwrap();
        assert_eq!((claims.sub.as_str(), claims.role), ("tess", Role::Operator));
        assert!(keys.claims(&token, claims.exp).is_err());
        assert!(
            keys.claims(&token, now - 60).is_err(),
            "not from the future"
        );
        let identity = keys.verify(&token).unwrap().unwrap();
        assert_eq!(identity.name, "jwt:tess");
        assert!(identity.scope.has("site") && !identity.scope.has("shop"));
        assert!(keys.mint("t", "site", Role::Admin, 3601).is_err());
    }

    #[test]
    fn each_spoilt_byte_is_found() {
        let (keys, now) = (keys(), clock::unix());
        let token = keys.mint("tess", "*", Role::Admin, 300).unwrap();
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let spoilt = String::from_utf8(bytes).unwrap();
            assert!(keys.claims(&spoilt, now).is_err(), "byte {at}");
        }
    }

    #[test]
    fn what_a_token_says_beyond_ours_is_heeded() {
        let (keys, now) = (keys(), clock::unix());
        let exp = now + 60;
        let header = r#"{"alg":"HS256","kid":"old"}"#;
        let given = |sub: &str, more: &str| {
            let claims = format!(
                r#"{{"iss":"ralph","sub":{sub},"ws":"*","role":"admin","iat":{now},"exp":{exp}{more}}}"#
            );
            let token = forged(header, &claims, &keys.keys["old"]);
            keys.claims(&token, now).map(|_| ())
        };
        for more in [
            "",
            r#","jti":"7","email":"t@example.org""#,
            &format!(r#","nbf":{now}"#),
            &format!(r#","nbf":{}"#, now + LEEWAY),
        ] {
            assert_eq!(given(r#""t@example.org""#, more), Ok(()), "{more}");
        }
        for (more, said) in [
            (format!(r#","nbf":{}"#, now + 60), "nbf"),
            (r#","nbf":null"#.into(), "read"),
            (r#","nbf":"0""#.into(), "read"),
            (r#","aud":"ralph""#.into(), "aud"),
            (r#","aud":["a","b"]"#.into(), "aud"),
            (r#","aud":null"#.into(), "aud"),
            (r#","sub":"other""#.into(), "read"),
        ] {
            let refused = given(r#""t""#, &more).unwrap_err();
            assert!(refused.contains(said), "{more}: {refused}");
        }
        let long = "x".repeat(129);
        for sub in ["", "a b", "a/b", "\u{e4}", "a\u{7}", &long] {
            let sub = serde_json::to_string(sub).unwrap();
            let refused = given(&sub, "").unwrap_err();
            assert!(refused.contains("sub"), "{sub}: {refused}");
        }
        let listed = format!(r#"["ralph","t","*","admin",{now},{exp}]"#);
        for (header, claims) in [(header, listed.as_str()), (r#"["HS256",null,"old"]"#, "{}")] {
            let token = forged(header, claims, &keys.keys["old"]);
            assert_eq!(keys.claims(&token, now), Err("the token can't be read"));
        }
    }

    #[test]
    fn no_other_algorithm_and_no_unknown_key_is_accepted() {
        let (keys, now) = (keys(), clock::unix());
        let exp = now + 60;
        let claims = format!(
            r#"{{"iss":"ralph","sub":"x","ws":"*","role":"admin","iat":{now},"exp":{exp}}}"#
        );
        let key = keys.keys["old"].clone();
        let good = forged(r#"{"alg":"HS256","kid":"old"}"#, &claims, &key);
        assert!(
            keys.claims(&good, now).is_ok(),
            "an older key still verifies"
        );
        for header in [
            r#"{"alg":"none","kid":"old"}"#,
            r#"{"alg":"None","kid":"old"}"#,
            r#"{"alg":"HS512","kid":"old"}"#,
            r#"{"alg":"RS256","kid":"old"}"#,
            r#"{"alg":"HS256","kid":"gone"}"#,
            r#"{"alg":"HS256"}"#,
            r#"{"alg":"HS256","kid":"old","crit":["b64"]}"#,
        ] {
            assert!(
                keys.claims(&forged(header, &claims, &key), now).is_err(),
                "{header}"
            );
        }
        let unsigned = format!("{}.", good.rsplit_once('.').unwrap().0);
        assert!(keys.claims(&unsigned, now).is_err());
        let long = claims.replace(&exp.to_string(), &(now + 9000).to_string());
        let long = forged(r#"{"alg":"HS256","kid":"old"}"#, &long, &key);
        assert!(keys.claims(&long, now).is_err());
    }
}
