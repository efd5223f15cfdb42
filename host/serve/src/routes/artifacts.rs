//! What a run leaves behind: its patch, receipts, logs, prompts.

use std::io::{Seek, SeekFrom};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ralph_workspace::Workspace;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

use super::runs::readable;
use crate::app::{App, Shared};
use crate::caller::{At, Caller};
use crate::problem::Problem;
use crate::runs::{own_dir, records};

/// So much of an artefact is read at a time.
const PIECE: usize = 64 << 10;
/// Artefacts that are listed.
const LISTED: usize = 10_000;

/// What there is.
#[derive(Serialize, JsonSchema)]
pub struct Artifacts {
    artifacts: Vec<Artifact>,
}

/// One of them.
#[derive(Serialize, JsonSchema)]
pub struct Artifact {
    /// Its address below `artifacts/`.
    path: String,
    /// Its length.
    bytes: u64,
}

/// `GET /runs/{id}/artifacts`
pub async fn list(
    State(app): State<Shared>,
    caller: Caller,
    At(id): At<String>,
) -> Result<Json<Artifacts>, Problem> {
    readable(&app, &caller, &id).await?;
    let listed = tokio::task::spawn_blocking(move || {
        let mut artifacts = Vec::new();
        if let Ok(meta) = own_dir(&app, &id).join("diff.patch").symlink_metadata() {
            artifacts.push(Artifact {
                path: "diff.patch".into(),
                bytes: meta.len(),
            });
        }
        if let Some(ws) = records(&app, &id) {
            for dir in ["receipts", "logs", "attempts", "context"] {
                below(&ws, dir, 0, &mut artifacts);
            }
        }
        artifacts
    });
    let artifacts = listed.await.map_err(Problem::internal)?;
    Ok(Json(Artifacts { artifacts }))
}

/// Regular files; links are nobody's artefacts.
fn below(ws: &Workspace, dir: &str, depth: u32, found: &mut Vec<Artifact>) {
    for name in ws.list(dir).unwrap_or_default() {
        let path = format!("{dir}/{name}");
        let Ok(meta) = ws.dir().symlink_metadata(&path) else {
            continue;
        };
        if meta.is_dir() && depth < 8 {
            below(ws, &path, depth + 1, found);
        } else if meta.is_file() && found.len() < LISTED {
            let bytes = meta.len();
            found.push(Artifact { path, bytes });
        }
    }
}

/// `GET /runs/{id}/artifacts/{path}`
pub async fn one(
    State(app): State<Shared>,
    caller: Caller,
    At((id, path)): At<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    readable(&app, &caller, &id).await?;
    let range = headers
        .get(RANGE)
        .map(|r| r.to_str().unwrap_or_default().to_owned());
    let read = tokio::task::spawn_blocking(move || read(&app, &id, &path, range.as_deref()));
    read.await.map_err(Problem::internal)?
}

fn read(app: &App, id: &str, path: &str, range: Option<&str>) -> Result<Response, Problem> {
    let none = || Problem::not_found("such artefact");
    let top = path.split('/').next().unwrap_or_default();
    // Never follows anything out of the directory.
    let ws = match top {
        "diff.patch" if path == top => Workspace::open(&own_dir(app, id)).ok(),
        "receipts" | "logs" | "attempts" | "context" => records(app, id),
        _ => None,
    };
    let ws = ws.ok_or_else(none)?;
    let plain = path.split('/').all(|p| !matches!(p, "" | "." | "..")) && !path.contains('\0');
    let meta = match plain {
        true => ws.dir().symlink_metadata(path).map_err(|_| none())?,
        false => return Err(none()),
    };
    if !meta.is_file() {
        return Err(none());
    }
    let mut file = ws.dir().open(path).map_err(|_| none())?.into_std();
    let size = file.metadata().map_err(Problem::internal)?.len();
    let (status, from, to) = match range.map_or(Part::Whole, |r| part(r, size)) {
        Part::Whole => (StatusCode::OK, 0, size),
        Part::Of(from, to) => (StatusCode::PARTIAL_CONTENT, from, to),
        Part::Nowhere => {
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            let problem = Problem::new(status, "range", format!("the artefact has {size} bytes"));
            return Ok(([(CONTENT_RANGE, format!("bytes */{size}"))], problem).into_response());
        }
    };
    file.seek(SeekFrom::Start(from))
        .map_err(Problem::internal)?;
    let kind = match path.rsplit_once('.') {
        Some((_, "json")) => "application/json",
        _ => "text/plain; charset=utf-8",
    };
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CONTENT_LENGTH, (to - from).to_string()),
        (ACCEPT_RANGES, "bytes".to_owned()),
    ];
    // A log may be longer than memory, and grow meanwhile.
    let file = tokio::fs::File::from_std(file).take(to - from);
    let body = Body::from_stream(ReaderStream::with_capacity(file, PIECE));
    let mut response = (status, headers, body).into_response();
    if status == StatusCode::PARTIAL_CONTENT {
        let shown = format!("bytes {from}-{}/{size}", to - 1);
        let shown = shown.parse().map_err(Problem::internal)?;
        response.headers_mut().insert(CONTENT_RANGE, shown);
    }
    Ok(response)
}

/// What a `Range` asks for, RFC 9110.
#[derive(Debug, PartialEq)]
enum Part {
    /// It isn't one range of bytes: it says nothing, and all is sent.
    Whole,
    /// From where to before where.
    Of(u64, u64),
    /// There is nothing there.
    Nowhere,
}

fn part(range: &str, size: u64) -> Part {
    let range = range.strip_prefix("bytes=").map(str::trim);
    let Some((first, last)) = range.and_then(|r| r.split_once('-')) else {
        return Part::Whole;
    };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    // A number that is too long is beyond every artefact's end.
    let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
    if !digits(first) || !digits(last) || first.is_empty() && last.is_empty() {
        return Part::Whole;
    }
    let (from, to) = match (first, last) {
        ("", n) => (size.saturating_sub(number(n)), size),
        (from, "") => (number(from), size),
        (from, to) if number(to) < number(from) => return Part::Whole,
        (from, to) => (number(from), number(to).saturating_add(1).min(size)),
    };
    match from < size {
        true => Part::Of(from, to),
        false => Part::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, part};

    #[test]
    fn ranges() {
        for (range, wanted) in [
            ("bytes=0-3", Part::Of(0, 4)),
            ("bytes=5-", Part::Of(5, 10)),
            ("bytes=-4", Part::Of(6, 10)),
            ("bytes=-40", Part::Of(0, 10)),
            ("bytes=8-99", Part::Of(8, 10)),
            ("bytes=0-99999999999999999999", Part::Of(0, 10)),
            ("bytes=-99999999999999999999", Part::Of(0, 10)),
            ("bytes=10-", Part::Nowhere),
            ("bytes=99999999999999999999-", Part::Nowhere),
            ("bytes=-0", Part::Nowhere),
            ("bytes=3-1", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=0-1,3-4", Part::Whole),
            ("lines=0-1", Part::Whole),
        ] {
            assert_eq!(part(range, 10), wanted, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), Part::Nowhere);
    }
}
