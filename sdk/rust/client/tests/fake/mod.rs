//! A service that says what a test tells it to: one answer per connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ralph_service::{Builder, Client, Token};

/// What was asked: the first line and the headers as they came, and the body.
#[derive(Clone, Debug)]
pub struct Heard {
    pub head: String,
    pub body: String,
}

impl Heard {
    /// A header; names in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Method and address.
    pub fn line(&self) -> &str {
        let line = self.head.lines().next().unwrap();
        line.strip_suffix(" HTTP/1.1").unwrap()
    }
}

pub struct Fake {
    pub url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Fake {
    /// Answers the nth connection by the nth of these; it is closed behind it. Then it is away.
    pub fn saying(answers: Vec<String>) -> Fake {
        let mut answers = answers.into_iter();
        Fake::doing(move |stream| {
            let answer = answers.next()?;
            // Who is gone hears nothing.
            let _ = stream.write_all(answer.as_bytes());
            Some(())
        })
    }

    /// Does this with each connection whose request was heard, until it is done.
    pub fn doing(mut answer: impl FnMut(&mut TcpStream) -> Option<()> + Send + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(asked) = hear(&stream) else {
                    continue;
                };
                hears.lock().unwrap().push(asked);
                if answer(&mut stream).is_none() {
                    return;
                }
            }
        });
        Fake { url, heard }
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }

    pub fn builder(&self) -> Builder {
        Client::builder(&self.url).token(Token::value("t0k"))
    }

    pub fn client(&self) -> Client {
        self.builder().build().unwrap()
    }
}

fn hear(stream: &TcpStream) -> Option<Heard> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.replace("\r\n", "\n");
    let mut heard = Heard {
        head,
        body: String::new(),
    };
    let length = heard
        .header("content-length")
        .map_or(0, |l| l.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    heard.body = String::from_utf8(body).unwrap();
    Some(heard)
}

/// An answer whose body ends with the connection.
pub fn answer(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n{headers}\r\n{body}")
}

pub fn json(status: u16, body: &str) -> String {
    answer(status, "content-type: application/json\r\n", body)
}

pub fn events(body: &str) -> String {
    answer(200, "content-type: text/event-stream\r\n", body)
}
