import assert from "node:assert/strict";
import { test } from "node:test";

import { Details } from "../src/cli";
import { Findings, below } from "../src/findings";
import { apply, bar, empty, gone, readStatus } from "../src/model";
import { detailNodes, iterationNodes, taskNodes } from "../src/tree";

const event = (type: string, data: object = {}) => ({ type, data: { type, ...data } });

test("the status bar says how far it is, what is on and what is next", () => {
  const model = empty();
  assert.equal(bar(model, "p").text, "$(circle-outline) ralph");
  model.phase = "on";
  model.status = readStatus({ done: 1, total: 3, next: { task_id: "T2", title: "Two" }, agents: ["a", 7] });
  assert.equal(bar(model, "p").text, "$(checklist) ralph 1/3 · next T2");
  apply(model, event("run_started", { runId: "r" }));
  apply(model, event("iteration_started", { iteration: 4, task_id: "T2", title: "Two", agent: "a" }));
  assert.equal(bar(model, "p").text, "$(sync~spin) ralph 1/3 running · T2");
  assert.match(bar(model, "p").tooltip, /#4 T2 Two \(a\)/);
  apply(model, event("run_paused"));
  assert.equal(bar(model, "p").text, "$(debug-pause) ralph 1/3 paused · T2");
  apply(model, event("run_resumed"));
  assert.ok(apply(model, event("iteration_finished", { task_id: "T2" })));
  assert.ok(apply(model, event("run_stopped", { reason: "max_iterations" })));
  assert.match(bar(model, "p").tooltip, /last run: max_iterations/);
  assert.equal(model.status.running, false);
  gone(model, "died");
  assert.equal(bar(model, "p").warn, true);
});

test("a parallel run's iterations are each told with its task", () => {
  const model = empty();
  for (const task_id of ["T1", "T2"]) {
    apply(model, event("iteration_started", { iteration: 1, task_id }));
  }
  apply(model, event("iteration_finished", { iteration: 1, task_id: "T1" }));
  assert.deepEqual(
    model.working.map((one) => one.task),
    ["T2"],
  );
});

test("what a bridge of another time sends is taken for what can be read of it", () => {
  const nothing = { done: 0, total: 0, running: false, paused: false, next: undefined, agents: [] };
  for (const odd of [null, 5, [], "x", { done: "1", next: [], agents: {} }]) {
    assert.deepEqual(readStatus(odd), nothing);
  }
  assert.equal(apply(empty(), event("something_new")), false);
});

test("tasks show their state, iterations what they have left", () => {
  const model = empty();
  const task = { title: "t", line: 3, acceptance: ["it works"], dependsOn: ["T1"], attempts: 2 };
  model.tasks = {
    file: "PRD.md",
    tasks: [
      { ...task, id: "T1", state: "done" },
      { ...task, id: "T2", state: "open" },
      { ...task, id: "T3", state: "new-word" },
    ],
  };
  model.status = readStatus({ next: { id: "T2" } });
  const [first, second, third] = taskNodes(model);
  assert.equal(first?.icon, "pass-filled");
  assert.equal(second?.description, "T2 · next · 2 attempts");
  assert.deepEqual(second?.target, { kind: "file", path: "PRD.md", line: 3 });
  assert.deepEqual(
    second?.children?.map((child) => child.label),
    ["after T1", "it works"],
  );
  assert.equal(third?.icon, "question");
  const iteration: Details = {
    number: 7,
    task: "T2",
    title: "t",
    attempt: 1,
    agent: "a",
    result: "rejected",
    reason: "gate failed: g",
    commit: undefined,
    seconds: 1.26,
    prompt: "p.md",
    log: undefined,
    receipts: "r",
    changed: [{ path: "a.txt", kind: "added" }],
    rulings: [{ name: "g", status: "fail", warns: false, summary: "no", findings: [] }],
  };
  model.iterations = [iteration];
  assert.equal(iterationNodes(model)[0]?.description, "rejected · a · 1.3 s");
  const labels = (details: Details) => detailNodes(details).map((node) => node.label);
  assert.deepEqual(labels(iteration), [
    "gate failed: g",
    "Prompt",
    "Receipt",
    "All receipts",
    "g",
    "a.txt",
  ]);
  const target = (details: Details) => detailNodes(details).at(-1)?.target;
  assert.deepEqual(target(iteration), { kind: "now", path: "a.txt" });
  const commit = "0123456789abcdef";
  assert.deepEqual(target({ ...iteration, commit }), { kind: "commit", commit, path: "a.txt" });
});

test("findings are their gate's newest, and lie below the root", () => {
  const findings = new Findings(() => "/w/p");
  const finding = (path: string | undefined, line?: number) => ({ message: "m", path, line, rule: "r" });
  const fail = (...all: ReturnType<typeof finding>[]) => ({
    name: "g",
    status: "fail",
    warns: false,
    summary: "s",
    findings: all,
  });
  findings.ruled(fail(finding("a/b.rs", 5), finding("../../etc/passwd", 1), finding(undefined)));
  const files = findings.byFile();
  assert.deepEqual([...files.keys()], ["/w/p/a/b.rs", "/w/p/ralph.toml"]);
  assert.equal(files.get("/w/p/a/b.rs")?.[0]?.line, 4);
  assert.equal(files.get("/w/p/ralph.toml")?.length, 2);
  findings.ruled({ ...fail(), name: "other" });
  assert.equal(findings.byFile().get("/w/p/ralph.toml")?.at(-1)?.message, "s");
  assert.equal(findings.byFile().get("/w/p/ralph.toml")?.at(-1)?.warns, false);
  findings.ruled({ ...fail(), name: "other", warns: true });
  assert.equal(findings.byFile().get("/w/p/ralph.toml")?.at(-1)?.warns, true);
  findings.ruled({ ...fail(), status: "pass" });
  findings.ruled({ ...fail(), name: "other", status: "pass" });
  assert.equal(findings.byFile().size, 0);
  assert.equal(below("/w/p", "/etc/passwd"), undefined);
  assert.equal(below("/w/p", "..x"), "/w/p/..x");
});
