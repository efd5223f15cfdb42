// A `ralph serve` of one's own: started, waited for, started again when it dies, ended with this process.

import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

/** What a wait between two attempts is at most, in milliseconds. */
export const BACKOFF_MAX = 30_000;

/** How long to wait before the attempt after `failures` that failed in a row. */
export function backoff(failures, first = 250, most = BACKOFF_MAX) {
  return Math.min(most, first * 2 ** Math.min(failures, 30));
}

/** Alive so long, it counts as well: what comes after is the first failure again. */
const WELL = 60_000;

export class Sidecar {
  #options;
  #child;
  #failures = 0;
  #timer;
  #stopped = false;
  #atExit = () => this.#child?.kill("SIGKILL");
  /** "idle", "starting", "up", "waiting" (to start again) or "stopped". */
  state = "idle";
  /** Why it isn't up, if it isn't. */
  problem;

  constructor(options) {
    this.#options = { healthTimeout: 30_000, firstBackoff: 250, ...options };
    this.url = `http://127.0.0.1:${this.#options.port}`;
  }

  get pid() {
    return this.#child?.pid;
  }

  /** Starts it, unless it was, and waits until it is healthy. */
  async ready(signal) {
    if (this.#stopped) throw new Error("the sidecar was stopped");
    if (this.state === "idle") {
      process.once("exit", this.#atExit);
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

  /** Ends it: SIGTERM, so that its runs stand in good order. */
  async stop() {
    this.#stopped = true;
    this.state = "stopped";
    clearTimeout(this.#timer);
    process.removeListener("exit", this.#atExit);
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    child.kill("SIGTERM");
    await gone;
  }

  async #healthy(signal) {
    const limit = AbortSignal.timeout(2_000);
    try {
      const answer = await fetch(`${this.url}/healthz`, {
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
      });
      await answer.arrayBuffer();
      return answer.ok;
    } catch {
      return false;
    }
  }

  #start() {
    const { command, args, logPath, cwd, env } = this.#options;
    this.state = "starting";
    const began = Date.now();
    let log;
    try {
      mkdirSync(dirname(logPath), { recursive: true });
      log = openSync(logPath, "a", 0o600);
      this.#child = spawn(command, args, { cwd, env, stdio: ["ignore", log, log] });
    } catch (e) {
      this.#ended(String(e), began);
      return;
    } finally {
      if (log !== undefined) closeSync(log);
    }
    // Where the program can't be started there is no exit.
    let over = false;
    const ended = (why) => {
      if (!over) this.#ended(why, began);
      over = true;
    };
    this.#child.once("error", (e) => ended(String(e)));
    this.#child.once("exit", (code, signal) => ended(`it ended with ${signal ?? `code ${code}`}; ${logPath} says more`));
  }

  #ended(why, began) {
    this.#child = undefined;
    if (this.#stopped) return;
    this.problem = why;
    this.state = "waiting";
    if (Date.now() - began > WELL) this.#failures = 0;
    const wait = backoff(this.#failures, this.#options.firstBackoff);
    this.#failures += 1;
    this.#options.onRestart?.({ why, wait });
    this.#timer = setTimeout(() => this.#start(), wait);
    this.#timer.unref();
  }
}
