//! What a run leaves behind: its patch, receipts, logs, prompts.

use std::io::{Read, Seek, SeekFrom};

use axum::Json;
use axum::extract::State;
use axum::http::header::{ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ralph_workspace::Workspace;
use schemars::JsonSchema;
use serde::Serialize;

use super::runs::readable;
use crate::app::{App, Shared};
use crate::caller::{At, Caller};
use crate::problem::Problem;
use crate::runs::{own_dir, records};

/// Of one artefact in one answer; more is read by ranges.
const PART_MAX: u64 = 8 << 20;
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
    // A unit that nobody knows here says nothing.
    let range = range.filter(|range| range.starts_with("bytes="));
    let (from, to) = match range.map(|r| part(r, size)) {
        None => (0, size.min(PART_MAX)),
        Some(Some(part)) => part,
        Some(None) => {
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            let problem = Problem::new(status, "range", format!("the artefact has {size} bytes"));
            return Ok(([(CONTENT_RANGE, format!("bytes */{size}"))], problem).into_response());
        }
    };
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))
        .and_then(|_| file.take(to - from).read_to_end(&mut bytes))
        .map_err(Problem::internal)?;
    let kind = match path.rsplit_once('.') {
        Some((_, "json")) => "application/json",
        _ => "text/plain; charset=utf-8",
    };
    let headers = [(CONTENT_TYPE, kind), (ACCEPT_RANGES, "bytes")];
    if range.is_none() && to == size {
        return Ok((headers, bytes).into_response());
    }
    let last = (from + bytes.len() as u64).saturating_sub(1);
    let shown = [(CONTENT_RANGE, format!("bytes {from}-{last}/{size}"))];
    Ok((StatusCode::PARTIAL_CONTENT, headers, shown, bytes).into_response())
}

/// One range of bytes, RFC 9110: from where to before where.
fn part(range: &str, size: u64) -> Option<(u64, u64)> {
    let (first, last) = range.strip_prefix("bytes=")?.trim().split_once('-')?;
    let number = |text: &str| text.parse::<u64>().ok();
    let (from, to) = match (first, last) {
        ("", n) => (size.saturating_sub(number(n)?), size),
        (from, "") => (number(from)?, size),
        (from, to) => {
            let (from, to) = (number(from)?, number(to)?);
            if to < from {
                return None;
            }
            (from, to.saturating_add(1).min(size))
        }
    };
    (from < size).then(|| (from, to.min(from.saturating_add(PART_MAX))))
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn ranges() {
        for (range, wanted) in [
            ("bytes=0-3", Some((0, 4))),
            ("bytes=5-", Some((5, 10))),
            ("bytes=-4", Some((6, 10))),
            ("bytes=-40", Some((0, 10))),
            ("bytes=8-99", Some((8, 10))),
            ("bytes=10-", None),
            ("bytes=3-1", None),
            ("bytes=-0", None),
            ("bytes=a-b", None),
            ("bytes=0-1,3-4", None),
            ("lines=0-1", None),
        ] {
            assert_eq!(part(range, 10), wanted, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), None);
    }
}
