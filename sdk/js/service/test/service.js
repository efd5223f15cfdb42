// A service that a test answers for.

import { createServer } from "node:http";
import { after } from "node:test";

import { getRalphClient } from "../index.js";

/** A service that `handle` answers for, and a client of it. */
export async function service(handle, options = {}) {
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
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  after(end);
  const url = `http://127.0.0.1:${server.address().port}`;
  const env = { RALPH_TRANSPORT: "remote", RALPH_URL: url };
  return { asked, url, end, client: getRalphClient({ env, token: "t0k", ...options }) };
}

export const json = (response, status, value) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(value));
};

export const stream = (response) => response.writeHead(200, { "content-type": "text/event-stream" });

/** A port that was free a moment ago. */
export async function port() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Asked again and again until it holds. */
export async function until(holds) {
  const end = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`in vain: ${holds}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}
