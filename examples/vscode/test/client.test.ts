import assert from "node:assert/strict";
import { test } from "node:test";

import { Backoff } from "../src/backoff";
import { BridgeEvent, Client, NoAnswer, RpcError } from "../src/client";
import { Frames } from "../src/frames";

function client(timeoutMs = 5_000): {
  client: Client;
  sent: { id: number; method: string; params: unknown }[];
  events: BridgeEvent[];
  noise: string[];
  say: (message: unknown) => void;
} {
  const sent: { id: number; method: string; params: unknown }[] = [];
  const events: BridgeEvent[] = [];
  const noise: string[] = [];
  const made = new Client({
    write: (line) => sent.push(JSON.parse(line)),
    onEvent: (event) => events.push(event),
    onNoise: (line) => noise.push(line),
    timeoutMs,
  });
  const say = (message: unknown): void => made.receive(Buffer.from(`${JSON.stringify(message)}\n`));
  return { client: made, sent, events, noise, say };
}

test("lines are the same wherever the stream is cut", () => {
  const stream = Buffer.from('{"a":"\u2028ä\u0085🦀"}\r\n\n  \n{"b":1}\n{"c"');
  const wanted = ['{"a":"\u2028ä\u0085🦀"}', '{"b":1}'];
  for (let size = 1; size <= stream.length; size += 1) {
    const frames = new Frames();
    const lines: string[] = [];
    for (let at = 0; at < stream.length; at += size) {
      lines.push(...frames.push(stream.subarray(at, at + size)));
    }
    assert.deepEqual(lines, wanted, `in pieces of ${size}`);
    assert.deepEqual(frames.push(Buffer.from(":2}\n")), ['{"c":2}']);
  }
});

test("a line without an end is not kept for ever", () => {
  const frames = new Frames(10);
  assert.deepEqual(frames.push(Buffer.from("12345\n67890")), ["12345"]);
  assert.throws(() => frames.push(Buffer.from("123456")), /more than 10 bytes/);
});

test("answers find their requests in any order, and events come between", async () => {
  const { client: c, sent, events, say } = client();
  const [first, second] = [c.request("status"), c.request("run", { agent: "a" })];
  assert.deepEqual(
    sent.map((r) => r.method),
    ["status", "run"],
  );
  assert.deepEqual(sent[1]?.params, { agent: "a" });
  say({ jsonrpc: "2.0", id: sent[1]?.id, result: { runId: "r" } });
  say({ jsonrpc: "2.0", method: "event", params: { type: "run_started", runId: "r" } });
  say({ jsonrpc: "2.0", id: sent[0]?.id, result: { done: 1 } });
  assert.deepEqual(await second, { runId: "r" });
  assert.deepEqual(await first, { done: 1 });
  assert.equal(events[0]?.type, "run_started");
});

test("an error is its request's, with its code and kind", async () => {
  const { client: c, sent, say } = client();
  const asked = c.request("run");
  const error = { code: -32603, message: "not accepted", data: { kind: "untrusted" } };
  say({ jsonrpc: "2.0", id: sent[0]?.id, error });
  await assert.rejects(asked, (e) => e instanceof RpcError && e.code === -32603 && e.kind === "untrusted");
});

test("what isn't the protocol's is told and harms nothing", async () => {
  const { client: c, sent, noise, say } = client();
  const asked = c.request("ping");
  c.receive(Buffer.from("warning: something\n[1]\nnull\n"));
  say({ jsonrpc: "2.0", id: 99, result: 1 });
  say({ jsonrpc: "2.0", id: sent[0]?.id, result: { ok: true } });
  assert.deepEqual(await asked, { ok: true });
  assert.equal(noise.length, 4);
});

test("a request times out alone, and its late answer is nobody's", async () => {
  const { client: c, sent, noise, say } = client(20);
  const patient = c.request("step", {}, 0);
  await assert.rejects(c.request("status"), (e) => e instanceof NoAnswer && /`status`/.test(e.message));
  say({ jsonrpc: "2.0", id: sent[1]?.id, result: {} });
  say({ jsonrpc: "2.0", id: sent[0]?.id, result: { iteration: 1 } });
  assert.deepEqual(await patient, { iteration: 1 });
  assert.deepEqual(noise, []);
});

test("at the end all who wait are told why, and who asks then too", async () => {
  const { client: c } = client();
  const asked = [c.request("status"), c.request("step", {}, 0)];
  c.close(new NoAnswer("it died"));
  for (const one of [...asked, c.request("ping")]) {
    await assert.rejects(one, /it died/);
  }
});

test("what dies again and again waits longer each time, to a limit", () => {
  const backoff = new Backoff();
  const waits = Array.from({ length: 9 }, () => {
    backoff.died(5, 1000);
    return backoff.left(1000);
  });
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60].map((s) => s * 1000));
  assert.equal(backoff.left(1000 + 59_000), 1000);
  backoff.died(120_000, 0);
  assert.equal(backoff.left(0), 1000);
});
