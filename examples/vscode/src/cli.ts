import { execFile } from "node:child_process";

import { fields, list, maybeText, number, reason, text } from "./values";

const OUTPUT_MAX = 64 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

export interface Task {
  readonly id: string;
  readonly title: string;
  /** `open`, `in_progress`, `blocked`, `done`. */
  readonly state: string;
  /** In the task file; counts from 1. */
  readonly line: number;
  readonly acceptance: readonly string[];
  readonly dependsOn: readonly string[];
  readonly attempts: number;
}

export interface Tasks {
  /** Relative to the root. */
  readonly file: string;
  readonly tasks: readonly Task[];
}

export interface Iteration {
  readonly number: number;
  readonly task: string;
  readonly title: string;
  readonly attempt: number;
  readonly agent: string;
  /** `accepted`, `rejected`, `environment`, `interrupted`; none while it is on. */
  readonly result: string | undefined;
  readonly reason: string;
  readonly commit: string | undefined;
  readonly seconds: number;
}

export interface Finding {
  readonly message: string;
  readonly path: string | undefined;
  readonly line: number | undefined;
  readonly rule: string | undefined;
}

export interface Ruling {
  readonly name: string;
  /** `pass`, `fail`, `skip`. */
  readonly status: string;
  /** Its failure refuses nothing. */
  readonly warns: boolean;
  readonly summary: string;
  readonly findings: readonly Finding[];
}

export interface Changed {
  readonly path: string;
  /** `added`, `modified`, `deleted`, … */
  readonly kind: string;
}

/** Everything of one iteration. Paths are relative to the root. */
export interface Details extends Iteration {
  readonly prompt: string | undefined;
  readonly log: string | undefined;
  readonly receipts: string | undefined;
  readonly changed: readonly Changed[];
  readonly rulings: readonly Ruling[];
}

/** What the program's commands say, each run to its end. */
export class Cli {
  constructor(
    private readonly command: string,
    private readonly cwd: string,
    private readonly env: NodeJS.ProcessEnv = process.env,
  ) {}

  async tasks(): Promise<Tasks> {
    const said = fields(await this.ask(["task", "list"]));
    return { file: text(said["task_file"]), tasks: list(said["tasks"]).map(task) };
  }

  /** The newest first. */
  async log(newest: number): Promise<Iteration[]> {
    const said = fields(await this.ask(["log", "--newest", String(newest)]));
    return list(said["iterations"]).map(iteration).reverse();
  }

  async show(number: number): Promise<Details> {
    const said = fields(await this.ask(["show", String(number)]));
    const others = [said["judge"], said["review"]].filter((one) => one !== null && one !== undefined);
    return {
      ...iteration(said),
      prompt: maybeText(said["prompt_path"]),
      log: maybeText(said["log_path"]),
      receipts: maybeText(said["receipts_dir"]),
      changed: list(said["changed_files"]).map((file) => ({
        path: text(fields(file)["path"]),
        kind: text(fields(file)["kind"]),
      })),
      rulings: [...list(said["gates"]), ...others].map(ruling),
    };
  }

  /** A file as it is in a commit; empty if it isn't there. */
  async fileAt(root: string, commit: string, path: string): Promise<string> {
    // `cat-file` shows a blob as it is; `show` would ask the repository's configuration. `./`: the
    // project may lie below the repository's root.
    const args = ["-C", root, "cat-file", "blob", `${commit}:./${path}`];
    return await this.run("git", args).catch(() => "");
  }

  private async ask(args: readonly string[]): Promise<unknown> {
    const said = await this.run(this.command, ["--json", ...args]);
    let envelope;
    try {
      envelope = fields(JSON.parse(said));
    } catch (e) {
      throw new Error(`\`ralph ${args.join(" ")}\` gave no JSON: ${reason(e)}`);
    }
    if ("error" in envelope) {
      throw new Error(text(fields(envelope["error"])["message"]));
    }
    return envelope["result"];
  }

  private run(program: string, args: readonly string[]): Promise<string> {
    const options = {
      cwd: this.cwd,
      env: this.env,
      timeout: TIMEOUT_MS,
      maxBuffer: OUTPUT_MAX,
      windowsHide: true,
    };
    return new Promise((resolve, reject) => {
      const child = execFile(program, [...args], options, (e, stdout, stderr) => {
        // A failure is told on standard output too.
        if (e === null || (program !== "git" && stdout !== "")) {
          resolve(stdout);
        } else {
          reject(new Error(stderr.trim() || e.message));
        }
      });
      child.stdin?.end();
    });
  }
}

function task(value: unknown): Task {
  const of = fields(value);
  return {
    id: text(of["id"]),
    title: text(of["title"]),
    state: text(of["state"]),
    line: number(of["line"]),
    acceptance: list(of["acceptance"]).map(text),
    dependsOn: list(of["depends_on"]).map(text),
    attempts: number(of["attempts"]),
  };
}

function iteration(value: unknown): Iteration {
  const of = fields(value);
  return {
    number: number(of["iteration"]),
    task: text(of["task"]),
    title: text(of["title"]),
    attempt: number(of["attempt"]),
    agent: text(of["agent"]),
    result: maybeText(of["result"]),
    reason: text(of["reason"]),
    commit: maybeText(of["commit"]),
    seconds: number(of["seconds"]),
  };
}

/** Of a receipt or of an event: both have these fields. */
export function ruling(value: unknown): Ruling {
  const of = fields(value);
  return {
    name: text(of["name"]),
    status: text(of["status"]),
    warns: text(of["severity"]) === "warn",
    summary: text(of["summary"]),
    findings: list(of["findings"]).map((one) => {
      const finding = fields(one);
      const line = number(finding["line"]);
      return {
        message: text(finding["message"]),
        path: maybeText(finding["path"]),
        line: line > 0 ? line : undefined,
        rule: maybeText(finding["rule"]),
      };
    }),
  };
}
