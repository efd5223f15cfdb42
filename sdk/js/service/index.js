// A client of `ralph serve`.

import { text } from "./body.js";
import { refused } from "./error.js";
import { within } from "./limit.js";
import { shared } from "./sidecars.js";
import { follow } from "./stream.js";
import { ofEnvironment } from "./tls.js";

export { BACKOFF_MAX, backoff } from "./backoff.js";
export { RalphError } from "./error.js";
export { Sidecar } from "./sidecar.js";
export { EVENT_MAX, Events } from "./sse.js";

/** Bytes of an answer; a page of 500 runs or a prompt has a fraction of it. */
const ANSWER_MAX = 32 * 1024 * 1024;
/** What the service lists in one page at most. */
const PAGE_MAX = 500;

/** A part of a path. `fetch` resolves dots: with them in a name, another thing would be asked for than is named. */
function segment(name) {
  if (typeof name !== "string" || !name) throw new Error("a name is empty");
  if (/^(\.|%2e){1,2}$/i.test(name)) throw new Error(`a name can't be ${name}`);
  return encodeURIComponent(name);
}

class Client {
  #token;
  #ready;
  #fetch;
  #timeout;
  #idle;
  #patience;
  #actor;

  constructor(url, options = {}) {
    this.url = address(url);
    this.#token = options.token;
    this.#ready = options.ready ?? (async () => {});
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
    this.#timeout = options.timeout ?? 75_000;
    this.#idle = options.idleTimeout ?? 60_000;
    this.#patience = options.patience ?? 300_000;
    this.#actor = options.actor;
  }

  actingFor(actor) {
    return new ActingClient(this, {
      token: this.#token,
      ready: this.#ready,
      fetch: this.#fetch,
      timeout: this.#timeout,
      idleTimeout: this.#idle,
      patience: this.#patience,
      actor,
    });
  }

  async submitRun(opts, { idempotencyKey, signal } = {}) {
    const headers = idempotencyKey ? { "idempotency-key": idempotencyKey } : {};
    return this.#json("POST", "/v1/runs", { body: opts, headers, signal });
  }

  async getRun(id, { signal } = {}) {
    return this.#json("GET", run(id), { signal });
  }

  async cancelRun(id, { reason, signal } = {}) {
    await this.#json("POST", run(id, "/cancel"), { body: reason ? { reason } : {}, signal });
  }

  async pauseRun(id, { signal } = {}) {
    return this.#json("POST", run(id, "/pause"), { body: {}, signal });
  }

  async resumeRun(id, { signal } = {}) {
    return this.#json("POST", run(id, "/resume"), { body: {}, signal });
  }

  async injectRun(id, text, { signal } = {}) {
    return this.#json("POST", run(id, "/inject"), { body: { text }, signal });
  }

  async listRuns(workspace, { status, since, until, limit = Infinity, signal } = {}) {
    const runs = [];
    let cursor;
    while (runs.length < limit) {
      const query = new URLSearchParams({ workspace });
      const page = Math.min(limit - runs.length, PAGE_MAX);
      const asked = { status, since, until, limit: limit === Infinity ? undefined : page, cursor };
      for (const [name, value] of Object.entries(asked)) {
        if (value !== undefined && value !== null) query.set(name, String(value));
      }
      const answer = await this.#json("GET", `/v1/runs?${query}`, { signal });
      runs.push(...answer.runs);
      if (!answer.next_cursor || answer.next_cursor === cursor) break;
      cursor = answer.next_cursor;
    }
    return runs;
  }

  streamEvents(id, signal, { lastEventId } = {}) {
    const ask = async (last, attempt) => {
      const request = await this.#request("GET", run(id, "/events"), { headers: stream(last), signal: attempt.signal });
      const late = () => attempt.abort(new DOMException(`no answer in ${this.#timeout / 1000} s`, "TimeoutError"));
      const timer = setTimeout(late, this.#timeout);
      try {
        return { answer: await this.#fetch(...request) };
      } catch (error) {
        return { error };
      } finally {
        clearTimeout(timer);
      }
    };
    return follow(ask, { last: lastEventId, signal, idle: this.#idle, patience: this.#patience });
  }

  async proxyEvents(id, { lastEventId, signal } = {}) {
    const request = await this.#request("GET", run(id, "/events"), { headers: stream(lastEventId), signal });
    const answer = await this.#fetch(...request);
    const kept = new Headers();
    for (const name of ["content-type", "cache-control", "retry-after"]) {
      const value = answer.headers.get(name);
      if (value !== null) kept.set(name, value);
    }
    // So that no proxy in between gathers events before it passes them on.
    kept.set("x-accel-buffering", "no");
    return new Response(answer.body, { status: answer.status, headers: kept });
  }

  async getPrompt(workspace, path, { signal } = {}) {
    return this.#json("GET", prompt(workspace, path), { signal });
  }

  async savePrompt(workspace, path, { content, expected_prior_fingerprint = null, algorithm, signal }) {
    const body = { content, expected_prior_fingerprint, algorithm };
    return this.#json("PUT", prompt(workspace, path), { body, signal });
  }

  async deletePrompt(workspace, path, { expected_prior_fingerprint, signal } = {}) {
    const expected = expected_prior_fingerprint;
    const query = expected ? `?expected_prior_fingerprint=${encodeURIComponent(expected)}` : "";
    return this.#json("DELETE", prompt(workspace, path) + query, { signal });
  }

  async #json(method, path, { signal, ...options }) {
    return within(this.#timeout, signal, async (limit) => {
      const request = await this.#request(method, path, { ...options, signal: limit });
      const answer = await this.#fetch(...request);
      if (!answer.ok) throw await refused(answer);
      return JSON.parse(await text(answer, ANSWER_MAX));
    });
  }

  /** What `fetch` is asked with, once the service is there. Throws what no other attempt mends. */
  async #request(method, path, { body, headers = {}, signal }) {
    await this.#ready(signal);
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    const sent = new Headers(headers);
    if (token) sent.set("authorization", bearer(token));
    if (this.#actor) sent.set("ralph-actor", this.#actor);
    if (body !== undefined) sent.set("content-type", "application/json");
    const text = body === undefined ? undefined : JSON.stringify(body);
    // The token goes to nobody else: a redirect is an answer like another.
    return [this.url + path, { method, headers: sent, body: text, redirect: "manual", signal }];
  }
}

/** Not what is wrong with it: that would show it. */
function bearer(token) {
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token.trim())) throw new Error("the token is none");
  return `Bearer ${token.trim()}`;
}

function address(url) {
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    throw new Error(`RALPH_URL isn't an address: ${url}`);
  }
  if (!/^https?:$/.test(parsed.protocol)) throw new Error(`RALPH_URL begins with http:// or https://: ${url}`);
  // fetch would refuse each request, and say it.
  if (parsed.username || parsed.password) throw new Error("RALPH_URL has a password in it; a token goes into RALPH_SERVE_TOKEN");
  return url.replace(/\/+$/, "");
}

function run(id, what = "") {
  return `/v1/runs/${segment(id)}${what}`;
}

function prompt(workspace, path) {
  const parts = path.split("/").map(segment).join("/");
  return `/v1/workspaces/${segment(workspace)}/prompts/${parts}`;
}

/** What a stream is asked for with. */
function stream(last) {
  // Nothing in between may compress: it would gather events.
  const headers = { accept: "text/event-stream", "accept-encoding": "identity" };
  if (last !== undefined && last !== null) headers["last-event-id"] = String(last);
  return headers;
}

/** The service at an address. */
class RemoteClient extends Client {
  #fetch;

  constructor(url, options = {}) {
    if (!url) throw new Error("RALPH_TRANSPORT=remote needs RALPH_URL");
    super(url, options);
    this.#fetch = options.fetch ?? ((...args) => fetch(...args));
  }

  /** Is it there? One question, no supervision. */
  async ping(signal) {
    try {
      return await within(5_000, signal, async (limit) => {
        const answer = await this.#fetch(`${this.url}/healthz`, { redirect: "manual", signal: limit });
        await answer.arrayBuffer();
        return answer.ok;
      });
    } catch {
      signal?.throwIfAborted();
      return false;
    }
  }

  async close() {}
}

/** A service of one's own; other clients of this process may have it, too. */
class SidecarClient extends Client {
  #closed;
  #release;
  #ready;

  constructor({ token, timeout, idleTimeout, patience, fetch, actor, ...options }) {
    const { sidecar, release } = shared(options);
    const ready = async (signal) => {
      if (this.#closed) throw new Error("the client is closed");
      await sidecar.ready(signal);
    };
    super(sidecar.url, { token, timeout, idleTimeout, patience, fetch, actor, ready });
    this.sidecar = sidecar;
    this.#ready = ready;
    this.#release = release;
  }

  /** Is it there? Starts it if need be; throws why it isn't. */
  async ping(signal) {
    await this.#ready(signal);
    return true;
  }

  close() {
    this.#closed ??= this.#release();
    return this.#closed;
  }
}

/** Another client's requests, on somebody's behalf. */
class ActingClient extends Client {
  #of;

  constructor(of, options) {
    super(of.url, options);
    this.#of = of;
  }

  get sidecar() {
    return this.#of.sidecar;
  }

  ping(signal) {
    return this.#of.ping(signal);
  }

  close() {
    return this.#of.close();
  }
}

/** The client that the environment asks for. */
export function getRalphClient(options = {}) {
  const { env = process.env, command = "ralph", args, cwd, ...rest } = options;
  const token = options.token ?? env.RALPH_SERVE_TOKEN;
  const transport = env.RALPH_TRANSPORT || "sidecar";
  if (transport === "remote") {
    const fetch = options.fetch ?? ofEnvironment(env, env.RALPH_URL);
    return new RemoteClient(env.RALPH_URL, { ...rest, token, fetch });
  }
  if (transport !== "sidecar") throw new Error(`unknown RALPH_TRANSPORT: ${transport}`);
  const port = Number(env.RALPH_SIDECAR_PORT || 8765);
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new Error(`RALPH_SIDECAR_PORT isn't a port: ${env.RALPH_SIDECAR_PORT}`);
  }
  return new SidecarClient({
    ...rest,
    token,
    command,
    args: args ?? ["serve", "--listen", `127.0.0.1:${port}`],
    cwd,
    env,
    port,
    logPath: env.RALPH_SIDECAR_LOG_PATH || ".rocky/sidecar.log",
  });
}
