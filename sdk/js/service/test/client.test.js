import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { BACKOFF_MAX, Events, RalphError, backoff, getRalphClient } from "../index.js";

/** A service that `handle` answers for. */
async function service(handle) {
  const asked = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      asked.push({ method: request.method, url: request.url, headers: request.headers, body });
      handle(request, response, asked.length);
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  return { asked, url, client: getRalphClient({ env: { RALPH_TRANSPORT: "remote", RALPH_URL: url }, token: "t0k" }) };
}

const json = (response, status, value) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};

test("the verbs ask what the service answers", async () => {
  const { client, asked } = await service((request, response) => {
    if (request.url.startsWith("/v1/runs?")) {
      const next = request.url.includes("cursor=7") ? null : "7";
      json(response, 200, { runs: [{ run_id: next ? "a" : "b" }], next_cursor: next });
    } else json(response, 201, { run_id: "r/1", convergence_score: 0.5 });
  });
  assert.equal((await client.submitRun({ workspace_slug: "site" }, { idempotencyKey: "k" })).run_id, "r/1");
  assert.equal((await client.getRun("r/1")).convergence_score, 0.5);
  await client.cancelRun("r/1", { reason: "no" });
  assert.deepEqual((await client.listRuns("site")).map((r) => r.run_id), ["a", "b"]);
  await client.savePrompt("site", "deep/a b.yaml", { content: "x" });
  assert.deepEqual(
    asked.map((a) => `${a.method} ${a.url} ${a.body}`),
    [
      'POST /v1/runs {"workspace_slug":"site"}',
      "GET /v1/runs/r%2F1 ",
      'POST /v1/runs/r%2F1/cancel {"reason":"no"}',
      "GET /v1/runs?workspace=site ",
      "GET /v1/runs?workspace=site&cursor=7 ",
      'PUT /v1/workspaces/site/prompts/deep/a%20b.yaml {"content":"x","expected_prior_fingerprint":null}',
    ],
  );
  assert.equal(asked[0].headers["idempotency-key"], "k");
  assert.ok(asked.every((a) => a.headers.authorization === "Bearer t0k"));
});

test("a refusal is an error with the service's problem", async () => {
  const problem = { type: "urn:ralph:problem:prompt-changed", detail: "another", fingerprint_stored: "sha256:1" };
  const { client } = await service((_, response) => json(response, 409, problem));
  await assert.rejects(client.getRun("x"), (e) => {
    assert.ok(e instanceof RalphError && !e.retryable);
    assert.deepEqual([e.status, e.message, e.problem], [409, "another", problem]);
    return true;
  });
});

test("events go on after a broken connection, none twice, none lost, and end with terminal", async () => {
  const { client, asked } = await service((request, response, n) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (n === 1) {
      response.write('id: 1\nevent: start\ndata: {"a":1}\n\n: beat\n\nid: 2\nevent: node\ndata: {"half":');
      setImmediate(() => response.destroy());
    } else if (n === 2) {
      response.write('id: 2\nevent: node\ndata: {"half":2,"extra":{"x":[1]}}\n\n');
      response.end();
    } else response.end('id: 3\nevent: terminal\ndata: {"status":"done","early_stop_reason":"flat"}\n\n');
  });
  const got = [];
  for await (const event of client.streamEvents("r")) got.push(event);
  assert.deepEqual(got, [
    { a: 1, event_id: "1", type: "start" },
    { half: 2, extra: { x: [1] }, event_id: "2", type: "node" },
    { status: "done", early_stop_reason: "flat", event_id: "3", type: "terminal" },
  ]);
  assert.deepEqual(asked.map((a) => a.headers["last-event-id"]), [undefined, "1", "2"]);
});

test("a stream of a run that isn't there is refused, and an abort ends one", async () => {
  const { client } = await service((request, response) => {
    if (request.url.includes("nobody")) json(response, 404, { detail: "no such run" });
    else {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("id: 1\nevent: start\ndata: {}\n\n");
    }
  });
  await assert.rejects(client.streamEvents("nobody").next(), { status: 404 });
  const stop = new AbortController();
  await assert.rejects(
    async () => {
      for await (const _ of client.streamEvents("r", stop.signal)) stop.abort();
    },
    { name: "AbortError" },
  );
});

test("the proxy passes the stream on byte for byte", async () => {
  const bytes = Buffer.from('\ufeffid: 1\r\nevent: x\r\ndata: {"é":"\u2028"}\r\n\r\n: c\n\ndata: \ud83d\ude00\n\n');
  const { client, asked } = await service((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    for (const byte of bytes) response.write(Buffer.from([byte]));
    response.end();
  });
  const answer = await client.proxyEvents("r", { lastEventId: "41" });
  assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
  assert.equal(answer.headers.get("content-type"), "text/event-stream");
  assert.equal(asked[0].headers["last-event-id"], "41");
});

test("events are read the same however they are cut", () => {
  const text = "\ufeff: c\nid: 1\nevent: a\ndata: x\ndata:  y\n\rdata: z\r\n\r\nid\ndata\n\nevent: dropped\n\n";
  const want = [
    { id: "1", event: "a", data: "x\n y" },
    { id: "1", event: "message", data: "z" },
    { id: "", event: "message", data: "" },
  ];
  for (let cut = 0; cut <= text.length; cut += 1) {
    const parser = new Events();
    assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], want, String(cut));
  }
});

test("the environment says which transport it is", () => {
  const made = (env) => getRalphClient({ env });
  assert.equal(made({}).url, "http://127.0.0.1:8765");
  assert.equal(made({ RALPH_SIDECAR_PORT: "9000" }).url, "http://127.0.0.1:9000");
  assert.equal(made({ RALPH_TRANSPORT: "remote", RALPH_URL: "https://x/" }).url, "https://x");
  assert.throws(() => made({ RALPH_TRANSPORT: "pigeon" }), /unknown RALPH_TRANSPORT: pigeon/);
  assert.throws(() => made({ RALPH_TRANSPORT: "remote" }), /RALPH_URL/);
  assert.throws(() => made({ RALPH_SIDECAR_PORT: "x" }), /isn't a port/);
});

test("waits between attempts grow and are capped", () => {
  assert.deepEqual([0, 1, 2, 3].map((n) => backoff(n)), [250, 500, 1000, 2000]);
  assert.equal(BACKOFF_MAX, 30_000);
  for (const n of [7, 20, 1e9]) assert.equal(backoff(n), 30_000);
});

/** A port that was free a moment ago. */
async function port() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

test("a sidecar is started, waited for, started again when it dies, and ended", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
  const script = join(dir, "serve.mjs");
  writeFileSync(
    script,
    `import { createServer } from "node:http";
     console.log("began");
     const server = createServer((request, response) => {
       if (request.url === "/v1/runs/die") process.exit(7);
       response.setHeader("content-type", "application/json");
       response.end(JSON.stringify({ pid: process.pid }));
     });
     server.listen(Number(process.argv[2]), "127.0.0.1");
     process.on("SIGTERM", () => { console.log("ended"); process.exit(0); });`,
  );
  const log = join(dir, "logs", "sidecar.log");
  const at = String(await port());
  const restarts = [];
  const client = getRalphClient({
    env: { ...process.env, RALPH_TRANSPORT: "", RALPH_SIDECAR_PORT: at, RALPH_SIDECAR_LOG_PATH: log },
    command: process.execPath,
    args: [script, at],
    onRestart: (what) => restarts.push(what),
  });
  const first = await client.getRun("a");
  assert.equal((await client.getRun("b")).pid, first.pid);
  await assert.rejects(client.getRun("die"));
  const second = await client.getRun("c");
  assert.notEqual(second.pid, first.pid);
  assert.equal(restarts.length, 1);
  assert.match(restarts[0].why, /code 7/);
  await client.close();
  assert.throws(() => process.kill(second.pid, 0), { code: "ESRCH" });
  assert.equal(readFileSync(log, "utf8"), "began\nbegan\nended\n");
  await assert.rejects(client.getRun("d"), /stopped/);
});

test("a sidecar that doesn't come up is an error that says why", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
  const client = getRalphClient({
    env: { RALPH_SIDECAR_PORT: String(await port()), RALPH_SIDECAR_LOG_PATH: join(dir, "log") },
    command: join(dir, "nothing"),
    healthTimeout: 300,
  });
  await assert.rejects(client.getRun("a"), /isn't up after 0.3 s: .*ENOENT/);
  await client.close();
});
