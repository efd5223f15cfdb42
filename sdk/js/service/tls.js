// A `fetch` that shows a certificate: the global one takes none without a dependency.

import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { Readable } from "node:stream";

/** An answer with one of these has no body. */
const EMPTY = [204, 205, 304];

/** What of `fetch` a client uses, over TLS with these files (PEM). No redirect is followed. */
export function certified({ cert, key, ca }) {
  const read = (path) => (path ? readFileSync(path) : undefined);
  // A connection for each request: none is used again at the moment that the service closes it.
  const agent = new Agent({ cert: read(cert), key: read(key), ca: read(ca), keepAlive: false });
  return (url, { method = "GET", headers, body, signal } = {}) =>
    new Promise((answered, failed) => {
      signal?.throwIfAborted();
      const sent = Object.fromEntries(new Headers(headers));
      if (body !== undefined) sent["content-length"] = String(Buffer.byteLength(body));
      const asked = request(url, { agent, method, headers: sent, signal });
      // Once it was answered, the body says the same.
      asked.on("error", (e) => failed(signal?.aborted ? signal.reason : e));
      asked.once("response", (message) => {
        const kept = new Headers();
        for (let n = 0; n < message.rawHeaders.length; n += 2) {
          kept.append(message.rawHeaders[n], message.rawHeaders[n + 1]);
        }
        const status = message.statusCode;
        message.on("error", () => {});
        if (EMPTY.includes(status)) message.resume();
        const content = EMPTY.includes(status) ? null : Readable.toWeb(message);
        try {
          answered(new Response(content, { status, headers: kept }));
        } catch (e) {
          message.destroy();
          failed(e);
        }
      });
      asked.end(body);
    });
}

/** The one that the environment asks for, if it asks for one. */
export function ofEnvironment(env, url) {
  const on = env.RALPH_MTLS === "1";
  if (!on && !env.RALPH_MTLS_CA) return undefined;
  const need = (name) => {
    if (!env[name]) throw new Error(`RALPH_MTLS=1 needs ${name}, or a fetch that shows the certificate: getRalphClient({ fetch })`);
    return env[name];
  };
  const files = on ? { cert: need("RALPH_MTLS_CERT"), key: need("RALPH_MTLS_KEY") } : {};
  if (!/^https:/i.test(url ?? "")) {
    throw new Error(`${on ? "RALPH_MTLS=1" : "RALPH_MTLS_CA"} needs a RALPH_URL that begins with https://`);
  }
  return certified({ ...files, ca: env.RALPH_MTLS_CA });
}
