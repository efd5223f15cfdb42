import { Details, Iteration, Task } from "./cli";
import { Model } from "./model";

/** What a click opens. Paths are relative to the root. */
export type Target =
  | { readonly kind: "file"; readonly path: string; readonly line?: number }
  | { readonly kind: "folder"; readonly path: string }
  /** A file before and after a commit. */
  | { readonly kind: "commit"; readonly commit: string; readonly path: string }
  /** A file at HEAD and as it is now: work that was never committed. */
  | { readonly kind: "now"; readonly path: string };

/** One line of a tree. */
export interface Node {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  /** A name among the editor's icons. */
  readonly icon: string;
  readonly target?: Target;
  readonly children?: readonly Node[];
  /** Its children are read when they are asked for. */
  readonly iteration?: number;
}

const TASK_ICONS: Readonly<Record<string, string>> = {
  open: "circle-large-outline",
  in_progress: "sync",
  blocked: "circle-slash",
  done: "pass-filled",
};

const RESULT_ICONS: Readonly<Record<string, string>> = {
  accepted: "pass",
  rejected: "error",
  environment: "watch",
  interrupted: "debug-disconnect",
};

export function taskNodes(model: Model): Node[] {
  const working = new Set(model.working.map((one) => one.task));
  return model.tasks.tasks.map((task) => taskNode(task, model, working.has(task.id)));
}

function taskNode(task: Task, model: Model, isWorking: boolean): Node {
  const isNext = model.status?.next?.id === task.id;
  const words = [
    task.id,
    isWorking ? "at work" : isNext ? "next" : task.state === "blocked" ? "blocked" : "",
    task.attempts === 0 ? "" : task.attempts === 1 ? "1 attempt" : `${task.attempts} attempts`,
  ];
  const file = model.tasks.file;
  const target: Target = { kind: "file", path: file, line: task.line };
  const depends = task.dependsOn.map((id, n) => ({
    id: `task/${task.id}/depends/${n}`,
    label: `after ${id}`,
    description: "",
    tooltip: `${id} has to be done first`,
    icon: "arrow-small-left",
  }));
  const criteria = task.acceptance.map((line, n) => ({
    id: `task/${task.id}/accept/${n}`,
    label: line,
    description: "",
    tooltip: line,
    icon: "dash",
  }));
  return {
    id: `task/${task.id}`,
    label: task.title,
    description: words.filter((word) => word !== "").join(" · "),
    tooltip: `${task.id} ${task.title}\n${task.state}`,
    icon: isWorking ? "sync~spin" : (TASK_ICONS[task.state] ?? "question"),
    // Tasks of a tracker have no file.
    ...(file !== "" && task.line > 0 ? { target } : {}),
    children: [...depends, ...criteria],
  };
}

export function iterationNodes(model: Model): Node[] {
  return model.iterations.map(iterationNode);
}

function iterationNode(one: Iteration): Node {
  const result = one.result ?? "at work";
  return {
    id: `iteration/${one.number}`,
    label: `#${one.number} ${one.task}`,
    description: `${result} · ${one.agent} · ${one.seconds.toFixed(1)} s`,
    tooltip: `${one.title}\nattempt ${one.attempt}: ${one.reason}`,
    icon: one.result === undefined ? "sync~spin" : (RESULT_ICONS[one.result] ?? "question"),
    iteration: one.number,
  };
}

/** What an iteration has left. */
export function detailNodes(details: Details): Node[] {
  const id = `iteration/${details.number}`;
  const nodes: Node[] = [];
  const file = (name: string, label: string, path: string | undefined, icon: string): void => {
    if (path !== undefined) {
      const target: Target = { kind: "file", path };
      nodes.push({ id: `${id}/${name}`, label, description: "", tooltip: path, icon, target });
    }
  };
  nodes.push({
    id: `${id}/reason`,
    label: details.reason,
    description: "",
    tooltip: details.reason,
    icon: "info",
  });
  file("log", "Log", details.log, "output");
  file("prompt", "Prompt", details.prompt, "comment");
  if (details.receipts !== undefined) {
    file("receipt", "Receipt", `${details.receipts}/iteration.json`, "json");
    const target: Target = { kind: "folder", path: details.receipts };
    const tooltip = details.receipts;
    const label = "All receipts";
    nodes.push({ id: `${id}/receipts`, label, description: "", tooltip, icon: "folder", target });
  }
  for (const ruling of details.rulings) {
    nodes.push({
      id: `${id}/ruling/${ruling.name}`,
      label: ruling.name,
      description: `${ruling.status} · ${ruling.summary}`,
      tooltip: [ruling.summary, ...ruling.findings.map((f) => f.message)].join("\n"),
      icon: ruling.status === "fail" ? "error" : ruling.status === "pass" ? "pass" : "dash",
    });
  }
  for (const { path, kind } of details.changed) {
    const { commit } = details;
    const target: Target = commit === undefined ? { kind: "now", path } : { kind: "commit", commit, path };
    nodes.push({
      id: `${id}/changed/${path}`,
      label: path,
      description: kind,
      tooltip: commit === undefined ? "against the last commit, as it is now" : `in ${commit.slice(0, 10)}`,
      icon: "diff",
      target,
    });
  }
  return nodes;
}
