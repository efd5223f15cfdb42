import { Iteration, Tasks } from "./cli";
import { BridgeEvent } from "./client";
import { fields, flag, list, maybeText, number, text } from "./values";

/** Where a bridge is in its life. */
export type Phase = "off" | "starting" | "on" | "stopping" | "died";

export interface Status {
  readonly done: number;
  readonly total: number;
  readonly running: boolean;
  readonly paused: boolean;
  readonly next: { readonly id: string; readonly title: string } | undefined;
  readonly agents: readonly string[];
}

export interface Working {
  readonly iteration: number;
  readonly task: string;
  readonly title: string;
  readonly agent: string;
}

/** What is known of one folder. */
export interface Model {
  phase: Phase;
  status: Status | undefined;
  tasks: Tasks;
  iterations: readonly Iteration[];
  /** Iterations that are on; more than one in a parallel run. */
  working: readonly Working[];
  /** How the last run ended. */
  lastEnd: string | undefined;
  /** Why nothing can be told. */
  problem: string | undefined;
}

export function empty(): Model {
  return {
    phase: "off",
    status: undefined,
    tasks: { file: "", tasks: [] },
    iterations: [],
    working: [],
    lastEnd: undefined,
    problem: undefined,
  };
}

export function readStatus(value: unknown): Status {
  const of = fields(value);
  const next = fields(of["next"]);
  const id = maybeText(next["task_id"]) ?? maybeText(next["id"]);
  return {
    done: number(of["done"]),
    total: number(of["total"]),
    running: flag(of["running"]),
    paused: flag(of["paused"]),
    next: id === undefined ? undefined : { id, title: text(next["title"]) },
    agents: list(of["agents"]).map(text),
  };
}

/** Takes an event in. Says whether what is on disk has to be read anew. */
export function apply(model: Model, { type, data }: BridgeEvent): boolean {
  const run = (change: Partial<Status>): void => {
    if (model.status !== undefined) {
      model.status = { ...model.status, ...change };
    }
  };
  const iteration = number(data["iteration"]);
  const task = text(data["task_id"]);
  const others = model.working.filter((one) => one.task !== task);
  switch (type) {
    case "bridge_started":
      return true;
    case "run_started":
      run({ running: true, paused: false });
      model.lastEnd = undefined;
      return false;
    case "iteration_started":
      model.working = [
        ...others,
        { iteration, task, title: text(data["title"]), agent: text(data["agent"]) },
      ];
      return true;
    case "iteration_finished":
      model.working = others;
      return true;
    case "run_paused":
    case "run_resumed":
      run({ paused: type === "run_paused" });
      return false;
    case "run_stopped":
      run({ running: false, paused: false });
      model.working = [];
      model.lastEnd = text(data["reason"]);
      return true;
    // Events were lost: only what is on disk is true.
    case "missed":
      return true;
    default:
      return false;
  }
}

/** A bridge that is gone works on nothing. */
export function gone(model: Model, phase: Phase): void {
  model.phase = phase;
  model.working = [];
  if (model.status !== undefined) {
    model.status = { ...model.status, running: false, paused: false };
  }
}

export interface Bar {
  readonly text: string;
  readonly tooltip: string;
  readonly warn: boolean;
}

/** The line at the editor's lower edge. */
export function bar(model: Model, folder: string): Bar {
  const { status, phase, problem } = model;
  if (phase === "off" || phase === "starting" || phase === "stopping") {
    const icon = phase === "off" ? "$(circle-outline)" : "$(loading~spin)";
    const tooltip = `${folder}: bridge ${phase}`;
    return { text: `${icon} ralph`, tooltip, warn: false };
  }
  if (phase === "died") {
    return { text: "$(error) ralph: bridge died", tooltip: problem ?? folder, warn: true };
  }
  if (status === undefined) {
    return { text: "$(warning) ralph", tooltip: problem ?? folder, warn: problem !== undefined };
  }
  const [icon, word] = status.paused
    ? ["$(debug-pause)", " paused"]
    : status.running || model.working.length > 0
      ? ["$(sync~spin)", " running"]
      : ["$(checklist)", ""];
  const at = model.working.map((one) => one.task).join(", ");
  const next = status.next?.id;
  const what = at !== "" ? ` · ${at}` : next !== undefined ? ` · next ${next}` : "";
  const lines = [
    folder,
    `${status.done} of ${status.total} tasks done`,
    ...model.working.map((one) => `#${one.iteration} ${one.task} ${one.title} (${one.agent})`),
    ...(status.next === undefined ? [] : [`next: ${status.next.id} ${status.next.title}`]),
    ...(model.lastEnd === undefined ? [] : [`last run: ${model.lastEnd}`]),
    ...(problem === undefined ? [] : [problem]),
  ];
  return {
    text: `${icon} ralph ${status.done}/${status.total}${word}${what}`,
    tooltip: lines.join("\n"),
    warn: problem !== undefined,
  };
}
