import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { getRalphClient } from "../index.js";
import { json, port, service, until } from "./service.js";

/** A program that serves at the port it is given, and says when it began and ended. */
function fake(dir) {
  const script = join(dir, "serve.mjs");
  writeFileSync(
    script,
    `import { createServer } from "node:http";
     console.log("began");
     const server = createServer((request, response) => {
       if (request.url === "/v1/runs/die") process.exit(7);
       response.setHeader("content-type", "application/json");
       response.end(JSON.stringify({ pid: process.pid }));
     });
     server.listen(Number(process.argv[2]), "127.0.0.1");
     process.on("SIGTERM", () => { console.log("ended"); process.exit(0); });`,
  );
  return script;
}

function gone(pid) {
  try {
    process.kill(pid, 0);
    return false;
  } catch (e) {
    return e.code === "ESRCH";
  }
}

test("a sidecar is started, waited for, started again when it dies, and ended", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
  const script = fake(dir);
  const log = join(dir, "logs", "sidecar.log");
  const at = String(await port());
  const restarts = [];
  const client = getRalphClient({
    env: { ...process.env, RALPH_TRANSPORT: "", RALPH_SIDECAR_PORT: at, RALPH_SIDECAR_LOG_PATH: log },
    command: process.execPath,
    args: [script, at],
    onRestart: (what) => restarts.push(what),
  });
  const first = await client.getRun("a");
  assert.equal((await client.getRun("b")).pid, first.pid);
  await assert.rejects(client.getRun("die"));
  const second = await client.getRun("c");
  assert.notEqual(second.pid, first.pid);
  assert.equal(restarts.length, 1);
  assert.match(restarts[0].why, /code 7/);
  await client.close();
  assert.throws(() => process.kill(second.pid, 0), { code: "ESRCH" });
  assert.equal(readFileSync(log, "utf8"), "began\nbegan\nended\n");
  await assert.rejects(client.getRun("d"), /the client is closed/);
});

test("a sidecar that doesn't come up is an error that says why", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
  const client = getRalphClient({
    env: { RALPH_SIDECAR_PORT: String(await port()), RALPH_SIDECAR_LOG_PATH: join(dir, "log") },
    command: join(dir, "nothing"),
    healthTimeout: 300,
  });
  await assert.rejects(client.getRun("a"), /isn't up after 0.3 s: .*ENOENT/);
  await client.close();
});

test("what is ended while its program can't be started does no harm, and streams end with it", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
  const client = getRalphClient({
    env: { RALPH_SIDECAR_PORT: String(await port()), RALPH_SIDECAR_LOG_PATH: join(dir, "log") },
    command: join(dir, "nothing"),
  });
  const asked = assert.rejects(client.getRun("a"), /stopped/);
  await client.close();
  await asked;
  await assert.rejects(client.streamEvents("a").next(), /the client is closed/);
});

test("who listens at its port already isn't shown the token", async () => {
  const stranger = await service((_, response) => json(response, 200, {}));
  const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
  const at = new URL(stranger.url).port;
  const client = getRalphClient({
    env: { ...process.env, RALPH_TRANSPORT: "", RALPH_SIDECAR_PORT: at, RALPH_SIDECAR_LOG_PATH: join(dir, "log") },
    command: process.execPath,
    args: [fake(dir), at],
    token: "s3cret",
    healthTimeout: 500,
  });
  await assert.rejects(client.getRun("a"), new RegExp(`something else listens on 127.0.0.1:${at}`));
  await client.close();
  assert.deepEqual(stranger.asked, []);
});

test("whoever asks for it twice has the same one, until the last has closed it", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
  const [log, at] = [join(dir, "log"), String(await port())];
  const env = { ...process.env, RALPH_TRANSPORT: "", RALPH_SIDECAR_PORT: at, RALPH_SIDECAR_LOG_PATH: log };
  const restarts = [];
  const options = { env, command: process.execPath, args: [fake(dir), at] };
  const first = getRalphClient({ ...options, onRestart: () => restarts.push("first") });
  // As a development server does that loads its modules anew.
  cpSync(new URL("..", import.meta.url), join(dir, "copy"), { recursive: true });
  const again = await import(pathToFileURL(join(dir, "copy", "index.js")).href);
  assert.notEqual(again.getRalphClient, getRalphClient);
  const second = again.getRalphClient({ ...options, onRestart: () => restarts.push("second") });
  const [one, two] = await Promise.all([first.getRun("a"), second.getRun("a")]);
  assert.equal(one.pid, two.pid);
  assert.throws(() => getRalphClient({ ...options, args: ["x"] }), /started in another way/);
  await first.close();
  await first.close();
  await assert.rejects(first.ping(), /the client is closed/);
  await assert.rejects(second.getRun("die"));
  assert.notEqual((await second.getRun("b")).pid, one.pid);
  assert.deepEqual(restarts, ["second"]);
  // One that comes while the former one ends waits for that, and is another one.
  const closed = second.close();
  const third = getRalphClient(options);
  const { pid } = await third.getRun("c");
  await closed;
  await third.close();
  assert.ok(gone(pid));
  assert.equal(readFileSync(log, "utf8"), "began\nbegan\nended\nbegan\nended\n");
});

test("one that doesn't end is killed", async () => {
  const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
  const script = fake(dir);
  writeFileSync(script, readFileSync(script, "utf8").replace("process.exit(0)", ""));
  const at = String(await port());
  const client = getRalphClient({
    env: { ...process.env, RALPH_TRANSPORT: "", RALPH_SIDECAR_PORT: at, RALPH_SIDECAR_LOG_PATH: join(dir, "log") },
    command: process.execPath,
    args: [script, at],
    stopTimeout: 100,
  });
  const { pid } = await client.getRun("a");
  await client.close();
  assert.ok(gone(pid));
  assert.equal(readFileSync(join(dir, "log"), "utf8"), "began\nended\n");
});

test("it ends with its program, however that ends", async () => {
  for (const end of ["", "SIGTERM", "SIGINT", "SIGHUP"]) {
    const dir = mkdtempSync(join(tmpdir(), "sidecar-"));
    const at = String(await port());
    const program = join(dir, "program.mjs");
    writeFileSync(
      program,
      `import { getRalphClient } from ${JSON.stringify(new URL("../index.js", import.meta.url).href)};
       const ralph = getRalphClient({ command: process.execPath, args: ${JSON.stringify([fake(dir), at])} });
       console.log((await ralph.getRun("a")).pid);
       ${end && "setInterval(() => {}, 1000);"}`,
    );
    const env = { ...process.env, RALPH_TRANSPORT: "", RALPH_SIDECAR_PORT: at, RALPH_SIDECAR_LOG_PATH: join(dir, "log") };
    const running = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
    const pid = Number(await new Promise((done) => running.stdout.once("data", done)));
    const ended = once(running, "exit");
    if (end) running.kill(end);
    assert.deepEqual(await ended, end ? [null, end] : [0, null]);
    await until(() => gone(pid));
    assert.equal(readFileSync(join(dir, "log"), "utf8"), "began\nended\n");
  }
});
