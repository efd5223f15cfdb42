// What a gate may import of its host, as wit/ has it.
declare module "ralph:plugin/types@0.2.0" {
  export interface Task {
    id: string;
    title: string;
    description: string;
    acceptance: string[];
    priority?: number;
    dependsOn: string[];
  }
  export interface Iteration {
    runId: string;
    number: number;
    attempt: number;
    agent: string;
    role: "work" | "judge" | "review";
    workspace: string;
    scratch: string;
    task?: Task;
  }
  export interface FileChange {
    path: string;
    kind: "added" | "modified" | "deleted" | "renamed";
    addedLines: number;
    deletedLines: number;
  }
  export interface Finding {
    message: string;
    path?: string;
    line?: number;
    rule?: string;
  }
  export interface Verdict {
    status: "pass" | "fail" | "skip";
    summary: string;
    findings: Finding[];
  }
}
declare module "ralph:plugin/log@0.2.0" {
  export function log(level: "trace" | "debug" | "info" | "warn" | "error", message: string): void;
}
declare module "ralph:plugin/config@0.2.0" {
  /** One JSON object. */
  export function get(): string;
}
/** Needs the capability `changes`. */
declare module "ralph:plugin/changes@0.2.0" {
  import type { FileChange } from "ralph:plugin/types@0.2.0";
  export function files(): FileChange[];
  export function diff(maxBytes: bigint): { text: string; omittedBytes: bigint };
}
/** Needs the capability `process`. */
declare module "ralph:plugin/process@0.2.0" {
  export interface Command {
    program: string;
    args: string[];
    env: [string, string][];
    stdin?: Uint8Array;
    timeoutMs?: bigint;
  }
  export interface Output {
    code?: number;
    timedOut: boolean;
    stdout: Uint8Array;
    stderr: Uint8Array;
    truncated: boolean;
  }
  /** Throws an error whose `payload` has `tag` denied, not-found or failed. */
  export function run(command: Command): Output;
}
