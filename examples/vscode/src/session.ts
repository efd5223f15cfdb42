import { realpathSync } from "node:fs";

import { Backoff } from "./backoff";
import { Bridge, End, LIMITS, Launch, Limits, Listener } from "./bridge";
import { Cli, ruling } from "./cli";
import { BridgeEvent, RpcError } from "./client";
import { Findings } from "./findings";
import { Model, apply, empty, gone, readStatus } from "./model";
import { fields, flag, maybeText, reason, text } from "./values";

/** So many iterations are listed. */
const LISTED = 50;

/** What a session asks of the editor. */
export interface Ui {
  /** The model has changed. */
  changed(): void;
  /** Tells, and offers to do something about it; true if that was wanted. */
  offer(severity: "info" | "warning" | "error", text: string, action?: string): Promise<boolean>;
  /** Shows a person what the project can run, to accept or not. */
  trust(): void;
  log(text: string): void;
}

export interface SessionOptions extends Omit<Launch, "args"> {
  readonly ui: Ui;
  readonly limits?: Limits;
  readonly now?: () => number;
}

/** One folder: its bridge, and what is known of it. */
export class Session {
  readonly model: Model = empty();
  readonly findings: Findings;
  readonly cli: Cli;
  private readonly ui: Ui;
  private readonly limits: Limits;
  private readonly now: () => number;
  private readonly backoff = new Backoff();
  private bridge: Bridge | undefined;
  private starting: Promise<boolean> | undefined;
  private since = 0;
  private found: string | undefined;
  private reading: Promise<void> | undefined;
  private again = false;
  private disposed = false;
  private wake: (() => void) | undefined;

  constructor(private readonly options: SessionOptions) {
    this.ui = options.ui;
    this.limits = options.limits ?? LIMITS;
    this.now = options.now ?? Date.now;
    this.findings = new Findings(() => this.root);
    this.cli = new Cli(options.command, options.cwd, options.env);
  }

  get folder(): string {
    return this.options.cwd;
  }

  /** Where the project is that the folder lies in: records' paths are relative to it. */
  get root(): string {
    return this.found ?? this.folder;
  }

  /** Starts the bridge unless there is one; says whether there is. */
  start(): Promise<boolean> {
    this.starting ??= this.begin().finally(() => (this.starting = undefined));
    return this.starting;
  }

  private async begin(): Promise<boolean> {
    if (this.bridge?.isAlive === true) {
      return true;
    }
    if (this.disposed) {
      return false;
    }
    this.set("starting", undefined);
    const listener: Listener = {
      event: (event) => this.event(event),
      ended: (end) => this.ended(end),
      log: (line) => this.ui.log(line),
    };
    try {
      this.bridge = await Bridge.start(this.options, listener, this.limits);
    } catch (e) {
      this.set("off", reason(e));
      void this.ui.offer("error", reason(e));
      return false;
    }
    if (this.disposed) {
      await this.bridge.stop();
      return false;
    }
    this.since = this.now();
    this.set("on", undefined);
    // Older bridges don't know it; then there are no findings while a run is on.
    await this.bridge.client
      .request("subscribe", { events: ["gate_finished"] })
      .catch((e: unknown) => this.ui.log(reason(e)));
    await this.refresh();
    await this.recall();
    return this.bridge.isAlive;
  }

  /** What spoke against the last attempt is shown until the next one is judged. */
  private async recall(): Promise<void> {
    const last = this.model.iterations[0];
    if (last?.result !== "rejected" || this.model.working.length > 0) {
      return;
    }
    try {
      const { rulings } = await this.cli.show(last.number);
      rulings.forEach((one) => this.findings.ruled(one));
      this.ui.changed();
    } catch (e) {
      this.ui.log(reason(e));
    }
  }

  /** Ends the bridge, and with it its run. */
  async stop(): Promise<void> {
    if (this.model.phase === "died") {
      gone(this.model, "off");
    }
    this.wake?.();
    await this.starting;
    if (this.bridge?.isAlive === true) {
      this.set("stopping", undefined);
      await this.bridge.stop();
    }
    gone(this.model, "off");
    this.ui.changed();
  }

  async dispose(): Promise<void> {
    this.disposed = true;
    await this.stop();
  }

  async step(agent?: string): Promise<void> {
    if (!(await this.start())) {
      return;
    }
    this.findings.clear();
    // Its answer takes as long as the iteration.
    const said = fields(await this.ask("step", agent === undefined ? {} : { agent }, 0));
    const task = maybeText(said["task_id"]);
    if (task === undefined && "end" in said) {
      void this.ui.offer("info", `ralph: nothing was done (${text(said["end"])})`);
    }
  }

  async run(agent?: string, maxIterations?: number): Promise<void> {
    await this.ask("run", { agent, maxIterations });
  }

  async stopRun(): Promise<void> {
    const said = fields(await this.ask("stop"));
    if (!flag(said["stopped"])) {
      void this.ui.offer("info", "ralph: this bridge has no run that could be stopped");
    }
  }

  async rest(what: "pause" | "resume"): Promise<void> {
    const said = fields(await this.ask(what));
    if (!flag(said["ok"])) {
      void this.ui.offer("info", `ralph: this bridge has no run to ${what}`);
    }
  }

  /** Reads status, tasks and iterations; what is asked for meanwhile is one more reading. */
  refresh(): Promise<void> {
    if (this.reading !== undefined) {
      this.again = true;
      return this.reading;
    }
    this.reading = this.read().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async read(): Promise<void> {
    do {
      this.again = false;
      try {
        if (this.bridge?.isAlive === true) {
          const said = await this.bridge.client.request("status");
          this.model.status = readStatus(said);
          const root = text(fields(said)["cwd"]);
          // The editor may know the same folder by another name.
          this.found = root === "" || root === realpathSync(this.folder) ? undefined : root;
        }
        this.model.tasks = await this.cli.tasks();
        this.model.iterations = await this.cli.log(LISTED);
        if (this.model.phase === "on") {
          this.model.problem = undefined;
        }
      } catch (e) {
        // One that has ended meanwhile is told of elsewhere.
        if (this.model.phase === "on") {
          this.model.problem = reason(e);
        }
        this.ui.log(reason(e));
      }
      this.ui.changed();
    } while (this.again && !this.disposed);
  }

  /** Asks the bridge, and tells a person what it refuses. */
  private async ask(method: string, params: object = {}, timeoutMs?: number): Promise<unknown> {
    if (!(await this.start()) || this.bridge === undefined) {
      return {};
    }
    try {
      return await this.bridge.client.request(method, params, timeoutMs);
    } catch (e) {
      if (e instanceof RpcError && e.kind === "untrusted") {
        const said = `${e.message}\nWhat this project can run has to be accepted first: \`ralph trust\`.`;
        if (await this.ui.offer("warning", said, "Review")) {
          this.ui.trust();
        }
      } else if (e instanceof RpcError || this.bridge.isAlive) {
        void this.ui.offer("error", `ralph: ${reason(e)}`);
      }
      return {};
    }
  }

  private event(event: BridgeEvent): void {
    const { type, data } = event;
    if (type === "gate_finished") {
      this.findings.ruled(ruling(data), text(data["task_id"]));
    } else if (type === "run_started") {
      this.findings.clear();
    } else if (type === "error") {
      void this.ui.offer("error", `ralph: ${text(data["message"])}`);
    }
    const stale = apply(this.model, event);
    this.ui.changed();
    // While it starts, it is read at the end of that.
    if (stale && this.model.phase === "on") {
      void this.refresh();
    }
  }

  private ended(end: End): void {
    if (end.wanted) {
      return;
    }
    const how = end.signal ?? `exit code ${end.code}`;
    const said = end.said === "" ? "" : `: ${end.said.split("\n").at(-1)}`;
    const problem = `ralph's bridge has ended by itself (${how})${said}`;
    this.backoff.died(this.now() - this.since, this.now());
    gone(this.model, "died");
    this.model.problem = problem;
    this.ui.changed();
    void this.restart(problem);
  }

  /** What dies again and again is started ever more slowly, and only if a person wants it. */
  private async restart(problem: string): Promise<void> {
    if (!(await this.ui.offer("warning", problem, "Restart"))) {
      return;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.backoff.left(this.now()));
      this.wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.wake = undefined;
    // It may have been started, or wanted no more, meanwhile.
    if (this.model.phase === "died") {
      await this.start();
    }
  }

  private set(phase: Model["phase"], problem: string | undefined): void {
    this.model.phase = phase;
    this.model.problem = problem;
    this.ui.changed();
  }
}
