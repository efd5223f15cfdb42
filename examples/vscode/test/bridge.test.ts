import assert from "node:assert/strict";
import { test } from "node:test";

import { Bridge, End, LIMITS, Limits, StartError } from "../src/bridge";
import { BridgeEvent } from "../src/client";
import { LIMIT_MS, Project, RALPH, WAITING, lives, until } from "./project";

/** A bridge that writes what it gets, and what comes of it. */
async function begin(
  command: string,
  cwd: string,
  limits: Partial<Limits> = {},
): Promise<{ bridge: Bridge; events: BridgeEvent[]; log: string[]; end: Promise<End> }> {
  const events: BridgeEvent[] = [];
  const log: string[] = [];
  let ended: (end: End) => void;
  const end = new Promise<End>((resolve) => (ended = resolve));
  const listener = {
    event: (event: BridgeEvent) => events.push(event),
    ended: (how: End) => ended(how),
    log: (line: string) => log.push(line),
  };
  const bridge = await Bridge.start({ command, cwd }, listener, { ...LIMITS, ...limits });
  return { bridge, events, log, end };
}

const STARTED = `say({ jsonrpc: "2.0", method: "event", params: { type: "bridge_started" } });`;
const FAKE = `const say = (m) => process.stdout.write(JSON.stringify(m) + "\\n");\n`;

test("a program that isn't there, can't run, ends at once or says nothing is told of", async () => {
  const p = new Project();
  const kinds = async (command: string, limits: Partial<Limits> = {}): Promise<StartError> =>
    await begin(command, p.root, limits).then(
      () => assert.fail("it has started"),
      (e) => e,
    );
  const missing = await kinds("no-such-ralph");
  assert.equal(missing.kind, "missing");
  assert.match(missing.message, /no-such-ralph.*ralph\.command/);
  assert.equal((await kinds(`${p.root}/PRD.md`)).kind, "refused");
  const died = await kinds(p.script("died", `console.error("no good"); process.exit(3);`));
  assert.equal(died.kind, "died");
  assert.match(died.message, /exit code 3.*no good/);
  const silent = p.script("silent", `process.stdin.resume();`);
  assert.equal((await kinds(silent, { start: 200, stop: 10 })).kind, "silent");
  const nowhere = await begin(RALPH, `${p.root}/nowhere`).catch((e) => e);
  assert.match(nowhere.message, /no folder/);
});

test("words of a shell in the command's name mean nothing", async () => {
  const p = new Project();
  const e = await begin(`${RALPH} bridge; touch ran`, p.root).catch((e) => e);
  assert.equal(e.kind, "missing");
  assert.equal(p.git("status", "--porcelain"), "");
});

test("the real bridge answers, runs, and ends in order with its agent", async () => {
  const p = new Project(WAITING);
  const { bridge, events, end } = await begin(RALPH, p.root);
  const ping = (await bridge.client.request("ping")) as { ok: boolean; cwd: string };
  assert.equal(ping.ok, true);
  assert.equal(ping.cwd, p.root);
  await bridge.client.request("run", { maxIterations: 1 });
  await p.here();
  await bridge.stop();
  const how = await end;
  assert.equal(how.wanted, true);
  assert.equal(how.code, 0);
  assert.deepEqual(
    events.slice(-3).map((e) => e.type),
    ["iteration_finished", "run_stopped", "bridge_stopped"],
  );
  await assert.rejects(bridge.client.request("ping"), /has ended/);
  await bridge.stop();
});

test("one that hears neither `stop` nor end of file gets SIGTERM, at last SIGKILL", async () => {
  const p = new Project();
  const deaf = `${FAKE}process.stdin.resume(); setInterval(() => {}, 1e6);
let asked = "";
process.stdin.on("data", (d) => (asked += d));
process.stdin.on("end", () => console.error("eof after " + JSON.parse(asked).method));
process.on("SIGTERM", () => { console.error("term"); if (process.argv[1].endsWith("soft")) process.exit(0); });
${STARTED}`;
  for (const [name, signal] of [
    ["soft", null],
    ["hard", "SIGKILL"],
  ] as const) {
    const { bridge, log, end } = await begin(p.script(name, deaf), p.root, {
      stop: 100,
      eof: 500,
      term: 500,
    });
    await bridge.stop();
    const how = await end;
    assert.equal(how.signal, signal);
    assert.deepEqual(log.join("\n").split("\n"), ["eof after stop", "term"]);
    assert.equal(lives(bridge.pid ?? 0), false);
  }
});

test("one that is killed is told of, and who waits for an answer too", async () => {
  const p = new Project(WAITING);
  const { bridge, end } = await begin(RALPH, p.root);
  const step = bridge.client.request("step", {}, 0);
  await p.here();
  process.kill(bridge.pid ?? 0, "SIGKILL");
  await assert.rejects(step, /SIGKILL/);
  const how = await end;
  assert.deepEqual([how.wanted, how.signal], [false, "SIGKILL"]);
});

test("frames that are cut anywhere, and a line that never ends", { timeout: LIMIT_MS }, async () => {
  const p = new Project();
  const cut = p.script(
    "cut",
    `const all = Buffer.from('{"jsonrpc":"2.0","method":"event","params":{"type":"bridge_started","x":"äöü🦀"}}\\n');
let at = 0;
const next = () => { if (at < all.length) process.stdout.write(all.subarray(at, ++at), next); };
next();
process.stdin.resume().on("end", () => process.exit(0));`,
  );
  const { bridge, events, log } = await begin(cut, p.root, { stop: 10 });
  assert.equal(events[0]?.data["x"], "äöü🦀");
  assert.deepEqual(log, []);
  await bridge.stop();
  const flood = p.script(
    "flood",
    `${FAKE}${STARTED}\nconst piece = "x".repeat(1 << 20);
const more = () => process.stdout.write(piece, more);\nmore();`,
  );
  const other = await begin(flood, p.root);
  const how = await other.end;
  assert.equal(how.wanted, false);
  await until(() => other.log.some((line) => line.includes("more than")));
});
