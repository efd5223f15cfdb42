// A run's events, over broken connections.

import { setTimeout as pause } from "node:timers/promises";

import { BACKOFF_MAX, backoff } from "./backoff.js";
import { refused } from "./error.js";
import { Events } from "./sse.js";

/** What another attempt on a new connection might mend. */
class Broken extends Error {}

/**
 * The events that `ask` gets, from behind `last` on, to `terminal`. `ask(last, attempt)` has an `answer`, or
 * the `error` by which the service couldn't be reached; it throws what another attempt wouldn't mend.
 */
export async function* follow(ask, { last, signal, idle, patience }) {
  let [failures, first] = [0, 250];
  // Since when nothing was heard of the service.
  let away;
  for (;;) {
    signal?.throwIfAborted();
    // One of its own for each connection: a signal that lives long keeps nothing of those that are over.
    const attempt = new AbortController();
    const abort = () => attempt.abort(signal.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const parser = new Events();
    let wait = 0;
    try {
      const answer = await reached(ask(last, attempt));
      if (answer.status === 204) return;
      if (!answer.ok) {
        const timer = setTimeout(() => attempt.abort(), idle);
        const error = await refused(answer).finally(() => clearTimeout(timer));
        if (!error.retryable) throw error;
        wait = error.retryAfter ?? 0;
        throw new Broken(error.message, { cause: error });
      }
      const kind = answer.headers.get("content-type") ?? "";
      if (!/^text\/event-stream\s*(;|$)/i.test(kind)) {
        throw new Error(`the answer is no stream of events: its type is "${kind}"`);
      }
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      for await (const chunk of chunks(answer.body, attempt, idle)) {
        away = undefined;
        for (const event of parser.push(decoder.decode(chunk, { stream: true }))) {
          failures = 0;
          if (event.id) last = event.id;
          yield { ...JSON.parse(event.data), event_id: event.id, type: event.event };
          if (event.event === "terminal") return;
        }
      }
      throw new Broken("the connection ended");
    } catch (e) {
      signal?.throwIfAborted();
      if (!(e instanceof Broken)) throw e;
      away ??= Date.now();
      const left = patience - (Date.now() - away);
      if (left <= 0) throw e.cause ?? e;
      first = Math.min(parser.retry ?? first, BACKOFF_MAX);
      wait = Math.min(Math.max(wait, backoff(failures, first)), BACKOFF_MAX, left);
      failures += 1;
    } finally {
      signal?.removeEventListener("abort", abort);
      attempt.abort();
    }
    try {
      await pause(wait, undefined, { signal });
    } catch (e) {
      signal?.throwIfAborted();
      throw e;
    }
  }
}

async function reached(asked) {
  const { answer, error } = await asked;
  if (!answer) throw new Broken(error.message, { cause: error });
  return answer;
}

/** The pieces of a body. One that doesn't come in time breaks the connection. */
async function* chunks(body, attempt, idle) {
  const reader = body.getReader();
  const late = () => attempt.abort(new Error(`nothing came for ${idle / 1000} s`));
  try {
    for (;;) {
      const timer = setTimeout(late, idle);
      let read;
      try {
        read = await reader.read();
      } catch (e) {
        throw new Broken(e.message, { cause: e });
      } finally {
        clearTimeout(timer);
      }
      if (read.done) return;
      yield read.value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
