//! `GET /openapi.json`: OpenAPI 3.1, made from the types that are read and answered with.

mod parts;

use axum::Json;
use axum::extract::State;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use self::parts::{Document, Operation, answer};
use super::artifacts::Artifacts;
use super::audit::{AuditPage, AuditQuery};
use super::health::Health;
use super::prompts::{DeleteQuery, Edited, Prompt, PromptQuery, Prompts, SavePrompt};
use super::runs::{RunPage, RunQuery};
use super::stats::{Stats, StatsQuery};
use crate::app::Shared;
use crate::problem::Body as Problem;
use crate::runs::steer::{CancelRun, Inject, Nothing};
use crate::runs::submit::SubmitRun;
use crate::store::Run;

/// The document.
pub fn document(version: &str) -> Value {
    let mut d = Document {
        generator: SchemaSettings::draft2020_12()
            .with(|s| {
                s.definitions_path = "/components/schemas".into();
                s.meta_schema = None;
            })
            .into_generator(),
        paths: Map::new(),
    };
    const JSON: &str = "application/json";
    let op = |method, path, id, says, problems| Operation {
        method,
        path,
        id,
        says,
        problems,
    };
    for (path, id, says) in [
        ("/healthz", "healthz", "Alive"),
        ("/readyz", "readyz", "Takes work"),
    ] {
        let health = d.reference::<Health>();
        d.add(
            &op("get", path, id, says, &[]),
            vec![],
            None,
            answer("200", "It is", JSON, health),
        );
    }
    let text = json!({ "type": "string" });
    d.add(
        &op(
            "get",
            "/metrics",
            "metrics",
            "Numbers of all workspaces, for Prometheus",
            &[],
        ),
        vec![],
        None,
        answer("200", "Its text format", "text/plain", text.clone()),
    );
    d.add(
        &op("get", "/openapi.json", "openapi", "This document", &[]),
        vec![],
        None,
        answer("200", "OpenAPI 3.1", JSON, json!({ "type": "object" })),
    );
    let query = d.query::<RunQuery>();
    let page = d.reference::<RunPage>();
    d.add(
        &op(
            "get",
            "/v1/runs",
            "listRuns",
            "Runs, newest first",
            &[400, 404],
        ),
        query,
        None,
        answer("200", "One page", JSON, page),
    );
    let key = json!({
        "name": "idempotency-key", "in": "header", "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
        "description": "The same submission under the same key is the same run",
    });
    let run = d.reference::<Run>();
    let body = d.reference::<SubmitRun>();
    let mut answers = answer("201", "It is queued", JSON, run.clone());
    answers["200"] = answer("200", "It was submitted before", JSON, run.clone())["200"].clone();
    let links: Map<String, Value> = ["getRun", "streamEvents", "cancelRun", "listArtifacts"]
        .map(|id| {
            let link =
                json!({ "operationId": id, "parameters": { "id": "$response.body#/run_id" } });
            (id.to_owned(), link)
        })
        .into_iter()
        .collect();
    for status in ["200", "201"] {
        answers[status]["links"] = links.clone().into();
    }
    d.add(
        &op(
            "post",
            "/v1/runs",
            "submitRun",
            "Submit a run",
            &[400, 404, 408, 409, 413, 415, 422, 507],
        ),
        vec![key],
        Some((body, true)),
        answers,
    );
    d.add(
        &op("get", "/v1/runs/{id}", "getRun", "One run", &[400, 404]),
        vec![],
        None,
        answer("200", "The run", JSON, run.clone()),
    );
    let last = json!({
        "name": "Last-Event-ID", "in": "header", "schema": { "type": "string" },
        "description": "Events after this one; `resync` comes first if they aren't kept any more",
    });
    let mut events = answer(
        "200",
        "Server-sent events",
        "text/event-stream",
        json!({ "description": "Events with `id`, `event` and JSON as `data`" }),
    );
    events["204"] = json!({ "description": "The run is over, and that was its last event" });
    d.add(
        &op(
            "get",
            "/v1/runs/{id}/events",
            "streamEvents",
            "A run's events, to its end",
            &[400, 404],
        ),
        vec![last],
        None,
        events,
    );
    let steer: &[u16] = &[400, 404, 408, 409, 413, 415, 422, 507];
    let bodies = [
        (
            "/v1/runs/{id}/cancel",
            "cancelRun",
            "End a run",
            d.reference::<CancelRun>(),
            false,
            "202",
        ),
        (
            "/v1/runs/{id}/pause",
            "pauseRun",
            "No new iteration",
            d.reference::<Nothing>(),
            false,
            "200",
        ),
        (
            "/v1/runs/{id}/resume",
            "resumeRun",
            "Iterations again",
            d.reference::<Nothing>(),
            false,
            "200",
        ),
        (
            "/v1/runs/{id}/inject",
            "injectPrompt",
            "A text for the next prompt",
            d.reference::<Inject>(),
            true,
            "200",
        ),
    ];
    for (path, id, says, body, required, status) in bodies {
        d.add(
            &op("post", path, id, says, steer),
            vec![],
            Some((body, required)),
            answer(status, "The run", JSON, run.clone()),
        );
    }
    let artifacts = d.reference::<Artifacts>();
    d.add(
        &op(
            "get",
            "/v1/runs/{id}/artifacts",
            "listArtifacts",
            "What a run leaves behind",
            &[400, 404],
        ),
        vec![],
        None,
        answer("200", "What there is", JSON, artifacts),
    );
    let range = json!({ "name": "Range", "in": "header", "schema": { "type": "string" } });
    let mut answers = json!({});
    for (status, says) in [("200", "All of it"), ("206", "A part of it")] {
        answers[status] = answer(status, says, "text/plain", text.clone())[status].clone();
        answers[status]["content"][JSON] = json!({});
    }
    d.add(
        &op(
            "get",
            "/v1/runs/{id}/artifacts/{path}",
            "getArtifact",
            "diff.patch, receipts/…, logs/…",
            &[400, 404, 416],
        ),
        vec![range],
        None,
        answers,
    );
    let query = d.query::<PromptQuery>();
    let prompts = d.reference::<Prompts>();
    d.add(
        &op(
            "get",
            "/v1/workspaces/{slug}/prompts",
            "listPrompts",
            "A workspace's prompts, by path",
            &[400, 404, 409, 422],
        ),
        query,
        None,
        answer("200", "One page", JSON, prompts),
    );
    let place = "/v1/workspaces/{slug}/prompts/{path}";
    let prompt = d.reference::<Prompt>();
    d.add(
        &op(
            "get",
            place,
            "getPrompt",
            "A prompt and its fingerprints",
            &[400, 404, 409, 413, 422],
        ),
        vec![],
        None,
        answer("200", "As it stands", JSON, prompt),
    );
    let (body, edited) = (d.reference::<SavePrompt>(), d.reference::<Edited>());
    let mut answers = answer("200", "It is saved", JSON, edited.clone());
    answers["201"] = answer("201", "It is new, and saved", JSON, edited.clone())["201"].clone();
    let edits: &[u16] = &[400, 404, 408, 409, 413, 415, 422, 507];
    d.add(
        &op(
            "put",
            place,
            "savePrompt",
            "Save a prompt and its fingerprint as one",
            edits,
        ),
        vec![],
        Some((body, true)),
        answers,
    );
    let query = d.query::<DeleteQuery>();
    d.add(
        &op(
            "delete",
            place,
            "deletePrompt",
            "Delete a prompt and its fingerprint",
            edits,
        ),
        query,
        None,
        answer("200", "It is deleted", JSON, edited),
    );
    let query = d.query::<AuditQuery>();
    let page = d.reference::<AuditPage>();
    d.add(
        &op(
            "get",
            "/v1/audit",
            "audit",
            "What was asked for, and what came of it",
            &[400],
        ),
        query,
        None,
        answer("200", "One page", JSON, page),
    );
    let query = d.query::<StatsQuery>();
    let stats = d.reference::<Stats>();
    d.add(
        &op(
            "get",
            "/v1/stats",
            "stats",
            "The last 24 hours",
            &[400, 404],
        ),
        query,
        None,
        answer("200", "Numbers", JSON, stats),
    );
    let problem = d.reference::<Problem>();
    let schemas = d.generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": { "title": "ralph serve", "version": version },
        "security": [{ "bearer": [] }],
        "paths": d.paths,
        "components": {
            "schemas": schemas,
            "responses": { "Problem": {
                "description": "What went wrong, RFC 9457",
                "content": { "application/problem+json": { "schema": problem } },
            } },
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

/// `GET /openapi.json`
pub async fn openapi(State(app): State<Shared>) -> Json<Value> {
    Json(document(app.version))
}
