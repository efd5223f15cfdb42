"""Requests to hosts that were granted. Needs the capability `http`."""

from dataclasses import dataclass

from componentize_py_types import Err, Ok
from wit_world.imports import outgoing_handler, streams
from wit_world.imports import wasi_http_types as http

from ralph import Refusal

_METHODS = ("Get", "Head", "Post", "Put", "Delete", "Connect", "Options", "Trace", "Patch")
# What one write takes.
_PIECE = 4096


@dataclass
class Response:
    """What was answered, redirections too. Names of headers are in lower case."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The first of this name."""
        return next((value for key, value in self.headers if key == name.lower()), None)


def request(url: str, method="GET", headers=(), body: bytes | None = None, timeout_ms=None) -> Response:
    """Sends a request and waits for the whole answer. `headers` are pairs, or a dict. One that
    wasn't granted, or that nobody answers, is a Refusal; an answer of any status isn't."""
    try:
        return _answer(_sent(url, method, headers, body, timeout_ms))
    except Err as e:
        name = type(e.value).__name__.removeprefix("ErrorCode_")
        what = getattr(e.value, "value", None)
        kind = "denied" if name == "HttpRequestDenied" else "failed"
        said = f"{name}: {what}" if isinstance(what, (str, int)) else name
        raise Refusal(f"{method} {url}: {said}", kind) from None


def _sent(url, method, headers, body, timeout_ms):
    scheme, found, rest = url.partition("://")
    at = min((i for i in map(rest.find, "/?#") if i >= 0), default=len(rest))
    authority, path = rest[:at], rest[at:].partition("#")[0]
    if not found or scheme not in ("http", "https") or not authority:
        raise Refusal(f"{url}: an address begins with http:// or https://")
    fields = http.Fields()
    for name, value in headers.items() if isinstance(headers, dict) else headers:
        try:
            fields.append(name, value.encode())
        except Err:
            raise Refusal(f"{url}: the header `{name}` can't be sent") from None
    sent = http.OutgoingRequest(fields)
    named = method.capitalize()
    known = method == method.upper() and named in _METHODS
    try:
        sent.set_method(getattr(http, f"Method_{named}")() if known else http.Method_Other(method))
        sent.set_scheme(http.Scheme_Https() if scheme == "https" else http.Scheme_Http())
        sent.set_authority(authority)
        sent.set_path_with_query(path if path.startswith("/") else "/" + path)
    except Err:
        raise Refusal(f"{method} {url}: no such request can be sent") from None
    options = None
    if timeout_ms is not None:
        options = http.RequestOptions()
        options.set_first_byte_timeout(timeout_ms * 1_000_000)
        options.set_between_bytes_timeout(timeout_ms * 1_000_000)
    out = sent.body()
    answer = outgoing_handler.handle(sent, options)
    # What becomes of it shows in the answer.
    try:
        if body:
            with out.write() as stream:
                for i in range(0, len(body), _PIECE):
                    stream.blocking_write_and_flush(body[i : i + _PIECE])
        http.OutgoingBody.finish(out, None)
    except Err:
        pass
    return answer


def _answer(future) -> Response:
    with future:
        with future.subscribe() as ready:
            ready.block()
        got = future.get()
    # Whether it was asked for before, then whether it came.
    while isinstance(got, Ok):
        got = got.value
    if isinstance(got, Err):
        raise got
    with got as response:
        with response.headers() as fields:
            headers = [(name.lower(), value.decode("latin-1")) for name, value in fields.entries()]
        whole = []
        with response.consume() as body, body.stream() as stream:
            try:
                while True:
                    whole.append(stream.blocking_read(1 << 16))
            except Err as e:
                if not isinstance(e.value, streams.StreamError_Closed):
                    raise Refusal(f"the answer broke off: {e.value.value.to_debug_string()}") from None
        return Response(response.status(), headers, b"".join(whole))
