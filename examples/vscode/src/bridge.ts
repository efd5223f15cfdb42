import { ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";

import { BridgeEvent, Client, NoAnswer } from "./client";
import { reason } from "./values";

/** What is started, and where. */
export interface Launch {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** How long each stage may take, in milliseconds. */
export interface Limits {
  /** From the start to `bridge_started`. */
  readonly start: number;
  readonly request: number;
  /** At the end: for the answer to `stop`, after end of file, after SIGTERM. */
  readonly stop: number;
  readonly eof: number;
  readonly term: number;
}

export const LIMITS: Limits = { start: 30_000, request: 30_000, stop: 1_000, eof: 5_000, term: 5_000 };

/** Why a bridge didn't start. */
export class StartError extends Error {
  constructor(
    readonly kind: "missing" | "refused" | "silent" | "died",
    message: string,
  ) {
    super(message);
  }
}

/** How a bridge ended. */
export interface End {
  /** Was it asked to? */
  readonly wanted: boolean;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of what it wrote to standard error. */
  readonly said: string;
}

export interface Listener {
  event(event: BridgeEvent): void;
  ended(end: End): void;
  /** What it writes to standard error, and what isn't the protocol's. */
  log(text: string): void;
}

const SAID_MAX = 4_000;
/** So long after its exit the rest of what it wrote may come. */
const LAST_WORDS_MS = 1_000;

/** A bridge that runs. */
export class Bridge {
  readonly client: Client;
  private said = "";
  private wanted = false;
  private alive = true;
  private readonly exited: Promise<void>;
  private exit: () => void = () => {};
  private stopping: Promise<void> | undefined;
  private up: (() => void) | undefined;
  private failed: ((e: StartError) => void) | undefined;

  /** Starts it without a shell; there when its first event is. */
  static async start(launch: Launch, listener: Listener, limits: Limits = LIMITS): Promise<Bridge> {
    const child = spawn(launch.command, [...(launch.args ?? ["bridge"])], {
      cwd: launch.cwd,
      env: launch.env ?? process.env,
      stdio: ["pipe", "pipe", "pipe"],
      shell: false,
      windowsHide: true,
    });
    const bridge = new Bridge(child, launch, listener, limits);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        bridge.up = resolve;
        bridge.failed = reject;
        const silent = new StartError("silent", `\`${launch.command} bridge\` says nothing`);
        timer = setTimeout(() => reject(silent), limits.start);
      });
    } catch (e) {
      void bridge.stop();
      throw e;
    } finally {
      clearTimeout(timer);
      bridge.up = undefined;
      bridge.failed = undefined;
    }
    return bridge;
  }

  private constructor(
    private readonly child: ChildProcess,
    launch: Launch,
    private readonly listener: Listener,
    private readonly limits: Limits,
  ) {
    this.exited = new Promise((resolve) => (this.exit = resolve));
    this.client = new Client({
      write: (line) => child.stdin?.write(line),
      onEvent: (event) => {
        if (event.type === "bridge_started") {
          this.up?.();
        }
        listener.event(event);
      },
      onNoise: (line) => listener.log(`not the protocol's: ${line.slice(0, 500)}`),
      timeoutMs: limits.request,
    });
    // Who writes to a bridge that has just died hears of it by its end.
    child.stdin?.on("error", () => {});
    child.stdout?.on("data", (piece: Buffer) => {
      try {
        this.client.receive(piece);
      } catch (e) {
        listener.log(reason(e));
        child.kill("SIGTERM");
      }
    });
    child.stderr?.setEncoding("utf8").on("data", (piece: string) => {
      this.said = (this.said + piece).slice(-SAID_MAX);
      listener.log(piece.trimEnd());
    });
    child.on("error", (e: NodeJS.ErrnoException) => {
      // Also told if a signal couldn't be sent; then it lives.
      if (child.pid === undefined) {
        this.over(notStarted(launch, e), null, null);
      }
    });
    const over = (code: number | null, signal: NodeJS.Signals | null): void => {
      const how = signal === null ? `exit code ${code}` : signal;
      const said = this.said.trim();
      const text = `\`${launch.command} bridge\` has ended (${how})${said === "" ? "" : `: ${said}`}`;
      this.over(new StartError("died", text), code, signal);
    };
    child.on("close", over);
    // What it has started may hold its standard output open.
    child.on("exit", (code, signal) => setTimeout(() => over(code, signal), LAST_WORDS_MS));
  }

  get isAlive(): boolean {
    return this.alive;
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Ends it in order: `stop`, end of file, SIGTERM; SIGKILL if nothing else helps. */
  stop(): Promise<void> {
    this.wanted = true;
    this.stopping ??= this.end();
    return this.stopping;
  }

  private async end(): Promise<void> {
    if (!this.alive) {
      return;
    }
    // One that doesn't answer is ended by what follows.
    await this.client.request("stop", {}, this.limits.stop).catch(() => {});
    this.child.stdin?.end();
    if (await this.gone(this.limits.eof)) {
      return;
    }
    this.child.kill("SIGTERM");
    if (await this.gone(this.limits.term)) {
      return;
    }
    this.child.kill("SIGKILL");
    await this.exited;
  }

  private async gone(within: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), within);
    });
    const gone = await Promise.race([this.exited.then(() => true), late]);
    clearTimeout(timer);
    return gone;
  }

  private over(why: StartError, code: number | null, signal: NodeJS.Signals | null): void {
    if (!this.alive) {
      return;
    }
    this.alive = false;
    this.client.close(new NoAnswer(why.message));
    const { wanted, said } = this;
    this.exit();
    if (this.failed !== undefined) {
      this.failed(why);
    } else {
      this.listener.ended({ wanted, code, signal, said: said.trim() });
    }
  }
}

function notStarted({ command, cwd }: Launch, e: NodeJS.ErrnoException): StartError {
  if (!existsSync(cwd)) {
    return new StartError("refused", `There is no folder ${cwd}.`);
  }
  if (e.code === "ENOENT") {
    const text = `There is no program \`${command}\`. Install ralph, or name it in the setting \`ralph.command\`.`;
    return new StartError("missing", text);
  }
  return new StartError("refused", `\`${command}\` can't be started: ${e.message}`);
}
