/** Projects for the tests: repositories with an agent that is a shell script. */

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

/** The program under test. */
export const RALPH = process.env["RALPH_BIN"] ?? "ralph";

/** Nothing of the user's own is read or written; compiled components may be shared. */
const home = fs.mkdtempSync(path.join(os.tmpdir(), "ralph-vscode-"));
process.on("exit", () => fs.rmSync(home, { recursive: true, force: true }));
Object.assign(process.env, {
  XDG_CACHE_HOME: process.env["XDG_CACHE_HOME"] ?? path.join(os.homedir(), ".cache"),
  XDG_STATE_HOME: path.join(home, "state"),
  XDG_CONFIG_HOME: path.join(home, "config"),
  XDG_DATA_HOME: path.join(home, "data"),
  HOME: home,
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_NOSYSTEM: "1",
});

/** No wait of a test takes longer. */
export const LIMIT_MS = 60_000;

const TASKS = "# Plan\n\n## Tasks\n\n- [ ] First thing\n  - it works\n- [ ] Second thing\n";

/** Does its task at once. */
export const GOOD = "cat >/dev/null\necho work >>work.txt\necho 'EXIT_SIGNAL: true'\n";

/** Waits until `go` lets it. */
export const WAITING = `: >"$SIDE/here"\ncat "$SIDE/go.fifo" >/dev/null\n${GOOD}`;

export class Project {
  readonly root: string;
  readonly side: string;

  constructor(agent: string = GOOD, toml = "", trusted = true) {
    const dir = fs.realpathSync(fs.mkdtempSync(path.join(home, "p-")));
    // A run's socket is called like its project.
    this.root = path.join(dir, `repo-${path.basename(dir)}`);
    this.side = path.join(dir, "side");
    fs.mkdirSync(this.root);
    fs.mkdirSync(this.side);
    execFileSync("mkfifo", [path.join(this.side, "go.fifo")]);
    const script = path.join(this.side, "agent.sh");
    fs.writeFileSync(script, `SIDE='${this.side}'\n${agent}`);
    this.write("PRD.md", TASKS);
    this.write(
      "ralph.toml",
      `[loop]\nagent = "fake"\n[agents.fake]\nargv = ["sh", "${script}"]\n${toml}`,
    );
    this.git("init", "--quiet", "--initial-branch=main");
    this.git("config", "user.name", "Tess Ter");
    this.git("config", "user.email", "tess@example.org");
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", "start");
    if (trusted) {
      this.ralph("trust", "--yes");
    }
  }

  write(name: string, text: string): void {
    fs.writeFileSync(path.join(this.root, name), text);
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.root, encoding: "utf8" });
  }

  ralph(...args: string[]): string {
    return execFileSync(RALPH, args, { cwd: this.root, encoding: "utf8", stdio: "pipe" });
  }

  /** A program of the test's own that stands in for ralph. */
  script(name: string, body: string): string {
    const file = path.join(this.side, name);
    fs.writeFileSync(file, `#!${process.execPath}\n${body}`, { mode: 0o755 });
    return file;
  }

  /** Waits until the agent is at work. */
  async here(): Promise<void> {
    await until(() => fs.existsSync(path.join(this.side, "here")));
    fs.rmSync(path.join(this.side, "here"));
  }

  /** Lets the agent go on. */
  async go(): Promise<void> {
    await fs.promises.writeFile(path.join(this.side, "go.fifo"), "go");
  }
}

/** Waits for what nothing tells of. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + LIMIT_MS;
  while (!(await holds())) {
    if (Date.now() > end) {
      throw new Error(`it never came to be: ${holds}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Does a process live? */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
