//! As much of HTTP/1.1 as the agents' clients speak.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// One request with its whole body.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
}

/// A client's connection.
pub(super) struct Connection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

/// No body of an agent is longer.
const MAX_BODY: u64 = 32 << 20;

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        Ok(Connection {
            writer: stream.try_clone()?,
            reader: BufReader::new(stream),
        })
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        (&mut self.reader)
            .take(64 * 1024)
            .read_until(b'\n', &mut line)?;
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// The next request; none if the client is done.
    pub(super) fn request(&mut self) -> io::Result<Option<Request>> {
        let first = self.line()?;
        let mut words = first.split(' ');
        let (Some(method), Some(path)) = (words.next().filter(|m| !m.is_empty()), words.next())
        else {
            return Ok(None);
        };
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().map_err(|_| bad("length"))?,
                "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
                "expect" => self.writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
                _ => {}
            }
        }
        let mut body = Vec::new();
        if chunked {
            loop {
                let head = self.line()?;
                let size = head.split(';').next().unwrap_or_default();
                let size = u64::from_str_radix(size.trim(), 16).map_err(|_| bad("chunk"))?;
                self.take(size, &mut body)?;
                self.line()?;
                if size == 0 {
                    break;
                }
            }
        } else {
            self.take(length, &mut body)?;
        }
        Ok(Some(Request {
            method: method.to_owned(),
            path: path.to_owned(),
            body,
        }))
    }

    fn take(&mut self, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
        if length > MAX_BODY {
            return Err(bad("a body that long"));
        }
        let got = (&mut self.reader).take(length).read_to_end(body)?;
        if got as u64 == length {
            Ok(())
        } else {
            Err(bad("a body cut short"))
        }
    }

    /// A whole answer.
    pub(super) fn json(
        &mut self,
        code: u16,
        headers: &[(&str, String)],
        body: &Value,
    ) -> io::Result<()> {
        let body = body.to_string();
        let mut head = format!(
            "HTTP/1.1 {code} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\nrequest-id: req_t\r\nx-request-id: req_t\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        write!(self.writer, "{head}\r\n{body}")
    }

    /// Begins a stream of events.
    pub(super) fn stream(&mut self) -> io::Result<Stream<'_>> {
        self.writer.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\nrequest-id: req_t\r\nx-request-id: req_t\r\n\r\n",
        )?;
        Ok(Stream(&mut self.writer))
    }

    /// Answers nothing until the client has hung up.
    pub(super) fn wait_until_gone(&mut self) {
        let _ = io::copy(&mut self.reader, &mut io::sink());
    }
}

/// An answer in server-sent events.
pub(super) struct Stream<'a>(&'a mut TcpStream);

impl Stream<'_> {
    /// An event with its name.
    pub(super) fn event(&mut self, name: &str, data: &Value) -> io::Result<()> {
        self.chunk(&format!("event: {name}\ndata: {data}\n\n"))
    }

    /// An event without a name.
    pub(super) fn data(&mut self, data: &str) -> io::Result<()> {
        self.chunk(&format!("data: {data}\n\n"))
    }

    fn chunk(&mut self, text: &str) -> io::Result<()> {
        write!(self.0, "{:x}\r\n{text}\r\n", text.len())
    }

    /// A stream that isn't ended was cut.
    pub(super) fn end(self) -> io::Result<()> {
        self.0.write_all(b"0\r\n\r\n")
    }
}
