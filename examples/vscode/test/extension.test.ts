import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { afterEach, test } from "node:test";

import { activate, deactivate } from "../src/extension";
import { Line } from "../src/lines";
import { Project, RALPH, WAITING, until } from "./project";
import { Diagnostic, Uri, stub } from "./stub/vscode";

const context = { subscriptions: [] as { dispose(): unknown }[] };

/** The extension in an editor with these folders open. */
function open(projects: Project[], command = RALPH): void {
  stub.folders = projects.map((p) => stub.folder(p.root));
  stub.settings = new Map([["command", command]]);
  stub.answers = [];
  stub.messages.length = 0;
  stub.executed.length = 0;
  stub.diagnostics.clear();
  activate(context as unknown as Parameters<typeof activate>[0]);
}

const run = async (command: string, ...args: unknown[]): Promise<unknown> =>
  await stub.commands.get(`ralph.${command}`)?.(...args);

/** A tree's lines. */
async function lines(view: string, of?: unknown): Promise<Line[]> {
  return (await stub.trees.get(`ralph.${view}`)?.getChildren(of)) as unknown as Line[];
}

const labels = (all: Line[]): unknown[] => all.map((line) => line.label);

/** The line of an iteration that has left this. */
async function left(iteration: number, label: string): Promise<Line> {
  const of = (await lines("iterations")).find((line) => line.node.iteration === iteration);
  const found = (await lines("iterations", of)).find((line) => line.label === label);
  assert.ok(found !== undefined, `no ${label}: ${labels(await lines("iterations", of))}`);
  return found;
}

const click = (line: Line): Promise<unknown> =>
  run("open", ...((line.command?.arguments ?? []) as unknown[]));

const told = (): string => stub.messages.map((m) => `${m.severity}: ${m.text}`).join("\n");

/** The project's bridges. */
function bridges(p: Project): number[] {
  const all = fs.readdirSync("/proc").filter((pid) => {
    try {
      const words = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      return words[1] === "bridge" && fs.readlinkSync(`/proc/${pid}/cwd`) === p.root;
    } catch {
      return false;
    }
  });
  return all.map(Number);
}

afterEach(async () => {
  await deactivate();
  for (const one of context.subscriptions.splice(0)) {
    one.dispose();
  }
});

test("each command of the package is there, and each that is there is the package's", () => {
  open([]);
  const file = path.join(__dirname, "../../package.json");
  const { contributes } = JSON.parse(fs.readFileSync(file, "utf8"));
  const named = contributes.commands.map((c: { command: string }) => c.command);
  const there = [...stub.commands.keys()].filter((name) => name !== "ralph.open");
  assert.deepEqual(there.sort(), named.sort());
  const views = contributes.views.ralph.map((v: { id: string }) => v.id);
  assert.deepEqual([...stub.trees.keys()].sort(), views.sort());
});

test("a run is seen from its start to its end, with what each iteration has left", async () => {
  const p = new Project();
  open([p]);
  assert.equal(stub.bar.visible, false);
  stub.answers = ["fake", "5"];
  await run("run");
  await until(() => stub.bar.text.includes("2/2") && stub.bar.tooltip.includes("last run: complete"));
  assert.deepEqual(labels(await lines("tasks")), ["First thing", "Second thing"]);
  const [first] = await lines("tasks");
  assert.deepEqual(labels(await lines("tasks", first)), ["it works"]);
  assert.deepEqual(labels(await lines("iterations")), ["#2 T2", "#1 T1"]);
  for (const label of ["Log", "Prompt", "Receipt"]) {
    await click(await left(1, label));
    const file = stub.opened.at(-1)?.file ?? "";
    assert.ok(file.startsWith(`${p.root}/.ralph/`) && fs.existsSync(file), file);
  }
  await click(await left(2, "work.txt"));
  const diff = stub.executed.find((one) => one.command === "vscode.diff");
  const [before, after] = (diff?.args ?? []) as Uri[];
  assert.ok(before !== undefined && after !== undefined);
  assert.equal(await stub.content?.(before), "work\n");
  assert.equal(await stub.content?.(after), "work\nwork\n");
  assert.equal(told(), "");
  await click((await lines("tasks"))[1] as Line);
  assert.deepEqual(stub.opened.at(-1), { file: `${p.root}/PRD.md`, line: 6 });
});

test("steps, pause, resume and stop do what they say", async () => {
  const p = new Project(WAITING);
  open([p]);
  await run("startBridge");
  assert.match(stub.bar.text, /0\/2 · next T1/);
  await run("pause");
  assert.match(told(), /no run to pause/);
  const step = run("step");
  await p.here();
  await until(() => stub.bar.text.includes("running · T1"));
  await p.go();
  await step;
  await until(() => stub.bar.text.includes("1/2 · next T2"));
  stub.answers = ["as configured", ""];
  await run("run");
  await p.here();
  await run("pause");
  await until(() => stub.bar.text.includes("paused"));
  await run("resume");
  await until(() => stub.bar.text.includes("running"));
  await run("stopRun");
  await run("stopRun");
  await until(() => stub.bar.tooltip.includes("last run: stopped"));
  assert.equal(bridges(p).length, 1);
  await run("stopBridge");
  assert.equal(bridges(p).length, 0);
  assert.equal(stub.bar.text, "$(circle-outline) ralph");
});

test("what a gate finds is shown where it is, until it is mended", async () => {
  const scope = `[[gates]]\nname = "scope"\nplugin = "diff-scope"\nconfig = { allow = ["good.txt"] }\n`;
  const p = new Project(
    `cat >/dev/null
if [ -e "$SIDE/again" ]; then rm -f bad.txt; echo x >>good.txt; else echo x >bad.txt; fi
: >"$SIDE/again"
echo 'EXIT_SIGNAL: true'`,
    scope,
  );
  open([p]);
  await run("step");
  const bad = `${p.root}/bad.txt`;
  await until(() => stub.diagnostics.has(bad));
  const [found] = stub.diagnostics.get(bad) as Diagnostic[];
  assert.equal(found?.source, "ralph: scope");
  assert.equal(found?.range.start.line, 0);
  // Nothing of it is committed: the diff is against what is there now.
  await click(await left(1, "bad.txt"));
  const diff = stub.executed.find((one) => one.command === "vscode.diff");
  assert.equal((diff?.args[1] as Uri).fsPath, bad);
  // Another editor's window sees it too.
  await deactivate();
  open([p]);
  await run("startBridge");
  assert.ok(stub.diagnostics.has(bad));
  await run("step");
  await until(() => stub.bar.text.includes("1/2"));
  assert.equal(stub.diagnostics.size, 0);
});

test("a project that wasn't accepted says what to do, and runs nothing", async () => {
  const p = new Project(WAITING, "", false);
  open([p]);
  stub.answers = ["Review"];
  await run("step");
  assert.match(told(), /warning: .*ralph trust/s);
  assert.deepEqual(stub.terminals.at(-1)?.shellArgs, ["trust"]);
  assert.equal(stub.terminals.at(-1)?.cwd, p.root);
  p.ralph("trust", "--yes");
  const step = run("step");
  await p.here();
  await p.go();
  await step;
  await until(() => stub.bar.text.includes("1/2"));
});

test("no bridge: the message says which setting; no project: which command", async () => {
  const p = new Project();
  open([p], "/no/such/ralph");
  await run("step");
  assert.match(told(), /error: There is no program `\/no\/such\/ralph`.*`ralph.command`/);
  assert.equal(stub.bar.text, "$(circle-outline) ralph");
  await deactivate();
  const other = new Project();
  fs.rmSync(path.join(other.root, "PRD.md"));
  open([other]);
  await run("step");
  assert.match(told(), /PRD\.md/);
});

test("a bridge that died is started again only if that is wanted", async () => {
  const p = new Project(WAITING);
  open([p]);
  await run("startBridge");
  const kill = async (): Promise<void> => {
    for (const pid of bridges(p)) {
      process.kill(pid, "SIGKILL");
    }
    await until(() => stub.messages.some((m) => m.actions.includes("Restart")));
  };
  await kill();
  assert.match(told(), /has ended by itself \(SIGKILL\)/);
  assert.match(stub.bar.text, /bridge died/);
  assert.equal(bridges(p).length, 0);
  await run("startBridge");
  stub.messages.length = 0;
  stub.answers = ["Restart"];
  await kill();
  await until(() => stub.bar.text.includes("0/2"));
  assert.equal(bridges(p).length, 1);
});

test("several folders have each a bridge; one that is closed loses its own", async () => {
  const [a, b] = [new Project(), new Project(WAITING)];
  open([a, b]);
  for (const p of [a, b]) {
    stub.answers = [path.basename(p.root)];
    await run("startBridge");
  }
  assert.deepEqual([bridges(a).length, bridges(b).length], [1, 1]);
  const roots = await lines("tasks");
  assert.deepEqual(labels(roots), [path.basename(a.root), path.basename(b.root)]);
  // A command on a line is its folder's.
  await run("step", roots[0]);
  await until(async () => (await lines("iterations", (await lines("iterations"))[0])).length === 1);
  const step = run("step", roots[1]);
  await b.here();
  stub.foldersChanged.fire({ removed: [stub.folders[1] as never], added: [] });
  await step;
  await until(() => bridges(b).length === 0);
  assert.equal(bridges(a).length, 1);
  assert.equal((await lines("tasks")).length, 2);
  await deactivate();
  assert.equal(bridges(a).length, 0);
});
