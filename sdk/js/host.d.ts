// What a plugin is given and may import of its host, as wit/ has it.
declare module "ralph:plugin/types@0.2.1" {
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
  /** What a judge writes its question from. */
  export interface Evidence {
    diff: string;
    omittedBytes: number | bigint;
    files: FileChange[];
    gates: { name: string; verdict: Verdict }[];
    finalText: string;
    complaint?: string;
  }
  /** How a run has ended. */
  export interface Notice {
    event: string;
    project: string;
    text: string;
    details: Record<string, unknown>;
  }
}
declare module "ralph:plugin/log@0.2.1" {
  export function log(level: "trace" | "debug" | "info" | "warn" | "error", message: string): void;
}
declare module "ralph:plugin/config@0.2.1" {
  /** One JSON object. */
  export function get(): string;
}
