// A `ralph serve` of one's own: started, waited for, started again when it dies, ended with this process.

import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { backoff } from "./backoff.js";

/** Alive so long, it counts as well: what comes after is the first failure again. */
const WELL = 60_000;

/** Those that end with this process. */
const alive = new Set();
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

function end() {
  for (const sidecar of alive) sidecar.signal("SIGTERM");
}

/** A signal that nobody else hears ends the process without its `exit`. */
function signalled(signal) {
  if (process.listenerCount(signal) > 1) return;
  end();
  forget();
  process.kill(process.pid, signal);
}

function remember(sidecar) {
  if (alive.size === 0) {
    process.on("exit", end);
    for (const signal of SIGNALS) process.on(signal, signalled);
  }
  alive.add(sidecar);
}

function forget(sidecar) {
  if (sidecar) alive.delete(sidecar);
  else alive.clear();
  if (alive.size > 0) return;
  process.removeListener("exit", end);
  for (const signal of SIGNALS) process.removeListener(signal, signalled);
}

/** Can somebody listen there? */
function free(port) {
  return new Promise((done) => {
    const server = createServer();
    server.unref();
    server.once("error", (e) => done(e.code !== "EADDRINUSE"));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => done(true)));
  });
}

export class Sidecar {
  #options;
  #child;
  #gone = Promise.resolve();
  #failures = 0;
  #timer;
  #stopped = false;
  #stopping;
  /** "idle", "starting", "up", "waiting" (to start again) or "stopped". */
  state = "idle";
  /** Why it isn't up, if it isn't. */
  problem;

  constructor(options) {
    this.#options = { healthTimeout: 30_000, stopTimeout: 60_000, firstBackoff: 250, ...options };
    this.url = `http://127.0.0.1:${this.#options.port}`;
  }

  get pid() {
    return this.#child?.pid;
  }

  /** Of a program that couldn't be started there is no process, and `kill` would take this one's group for it. */
  signal(signal) {
    if (this.#child?.pid) this.#child.kill(signal);
  }

  /** Starts it, unless it was, and waits until it is healthy. */
  async ready(signal) {
    if (this.#stopped) throw new Error("the sidecar was stopped");
    if (this.state === "idle") {
      remember(this);
      this.#start();
    }
    const end = Date.now() + this.#options.healthTimeout;
    for (let n = 0; ; n += 1) {
      signal?.throwIfAborted();
      const child = this.#child;
      if (child && (await this.#healthy(signal)) && child === this.#child) {
        this.state = "up";
        this.problem = undefined;
        return;
      }
      if (this.#stopped) throw new Error("the sidecar was stopped");
      if (Date.now() > end) {
        throw new Error(`RALPH isn't up after ${this.#options.healthTimeout / 1000} s: ${this.problem ?? "no answer"}`);
      }
      await pause(backoff(Math.min(n, 4), 20, 250), undefined, { signal });
    }
  }

  /** Ends it: SIGTERM, so that its runs stand in good order; SIGKILL if that takes too long. */
  stop() {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop() {
    this.#stopped = true;
    this.state = "stopped";
    clearTimeout(this.#timer);
    this.#child?.ref();
    this.signal("SIGTERM");
    const late = setTimeout(() => this.signal("SIGKILL"), this.#options.stopTimeout);
    await this.#gone;
    clearTimeout(late);
    forget(this);
  }

  async #healthy(signal) {
    const limit = AbortSignal.timeout(2_000);
    try {
      const answer = await fetch(`${this.url}/healthz`, {
        redirect: "manual",
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      await answer.arrayBuffer();
      return answer.ok;
    } catch {
      return false;
    }
  }

  async #start() {
    const { command, args, logPath, cwd, env, port, after } = this.#options;
    this.state = "starting";
    this.problem = "the one before it is still ending";
    await after;
    if (this.#stopped) return;
    this.problem = undefined;
    const began = Date.now();
    // Whoever listens there would be taken for it, and be shown the token.
    if (!(await free(port))) return this.#ended(`something else listens on 127.0.0.1:${port}`, began);
    if (this.#stopped) return;
    let log;
    let child;
    try {
      mkdirSync(dirname(logPath), { recursive: true });
      log = openSync(logPath, "a", 0o600);
      child = spawn(command, args, { cwd, env, stdio: ["ignore", log, log] });
    } catch (e) {
      this.#ended(String(e), began);
      return;
    } finally {
      if (log !== undefined) closeSync(log);
    }
    // A program that has nothing else to do may end, and the sidecar with it.
    child.unref();
    this.#child = child;
    this.#gone = new Promise((gone) => {
      // Where the program can't be started there is no exit.
      let over = false;
      const ended = (why) => {
        if (over) return;
        over = true;
        gone();
        this.#ended(why, began);
      };
      child.once("error", (e) => ended(String(e)));
      child.once("exit", (code, signal) => ended(`it ended with ${signal ?? `code ${code}`}; ${logPath} says more`));
    });
  }

  #ended(why, began) {
    this.#child = undefined;
    if (this.#stopped) return;
    this.problem = why;
    this.state = "waiting";
    if (Date.now() - began > WELL) this.#failures = 0;
    const wait = backoff(this.#failures, this.#options.firstBackoff);
    this.#failures += 1;
    this.#timer = setTimeout(() => this.#start(), wait);
    this.#timer.unref();
    this.#options.onRestart?.({ why, wait });
  }
}
