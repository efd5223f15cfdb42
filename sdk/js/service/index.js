// A client of `ralph serve`.

import { setTimeout as pause } from "node:timers/promises";

import { Sidecar, backoff } from "./sidecar.js";
import { events } from "./sse.js";

export { BACKOFF_MAX, Sidecar, backoff } from "./sidecar.js";
export { Events } from "./sse.js";

/** A request that the service refused. */
export class RalphError extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? `the service answers ${status}`);
    this.name = "RalphError";
    this.status = status;
    /** RFC 9457, if the service sent one. */
    this.problem = problem;
  }

  /** Might it go well later? */
  get retryable() {
    return this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

const segment = encodeURIComponent;

class Client {
  #token;
  #ready;

  constructor({ url, token, ready }) {
    this.url = url.replace(/\/+$/, "");
    this.#token = token;
    this.#ready = ready ?? (async () => {});
  }

  async submitRun(opts, { idempotencyKey, signal } = {}) {
    const headers = idempotencyKey ? { "idempotency-key": idempotencyKey } : {};
    return this.#json("POST", "/v1/runs", { body: opts, headers, signal });
  }

  async getRun(id, { signal } = {}) {
    return this.#json("GET", `/v1/runs/${segment(id)}`, { signal });
  }

  async cancelRun(id, { reason, signal } = {}) {
    await this.#json("POST", `/v1/runs/${segment(id)}/cancel`, { body: reason ? { reason } : {}, signal });
  }

  async listRuns(workspace, { status, since, limit, signal } = {}) {
    const runs = [];
    let cursor;
    do {
      const query = new URLSearchParams({ workspace });
      for (const [name, value] of Object.entries({ status, since, limit, cursor })) {
        if (value !== undefined && value !== null) query.set(name, String(value));
      }
      const page = await this.#json("GET", `/v1/runs?${query}`, { signal });
      runs.push(...page.runs);
      cursor = page.next_cursor;
    } while (cursor && (limit === undefined || runs.length < limit));
    return limit === undefined ? runs : runs.slice(0, limit);
  }

  async *streamEvents(id, signal, { lastEventId } = {}) {
    let last = lastEventId;
    let failures = 0;
    for (;;) {
      signal?.throwIfAborted();
      try {
        const answer = await this.proxyEvents(id, { lastEventId: last, signal });
        if (!answer.ok) throw await refused(answer);
        for await (const event of events(answer.body)) {
          failures = 0;
          if (event.id) last = event.id;
          yield { ...JSON.parse(event.data), event_id: event.id, type: event.event };
          if (event.event === "terminal") return;
        }
      } catch (e) {
        signal?.throwIfAborted();
        if (e instanceof SyntaxError || (e instanceof RalphError && !e.retryable)) throw e;
      }
      await pause(backoff(failures), undefined, { signal });
      failures += 1;
    }
  }

  async proxyEvents(id, { lastEventId, signal } = {}) {
    const headers = { accept: "text/event-stream" };
    if (lastEventId !== undefined && lastEventId !== null) headers["last-event-id"] = String(lastEventId);
    const answer = await this.#ask("GET", `/v1/runs/${segment(id)}/events`, { headers, signal });
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

  async savePrompt(workspace, path, { content, expected_prior_fingerprint = null, signal }) {
    return this.#json("PUT", prompt(workspace, path), { body: { content, expected_prior_fingerprint }, signal });
  }

  async deletePrompt(workspace, path, { expected_prior_fingerprint, signal } = {}) {
    const expected = expected_prior_fingerprint;
    const query = expected ? `?expected_prior_fingerprint=${segment(expected)}` : "";
    return this.#json("DELETE", prompt(workspace, path) + query, { signal });
  }

  async #json(method, path, options) {
    const answer = await this.#ask(method, path, options);
    if (!answer.ok) throw await refused(answer);
    return answer.json();
  }

  async #ask(method, path, { body, headers = {}, signal } = {}) {
    await this.#ready(signal);
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    const sent = { ...headers };
    if (token) sent.authorization = `Bearer ${token}`;
    if (body !== undefined) sent["content-type"] = "application/json";
    return fetch(this.url + path, {
      method,
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: "error",
      signal,
    });
  }
}

function prompt(workspace, path) {
  const parts = path.split("/").map(segment).join("/");
  return `/v1/workspaces/${segment(workspace)}/prompts/${parts}`;
}

async function refused(answer) {
  const text = await answer.text();
  try {
    return new RalphError(answer.status, JSON.parse(text));
  } catch {
    return new RalphError(answer.status, undefined);
  }
}

/** The service at an address. */
export class RemoteClient extends Client {
  constructor(url, { token } = {}) {
    if (!url) throw new Error("RALPH_TRANSPORT=remote needs RALPH_URL");
    super({ url, token });
  }

  /** Is it there? One question, no supervision. */
  async ping(signal = AbortSignal.timeout(5_000)) {
    const answer = await fetch(`${this.url}/healthz`, { signal });
    await answer.arrayBuffer();
    return answer.ok;
  }

  async close() {}
}

/** A service of one's own. */
export class SidecarClient extends Client {
  constructor({ token, ...options }) {
    const sidecar = new Sidecar(options);
    super({ url: sidecar.url, token, ready: (signal) => sidecar.ready(signal) });
    this.sidecar = sidecar;
  }

  /** Is it there? Starts it if need be. */
  async ping(signal) {
    await this.sidecar.ready(signal);
    return true;
  }

  async close() {
    await this.sidecar.stop();
  }
}

/** The client that the environment asks for. */
export function getRalphClient(options = {}) {
  const { env = process.env, command = "ralph", args, cwd, ...rest } = options;
  const token = options.token ?? env.RALPH_SERVE_TOKEN;
  const transport = env.RALPH_TRANSPORT || "sidecar";
  if (transport === "remote") return new RemoteClient(env.RALPH_URL, { token });
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
