import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

import * as all from "../index.js";
import { BACKOFF_MAX, RalphError, backoff, getRalphClient } from "../index.js";
import { json, port, service, until } from "./service.js";

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

test("no name leads to something else than it names", async () => {
  const { client, asked } = await service((_, response) => json(response, 200, {}));
  const path = "../../site/prompts/victim.yaml";
  const content = { content: "x" };
  for (const ask of [
    () => client.deletePrompt("two", path),
    () => client.getPrompt("two", path),
    () => client.savePrompt("two", path, content),
    () => client.getPrompt("two", "a/./b.yaml"),
    () => client.getPrompt("two", "a//b.yaml"),
    () => client.getPrompt("two", "a/%2E%2e/b.yaml"),
    () => client.getPrompt("two", ".%2E/b.yaml"),
    () => client.getPrompt("two", ""),
    () => client.getPrompt("..", "b.yaml"),
    () => client.getPrompt("", "b.yaml"),
    () => client.getPrompt(undefined, "b.yaml"),
    () => client.getRun(".."),
    () => client.getRun(""),
    () => client.cancelRun("%2e%2E"),
    () => client.proxyEvents("."),
    () => client.streamEvents("..").next(),
  ]) {
    await assert.rejects(ask(), /a name (is empty|can't be)/, String(ask));
  }
  assert.deepEqual(asked, []);
  await client.getPrompt("two", "...a/..b/c..yaml");
  assert.equal(asked[0].url, "/v1/workspaces/two/prompts/...a/..b/c..yaml");
});

test("the environment says which transport it is", () => {
  const made = (env) => getRalphClient({ env });
  assert.equal(made({}).url, "http://127.0.0.1:8765");
  assert.equal(made({ RALPH_SIDECAR_PORT: "9000" }).url, "http://127.0.0.1:9000");
  assert.equal(made({ RALPH_TRANSPORT: "remote", RALPH_URL: "https://x/" }).url, "https://x");
  assert.throws(() => made({ RALPH_TRANSPORT: "pigeon" }), /unknown RALPH_TRANSPORT: pigeon/);
  assert.throws(() => made({ RALPH_TRANSPORT: "remote" }), /RALPH_URL/);
  assert.throws(() => made({ RALPH_SIDECAR_PORT: "x" }), /isn't a port/);
  for (const url of ["nonsense", "x.example:80", "ftp://x"]) {
    assert.throws(() => made({ RALPH_TRANSPORT: "remote", RALPH_URL: url }), /RALPH_URL/);
  }
  const password = { RALPH_TRANSPORT: "remote", RALPH_URL: "http://me:s3cret@x" };
  assert.throws(() => made(password), (e) => /RALPH_URL has a password/.test(e.message) && !e.message.includes("s3c"));
});

test("waits between attempts grow and are capped", () => {
  assert.deepEqual([0, 1, 2, 3].map((n) => backoff(n)), [250, 500, 1000, 2000]);
  assert.equal(BACKOFF_MAX, 30_000);
  for (const n of [7, 20, 1e9]) assert.equal(backoff(n), 30_000);
});

test("a run is steered, on somebody's behalf", async () => {
  const { client, asked } = await service((_, response) => json(response, 200, { run_id: "r" }));
  const tess = client.actingFor("tess");
  assert.equal((await tess.pauseRun("r")).run_id, "r");
  await tess.resumeRun("r");
  await tess.injectRun("r", 'use "it"');
  await client.getRun("r");
  assert.deepEqual(
    asked.map((a) => `${a.method} ${a.url} ${a.body} ${a.headers["ralph-actor"]}`),
    [
      "POST /v1/runs/r/pause {} tess",
      "POST /v1/runs/r/resume {} tess",
      'POST /v1/runs/r/inject {"text":"use \\"it\\""} tess',
      "GET /v1/runs/r  undefined",
    ],
  );
});

test("more runs than a page has are asked for in pages", async () => {
  const { client, asked } = await service((request, response) => {
    const query = new URL(request.url, "http://x").searchParams;
    const from = Number(query.get("cursor") ?? 0);
    const runs = Array.from({ length: Number(query.get("limit")) }, (_, n) => ({ run_id: String(from + n) }));
    json(response, 200, { runs, next_cursor: String(from + runs.length) });
  });
  const runs = await client.listRuns("site", { limit: 700 });
  assert.deepEqual([runs.length, runs[699].run_id], [700, "699"]);
  assert.deepEqual(
    asked.map((a) => a.url),
    ["/v1/runs?workspace=site&limit=500", "/v1/runs?workspace=site&limit=200&cursor=500"],
  );
  assert.deepEqual(await client.listRuns("site", { limit: 0 }), []);
  await client.listRuns("site", { since: "2026-01-31", until: "2026-02-01", limit: 1 });
  assert.equal(asked.at(-1).url, "/v1/runs?workspace=site&since=2026-01-31&until=2026-02-01&limit=1");
});

test("the token goes nowhere else, and is shown nowhere", async () => {
  const other = await service((_, response) => json(response, 200, {}));
  const { client } = await service((_, response) => {
    response.writeHead(307, { location: other.url });
    response.end();
  });
  await assert.rejects(client.getRun("r"), { name: "RalphError", status: 307 });
  await assert.rejects(client.streamEvents("r").next(), { status: 307 });
  assert.equal(other.asked.length, 0);
  for (const token of ["s3cret\r\nx: y", "s3 cret", "s3cr\u00e9t"]) {
    const made = getRalphClient({ env: { RALPH_TRANSPORT: "remote", RALPH_URL: other.url }, token });
    await assert.rejects(made.getRun("r"), (e) => /the token is none/.test(e.message) && !e.stack.includes("s3c"));
    await assert.rejects(made.streamEvents("r").next(), /the token is none/);
  }
  assert.equal(other.asked.length, 0);
});

test("a service that isn't there, or says nothing, is an error in time", async () => {
  const url = `http://127.0.0.1:${await port()}`;
  const gone = getRalphClient({ env: { RALPH_TRANSPORT: "remote", RALPH_URL: url } });
  assert.equal(await gone.ping(), false);
  await assert.rejects(gone.getRun("r"));
  const silent = await service(() => {}, { timeout: 100 });
  await assert.rejects(silent.client.getRun("r"), { name: "TimeoutError" });
  const stop = new AbortController();
  const asked = silent.client.ping(stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(asked, /enough/);
});

test("an answer without end isn't kept", async () => {
  const { client } = await service((request, response) => {
    response.writeHead(request.url.endsWith("good") ? 200 : 500);
    const piece = " ".repeat(1 << 16);
    const more = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on("drain", more);
    more();
  }, { patience: 0 });
  await assert.rejects(client.getRun("good"), /longer than 33554432 bytes/);
  await assert.rejects(client.getRun("bad"), { status: 500 });
  await assert.rejects(client.streamEvents("bad").next(), { status: 500 });
});

test("another fetch can be given, and a certificate isn't left out silently", async () => {
  const env = { RALPH_TRANSPORT: "remote", RALPH_URL: "https://x.example", RALPH_MTLS: "1" };
  assert.throws(() => getRalphClient({ env }), /RALPH_MTLS=1 needs RALPH_MTLS_CERT, or a fetch/);
  const asked = [];
  const fetch = async (url) => {
    asked.push(url);
    return Response.json({ run_id: "r" });
  };
  assert.equal((await getRalphClient({ env, fetch }).getRun("r")).run_id, "r");
  assert.deepEqual(asked, ["https://x.example/v1/runs/r"]);
});

test("over TLS both sides show who they are", async () => {
  const pem = (name) => fileURLToPath(new URL(`../../../../tests/src/web/${name}`, import.meta.url));
  const [cert, key, ca] = [pem("server.pem"), pem("server.key"), pem("ca.pem")];
  const asked = [];
  let left = 0;
  const closed = () => (left += 1);
  const files = { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(ca) };
  const server = createServer({ ...files, requestCert: true }, (request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      asked.push(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
      if (request.url.includes("silent")) return;
      if (request.url.includes("broken")) {
        response.writeHead(200, { "content-length": "10" });
        response.write("{");
        return setTimeout(() => response.destroy(), 10);
      }
      if (request.url.includes("away")) return response.writeHead(307, { location: "/v1/runs/r" }).end();
      if (!request.url.endsWith("/events")) return json(response, 200, { run_id: "r\u00e4", a: "x".repeat(200_000) });
      if (request.headers["last-event-id"]) return response.writeHead(204).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      const event = 'id: 1\nevent: start\ndata: {"a":1}\n\n';
      if (request.url.includes("hang")) {
        request.socket.once("close", closed);
        response.write(event);
      } else response.end(event);
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `https://127.0.0.1:${server.address().port}`;
  const env = { RALPH_TRANSPORT: "remote", RALPH_URL: url, RALPH_MTLS: "1", RALPH_MTLS_CERT: cert, RALPH_MTLS_KEY: key };
  const client = getRalphClient({ env: { ...env, RALPH_MTLS_CA: ca }, token: "t0k" });
  const run = await client.injectRun("r", "\u00e4");
  assert.deepEqual([run.run_id, run.a.length], ["r\u00e4", 200_000]);
  assert.deepEqual(asked, ['POST /v1/runs/r/inject Bearer t0k {"text":"\u00e4"}']);
  assert.equal(await client.ping(), true);
  const events = [];
  for await (const event of client.streamEvents("r")) events.push(event);
  assert.deepEqual(events, [{ a: 1, event_id: "1", type: "start" }]);
  assert.equal((await client.proxyEvents("r", { lastEventId: "1" })).status, 204);
  await assert.rejects(client.getRun("away"), { name: "RalphError", status: 307 });
  await assert.rejects(client.getRun("broken"));
  const stop = new AbortController();
  const silent = client.getRun("silent", { signal: stop.signal });
  setTimeout(() => stop.abort(new Error("enough")), 10);
  await assert.rejects(silent, /enough/);
  // Who turns away, or ends it, closes the connection.
  for await (const _ of client.streamEvents("hang")) break;
  const end = new AbortController();
  const following = client.streamEvents("hang", end.signal);
  await following.next();
  const next = following.next();
  end.abort(new Error("enough"));
  await assert.rejects(next, /enough/);
  await (await client.proxyEvents("hang")).body.cancel();
  await until(() => left === 3);
  // Whom nobody knows isn't asked; who shows nothing is let in by nobody.
  const count = asked.length;
  await assert.rejects(getRalphClient({ env }).getRun("r"), /certificate/);
  const none = getRalphClient({ env: { RALPH_TRANSPORT: "remote", RALPH_URL: url, RALPH_MTLS_CA: ca } });
  await assert.rejects(none.getRun("r"));
  assert.equal(asked.length, count);
  for (const wrong of [{ RALPH_MTLS_KEY: "" }, { RALPH_URL: "http://x" }, { RALPH_MTLS_CERT: "/nowhere.pem" }]) {
    assert.throws(() => getRalphClient({ env: { ...env, ...wrong } }), /RALPH_MTLS=1 needs|ENOENT.*nowhere/);
  }
});

test("what there is, is declared", () => {
  const types = readFileSync(new URL("../index.d.ts", import.meta.url), "utf8");
  const declared = [...types.matchAll(/^export (?:class|const|function) (\w+)/gm)].map((m) => m[1]);
  assert.deepEqual(declared.sort(), Object.keys(all).sort());
  const client = getRalphClient({ env: { RALPH_TRANSPORT: "remote", RALPH_URL: "http://x" } });
  const verbs = new Set();
  for (let of = client; of !== Object.prototype; of = Object.getPrototypeOf(of)) {
    for (const name of Object.getOwnPropertyNames(of)) if (name !== "constructor") verbs.add(name);
  }
  const body = types.slice(types.indexOf("interface RalphClient {"), types.indexOf("export type Token"));
  const members = [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(:]/gm)].map((m) => m[1]);
  assert.deepEqual(members.filter((m) => m !== "sidecar").sort(), [...verbs].sort());
});
