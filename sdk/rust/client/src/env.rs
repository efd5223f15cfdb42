//! The variables that say where the service is.

use std::env::VarError;

use crate::error::Error;
use crate::settings::Builder;
use crate::token::Token;

/// Where a sidecar listens if nothing else is said.
const PORT: &str = "8765";

impl Builder {
    /// As the environment says; see [`Client::from_env`](crate::Client::from_env).
    ///
    /// # Errors
    /// A variable is missing or says nothing that can be used.
    pub fn from_env() -> Result<Builder, Error> {
        Builder::from_vars(|name| match std::env::var(name) {
            Ok(value) => Ok(Some(value)),
            Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(_)) => {
                Err(Error::Settings(format!("the variable {name} is no text")))
            }
        })
    }

    /// The same from other variables.
    fn from_vars(var: impl Fn(&str) -> Result<Option<String>, Error>) -> Result<Builder, Error> {
        let var = |name: &str| Ok::<_, Error>(var(name)?.filter(|value| !value.is_empty()));
        let need = |name: &str, why: &str| {
            var(name)?.ok_or_else(|| Error::Settings(format!("{why} needs {name}")))
        };
        let url = match var("RALPH_TRANSPORT")?.as_deref() {
            Some("remote") => need("RALPH_URL", "RALPH_TRANSPORT=remote")?,
            None | Some("sidecar") => {
                let port = var("RALPH_SIDECAR_PORT")?.unwrap_or_else(|| PORT.to_owned());
                match port.parse::<u16>() {
                    Ok(port) if port > 0 => format!("http://127.0.0.1:{port}"),
                    _ => {
                        let why = format!("RALPH_SIDECAR_PORT isn't a port: {port}");
                        return Err(Error::Settings(why));
                    }
                }
            }
            Some(other) => {
                return Err(Error::Settings(format!("unknown RALPH_TRANSPORT: {other}")));
            }
        };
        let mut builder = Builder::new(url);
        if let Some(token) = var("RALPH_SERVE_TOKEN")? {
            builder = builder.token(Token::value(token));
        }
        if var("RALPH_MTLS")?.is_some_and(|on| on == "1") {
            let certificate = need("RALPH_MTLS_CERT", "RALPH_MTLS=1")?;
            builder =
                builder.client_certificate(certificate, need("RALPH_MTLS_KEY", "RALPH_MTLS=1")?);
        }
        if let Some(roots) = var("RALPH_MTLS_CA")? {
            builder = builder.root_certificates(roots);
        }
        Ok(builder)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn made(vars: &[(&str, &str)]) -> Result<Builder, Error> {
        Builder::from_vars(|name| {
            let found = vars.iter().find(|(key, _)| *key == name);
            Ok(found.map(|(_, value)| (*value).to_owned()))
        })
    }

    #[test]
    fn the_environment_says_where_the_service_is() {
        assert_eq!(made(&[]).unwrap().url, "http://127.0.0.1:8765");
        let empty = made(&[("RALPH_TRANSPORT", ""), ("RALPH_SIDECAR_PORT", "")]);
        assert_eq!(empty.unwrap().url, "http://127.0.0.1:8765");
        let port = made(&[("RALPH_SIDECAR_PORT", "9000")]).unwrap();
        assert_eq!(port.url, "http://127.0.0.1:9000");
        let remote = [
            ("RALPH_TRANSPORT", "remote"),
            ("RALPH_URL", "https://x/"),
            ("RALPH_SERVE_TOKEN", "t0k"),
        ];
        let remote = made(&remote).unwrap();
        assert_eq!(remote.url, "https://x/");
        assert_eq!(remote.token.unwrap().get().unwrap(), "t0k");
    }

    #[test]
    fn what_it_says_wrong_is_told_with_the_variable() {
        for (vars, said) in [
            (
                &[("RALPH_TRANSPORT", "pigeon")][..],
                "unknown RALPH_TRANSPORT: pigeon",
            ),
            (&[("RALPH_TRANSPORT", "remote")], "needs RALPH_URL"),
            (
                &[("RALPH_SIDECAR_PORT", "x")],
                "RALPH_SIDECAR_PORT isn't a port: x",
            ),
            (&[("RALPH_SIDECAR_PORT", "0")], "isn't a port"),
            (&[("RALPH_SIDECAR_PORT", "65536")], "isn't a port"),
            (&[("RALPH_MTLS", "1")], "RALPH_MTLS=1 needs RALPH_MTLS_CERT"),
            (
                &[("RALPH_MTLS", "1"), ("RALPH_MTLS_CERT", "c")],
                "RALPH_MTLS=1 needs RALPH_MTLS_KEY",
            ),
        ] {
            let error = made(vars).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
