//! For ralph's own tests: a gate that sends the requests which its configuration says, and tells
//! what came of each.

use ralph_plugin::{Error, Finding, Gate, Iteration, Verdict, config};
use serde::Deserialize;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme,
};
use wasip2::io::streams::StreamError;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Config {
    asks: Vec<Ask>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// `http` or `https`.
    scheme: String,
    /// With its port, if it isn't the scheme's own.
    host: String,
    path: String,
    /// Bytes to send.
    #[serde(default)]
    bytes: usize,
    /// So many times.
    #[serde(default = "once")]
    times: usize,
    /// Header fields of this name are added until no more are taken.
    #[serde(default)]
    fill: Option<String>,
}

fn once() -> usize {
    1
}

/// All of it.
pub struct Http;

impl Gate for Http {
    fn check(_: &Iteration) -> Result<Verdict, Error> {
        let mut findings = Vec::new();
        for ask in config::<Config>()?.asks {
            let mut said = String::new();
            for _ in 0..ask.times {
                said = sent(&ask).unwrap_or_else(|why| format!("error: {why}"));
            }
            findings.push(Finding::new(said));
        }
        Ok(Verdict::pass("done").with(findings))
    }
}

fn sent(ask: &Ask) -> Result<String, String> {
    let fields = Fields::new();
    fields
        .append("x-sent-by", b"a gate")
        .map_err(|e| e.to_string())?;
    if let Some(name) = &ask.fill {
        while fields.append(name, &[b'x'; 1000]).is_ok() {}
    }
    let request = OutgoingRequest::new(fields);
    let method = if ask.bytes > 0 {
        Method::Post
    } else {
        Method::Get
    };
    let scheme = match ask.scheme.as_str() {
        "http" => Scheme::Http,
        _ => Scheme::Https,
    };
    let set = request.set_method(&method).is_ok()
        && request.set_scheme(Some(&scheme)).is_ok()
        && request.set_authority(Some(&ask.host)).is_ok()
        && request.set_path_with_query(Some(&ask.path)).is_ok();
    if !set {
        return Err("no such address".into());
    }
    let body = request.body().map_err(|()| "no body")?;
    let told = handle(request, None).map_err(|e| format!("{e:?}"))?;
    // What becomes of it shows in the answer.
    let _ = written(&body, ask.bytes);
    let _ = OutgoingBody::finish(body, None);
    told.subscribe().block();
    let response = told
        .get()
        .ok_or("no answer")?
        .map_err(|()| "asked twice")?
        .map_err(|e| format!("{e:?}"))?;
    let status = response.status();
    Ok(format!("{status} {}", read(&response)?))
}

fn written(body: &OutgoingBody, mut left: usize) -> Result<(), StreamError> {
    let Ok(stream) = body.write() else {
        return Ok(());
    };
    while left > 0 {
        let part = left.min(4096);
        stream.blocking_write_and_flush(&vec![b'y'; part])?;
        left -= part;
    }
    Ok(())
}

fn read(response: &IncomingResponse) -> Result<String, String> {
    let body = response.consume().map_err(|()| "no body")?;
    let stream = body.stream().map_err(|()| "no stream")?;
    let mut whole = Vec::new();
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(part) => whole.extend(part),
            Err(StreamError::Closed) => break,
            Err(other) => return Err(format!("{other:?}")),
        }
    }
    let text = String::from_utf8_lossy(&whole);
    Ok(if text.len() > 100 {
        format!("{} bytes", text.len())
    } else {
        text.into_owned()
    })
}

ralph_plugin::gate!(Http);

ralph_plugin::manifest! {
    kinds: ["gate"],
    capabilities: { "http": ["*"] }
}
