import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";

import { Events } from "../index.js";
import { json, service, stream, until } from "./service.js";

/** All of them, or why not. */
async function all(events) {
  const got = [];
  for await (const event of events) got.push(event);
  return got;
}

const END = "id: 9\nevent: terminal\ndata: {}\n\n";

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
  assert.equal(asked[0].headers["accept-encoding"], "identity");
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

test("an event is given as soon as its last line ends", () => {
  for (const end of ["\n\n", "\r\r", "\r\n\r"]) {
    assert.equal([...new Events().push(`data: x${end}`)].length, 1, JSON.stringify(end));
  }
  assert.deepEqual([...new Events().push("\ufeff\ufeffdata: x\n\n")], [], "one of them is the byte order mark");
  const parser = new Events();
  for (const text of ["retry: x\n", "retry: 70\n", "retry:\nretry: -1\n"]) [...parser.push(text)];
  assert.equal(parser.retry, 70);
});

test("an event that never ends isn't kept, and a comment of any length is passed over", () => {
  for (const start of ["data: ", "x", "event: ", "data: x\ndata: "]) {
    const parser = new Events(100_000);
    [...parser.push(start)];
    const piece = "x".repeat(10_000);
    assert.throws(() => {
      for (let n = 0; n < 11; n += 1) [...parser.push(piece)];
    }, /longer than 100000/, start);
  }
  assert.throws(() => [...new Events(1000).push("data\n".repeat(2000))], /longer/);
  const parser = new Events(1000);
  [...parser.push("data: x\n: ")];
  for (let n = 0; n < 100; n += 1) [...parser.push("x".repeat(10_000))];
  assert.equal([...parser.push("\n\n")][0].data, "x");
});

test("an endless event ends the stream, and the connection", async () => {
  let closed = false;
  const { client, asked } = await service((_, response) => {
    stream(response);
    response.write("data: ");
    const piece = "x".repeat(1 << 16);
    const more = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on("drain", more);
    response.on("close", () => (closed = true));
    more();
  });
  await assert.rejects(client.streamEvents("r").next(), /an event is longer than 4194304/);
  await until(() => closed);
  assert.equal(asked.length, 1);
});

test("nothing is left at a signal that lives long", async () => {
  const { client } = await service((_, response, n) => {
    stream(response);
    if (n > 4) response.end(END);
    else {
      response.write(`retry: 1\nid: ${n}\nevent: node\ndata: {}\n\n`);
      setImmediate(() => response.destroy());
    }
  });
  const { signal } = new AbortController();
  let most = 0;
  for await (const _ of client.streamEvents("r", signal)) {
    most = Math.max(most, getEventListeners(signal, "abort").length);
  }
  await client.getRun("r", { signal }).catch(() => {});
  assert.deepEqual([most, getEventListeners(signal, "abort").length], [1, 0]);
});

test("who turns away closes the connection", async () => {
  let closed = 0;
  const { client } = await service((_, response) => {
    response.on("close", () => (closed += 1));
    stream(response);
    response.write("id: 1\nevent: start\ndata: {}\n\n");
  });
  for await (const _ of client.streamEvents("r")) break;
  await until(() => closed === 1);
  const proxied = await client.proxyEvents("r");
  const reader = proxied.body.getReader();
  await reader.read();
  await reader.cancel();
  await until(() => closed === 2);
});

test("what another attempt wouldn't mend ends the stream", async () => {
  const answers = {
    html: (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Log in"),
    untyped: (response) => response.writeHead(200).end("data: {}\n\n"),
    garbage: (response) => stream(response).end("event: node\ndata: {\n\n"),
    refused: (response) => json(response, 401, {}),
  };
  const { client, asked } = await service((request, response) => answers[request.url.split("/")[3]](response));
  await assert.rejects(all(client.streamEvents("html")), /no stream of events: its type is "text\/html"/);
  await assert.rejects(all(client.streamEvents("untyped")), /no stream of events/);
  await assert.rejects(all(client.streamEvents("garbage")), SyntaxError);
  await assert.rejects(all(client.streamEvents("refused")), { status: 401 });
  assert.equal(asked.length, 4);
});

test("who has all is told so", async () => {
  const { client, asked } = await service((_, response) => response.writeHead(204).end());
  assert.deepEqual(await all(client.streamEvents("r", undefined, { lastEventId: "9" })), []);
  assert.equal(asked.length, 1);
  assert.equal((await client.proxyEvents("r")).status, 204);
});

test("a service that stays away is an error in the end, and a token that can't be had at once", async () => {
  const busy = await service((_, response) => json(response, 503, { detail: "draining" }), { patience: 400 });
  await assert.rejects(all(busy.client.streamEvents("r")), { status: 503, message: "draining" });
  assert.ok(busy.asked.length > 1);
  const { client, end } = await service(() => {}, { patience: 0 });
  end();
  await assert.rejects(all(client.streamEvents("r")), { name: "TypeError" });
  const token = async () => {
    throw new Error("the vault is sealed");
  };
  const sealed = await service((_, response) => stream(response).end(END), { token });
  await assert.rejects(all(sealed.client.streamEvents("r")), /the vault is sealed/);
});

test("a reader that takes its time isn't a service that is away", async () => {
  const handle = (_, response, n) => {
    if (n === 1) {
      stream(response).write("id: 1\nevent: start\ndata: {}\n\n");
      setImmediate(() => response.destroy());
    } else stream(response).end(END);
  };
  const { client } = await service(handle, { patience: 50 });
  const events = client.streamEvents("r");
  await events.next();
  await new Promise((done) => setTimeout(done, 100));
  assert.equal((await events.next()).value.type, "terminal");
});

test("a connection on which nothing comes is a broken one", async () => {
  const handle = (_, response, n) => {
    if (n === 1) stream(response).write("retry: 1\nid: 1\nevent: start\ndata: {}\n\n");
    if (n === 3) stream(response).end(END);
  };
  const { client, asked } = await service(handle, { idleTimeout: 100, timeout: 100 });
  assert.deepEqual((await all(client.streamEvents("r"))).map((e) => e.event_id), ["1", "9"]);
  assert.deepEqual(asked.map((a) => a.headers["last-event-id"]), [undefined, "1", "1"]);
});

test("an abort while it waits ends it with the caller's reason", async () => {
  const stop = new AbortController();
  const { client } = await service((_, response) => {
    response.writeHead(429, { "retry-after": "30" });
    response.end();
    setTimeout(() => stop.abort(new Error("enough")), 50);
  });
  await assert.rejects(all(client.streamEvents("r", stop.signal)), /enough/);
});
