//! `wasi:http`: requests of a guest, to the hosts that it was granted.
//!
//! Bodies are held whole, so that what a guest can make the host hold is bounded: all requests
//! and responses of one call together by its `crossing`.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use wasmtime::component::Linker;
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
    default_send_request, p2,
};

use crate::plugin::Bound;
use crate::services::{HttpFault, HttpRequest, HttpResponse, Level, Services};
use crate::state::State;

/// Requests of one call.
const REQUESTS_MAX: u32 = 100;
/// Names and values of one set of header fields, in bytes.
const FIELDS_MAX: usize = 16 << 10;
/// What is copied at a time of a body that a guest writes.
const CHUNK_MAX: usize = 16 << 10;
/// Where a guest says nothing of it. How long it may wait in all, its limit `wait` says.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Does it import any of it?
pub(crate) fn needed(imports: &[String]) -> bool {
    imports
        .iter()
        .any(|import| import.starts_with("wasi:http/"))
}

/// For guests that import it; the others' linker has less to make.
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    p2::add_only_http_to_linker_async(linker)
}

/// One call's part of it.
pub(crate) struct Http {
    ctx: WasiHttpCtx,
    hooks: Hooks,
}

impl Http {
    pub(crate) fn new(plugin: &Arc<Bound>, services: &Arc<dyn Services>) -> Http {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(FIELDS_MAX);
        Http {
            ctx,
            hooks: Hooks(Arc::new(Call {
                plugin: plugin.clone(),
                services: services.clone(),
                requests: AtomicU32::new(0),
                left: AtomicU64::new(plugin.limits.crossing),
            })),
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let (plugin, services) = (&self.plugin, &self.services);
        let http = self.http.get_or_insert_with(|| Http::new(plugin, services));
        WasiHttpCtxView {
            ctx: &mut http.ctx,
            hooks: &mut http.hooks,
            table: &mut self.table,
        }
    }
}

struct Hooks(Arc<Call>);

struct Call {
    plugin: Arc<Bound>,
    services: Arc<dyn Services>,
    requests: AtomicU32,
    /// Bytes that bodies may still have.
    left: AtomicU64,
}

type Io = Box<dyn Future<Output = Result<(), Error>> + Send>;

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Io,
    ) -> Box<dyn Future<Output = Result<(http::Response<WasiBody>, Io), Error>> + Send> {
        let call = self.0.clone();
        Box::new(async move {
            let response = call.send(request, options).await?;
            Ok((response, Box::new(async { Ok(()) }) as Io))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK_MAX
    }
}

impl Call {
    async fn send(
        &self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<http::Response<WasiBody>, Error> {
        self.admitted(request.uri())?;
        let (parts, body) = request.into_parts();
        let body = self.whole(body).await?;
        let headers = parts.headers.iter();
        let request = HttpRequest {
            method: parts.method.to_string(),
            url: parts.uri.to_string(),
            headers: headers
                .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
                .collect(),
            body: body.to_vec(),
            connect_timeout: options.and_then(|o| o.connect_timeout),
            first_byte_timeout: options.and_then(|o| o.first_byte_timeout),
            between_bytes_timeout: options.and_then(|o| o.between_bytes_timeout),
        };
        let max = self.left.load(Ordering::Relaxed);
        let told = self.services.http(&self.plugin.who.name, request, max);
        let told = told.await.map_err(Error::from)?;
        self.take(told.body.len())?;
        let mut response = http::Response::builder().status(told.status);
        for (name, value) in told.headers {
            response = response.header(name, value);
        }
        let body = Full::new(Bytes::from(told.body)).map_err(|never| match never {});
        response
            .body(body.boxed_unsync())
            .map_err(|e| Error::InternalError(Some(e.to_string())))
    }

    /// Is the host granted, and the scheme fit for it?
    fn admitted(&self, uri: &http::Uri) -> Result<(), Error> {
        let refuse = |why: String| {
            let said = format!("{} may not {why}", self.plugin.who);
            self.services.log(&self.plugin.who.name, Level::Warn, &said);
            Err(Error::HttpRequestDenied)
        };
        let table = self.plugin.who.table("allow");
        let tls = uri.scheme_str() == Some("https");
        let Some(authority) = uri.authority() else {
            return Err(Error::HttpRequestUriInvalid);
        };
        let port = authority.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let host = authority.host();
        if authority.as_str().contains('@') {
            return refuse("name a user in the address of a request".into());
        }
        if !self.plugin.hosts.allows(host, port) {
            let shown = if port == 443 {
                host.to_owned()
            } else {
                format!("{host}:{port}")
            };
            return refuse(format!(
                "send a request to {host} at port {port}; add `http = [\"{shown}\"]` to {table}"
            ));
        }
        if !tls && port == 443 {
            return refuse(format!("send a request to {host} at port 443 without TLS"));
        }
        if self.requests.fetch_add(1, Ordering::Relaxed) >= REQUESTS_MAX {
            return refuse(format!(
                "send more than {REQUESTS_MAX} requests in one call"
            ));
        }
        Ok(())
    }

    fn take(&self, bytes: usize) -> Result<(), Error> {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes as u64)
            });
        taken.map(drop).map_err(too_large)
    }

    async fn whole(&self, mut body: WasiBody) -> Result<Bytes, Error> {
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                self.take(data.len())?;
                whole.extend_from_slice(&data);
            }
        }
        Ok(whole.freeze())
    }
}

fn too_large(max: u64) -> Error {
    Error::InternalError(Some(format!(
        "all bodies of one call together are over the plugin's limit `crossing`; {max} bytes were left"
    )))
}

impl From<HttpFault> for Error {
    fn from(fault: HttpFault) -> Error {
        match fault {
            HttpFault::Timeout => Error::ConnectionTimeout,
            HttpFault::TooLarge(max) => too_large(max),
            HttpFault::Failed(why) => Error::InternalError(Some(why)),
        }
    }
}

/// Sends a request and takes a response of at most `max` bytes. Redirections are not followed:
/// they might lead to a host that isn't granted. Dropping the future ends it.
///
/// # Errors
/// What kept it from being sent, or the response from being taken.
pub async fn send(request: HttpRequest, max: u64) -> Result<HttpResponse, HttpFault> {
    let mut built = http::Request::builder()
        .method(request.method.as_str())
        .uri(&request.url);
    for (name, value) in request.headers {
        built = built.header(name, value);
    }
    let body = Full::new(Bytes::from(request.body)).map_err(|never| match never {});
    let built = built
        .body(body)
        .map_err(|e| HttpFault::Failed(e.to_string()))?;
    let or_ours = |timeout: Option<Duration>| Some(timeout.unwrap_or(TIMEOUT));
    let options = RequestOptions {
        connect_timeout: or_ours(request.connect_timeout),
        first_byte_timeout: or_ours(request.first_byte_timeout),
        between_bytes_timeout: or_ours(request.between_bytes_timeout),
    };
    let (response, io) = default_send_request(built, Some(options))
        .await
        .map_err(fault)?;
    let mut io = Box::pin(io);
    let (parts, body) = response.into_parts();
    let mut taking = Box::pin(taken(Box::pin(body), max));
    // The connection has to be worked on while the body comes in; it may end first.
    let body = tokio::select! {
        body = &mut taking => body,
        ended = &mut io => match ended {
            Ok(()) => taking.await,
            Err(e) => Err(fault(e)),
        },
    }?;
    Ok(HttpResponse {
        status: parts.status.as_u16(),
        headers: parts
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
            .collect(),
        body,
    })
}

async fn taken<B>(mut body: Pin<Box<B>>, max: u64) -> Result<Vec<u8>, HttpFault>
where
    B: http_body::Body<Data = Bytes, Error = Error>,
{
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(fault)?.into_data() {
            if (whole.len() + data.len()) as u64 > max {
                return Err(HttpFault::TooLarge(max));
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(whole)
}

fn fault(error: Error) -> HttpFault {
    match error {
        Error::ConnectionTimeout | Error::HttpResponseTimeout | Error::ConnectionReadTimeout => {
            HttpFault::Timeout
        }
        other => HttpFault::Failed(other.to_string()),
    }
}
