import * as path from "node:path";

import { Ruling } from "./cli";

/** What is wrong at a place. */
export interface Problem {
  /** Absolute. */
  readonly file: string;
  /** Counts from 0. */
  readonly line: number;
  readonly message: string;
  readonly gate: string;
  readonly rule: string | undefined;
  /** It refuses nothing. */
  readonly warns: boolean;
}

/** Where a path of a record is; none if it would lie outside the root. */
export function below(root: string, relative: string): string | undefined {
  const full = path.resolve(root, relative);
  const back = path.relative(root, full);
  const outside = back === ".." || back.startsWith(`..${path.sep}`) || path.isAbsolute(back);
  return outside ? undefined : full;
}

/** The findings of each gate's newest ruling. */
export class Findings {
  private readonly byGate = new Map<string, Problem[]>();

  constructor(
    private readonly root: () => string,
    /** What speaks of no file is told there: the gate's own configuration. */
    private readonly fallback = "ralph.toml",
  ) {}

  /** Takes the place of what the same gate has ruled before, about the same task of a parallel run. */
  ruled(ruling: Ruling, task = ""): void {
    const root = this.root();
    const key = JSON.stringify([task, ruling.name]);
    if (ruling.status !== "fail") {
      this.byGate.delete(key);
      return;
    }
    const found = ruling.findings.map((finding) => {
      const file = finding.path === undefined ? undefined : below(root, finding.path);
      return {
        file: file ?? path.join(root, this.fallback),
        line: file === undefined ? 0 : Math.max(0, (finding.line ?? 1) - 1),
        message: finding.message || ruling.summary,
        gate: ruling.name,
        rule: finding.rule,
        warns: ruling.warns,
      };
    });
    if (found.length === 0) {
      const file = path.join(root, this.fallback);
      const { summary: message, name: gate, warns } = ruling;
      found.push({ file, line: 0, message, gate, rule: undefined, warns });
    }
    this.byGate.set(key, found);
  }

  clear(): void {
    this.byGate.clear();
  }

  byFile(): Map<string, Problem[]> {
    const files = new Map<string, Problem[]>();
    for (const problem of [...this.byGate.values()].flat()) {
      files.set(problem.file, [...(files.get(problem.file) ?? []), problem]);
    }
    return files;
  }
}
