/** What a run is to do otherwise than the workspace's `ralph.toml` says. */
export interface RunConfig {
  agent?: string;
  max_iterations?: number;
  task?: string;
  mode?: string;
  parallel?: number;
  no_commit?: boolean;
}

export interface SubmitRunOpts {
  workspace_slug: string;
  /** A prompt of the workspace: `prompts/….yaml`. */
  prompt_path?: string;
  /** Its content as it is known here; refused if the saved one is another. */
  prompts_yaml?: string;
  /** Its fingerprint as it is known here; refused if the saved one's is another. */
  prompt_fingerprint?: string;
  config?: RunConfig;
}

/** A run. Further fields may come. */
export interface RunStatus {
  run_id: string;
  workspace: string;
  status: string;
  actor: string;
  prompt_path: string | null;
  prompt_fingerprint: string | null;
  /** Is the saved prompt another one by now? */
  prompt_changed?: boolean;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  duration_s: number | null;
  reason: string | null;
  error: string | null;
  attempts: number;
  branch: string | null;
  base: string | null;
  /** What the submission set. */
  config?: RunConfig;
  /** Somebody has asked for its end, and why. */
  cancel_reason?: string;
  convergence_score?: number;
  early_stop_reason?: string;
  [further: string]: unknown;
}

export type RunSummary = RunStatus;

/** An event of a run. Whatever the service adds is in it as it came. */
export interface KahnEvent {
  /** For `lastEventId`. */
  event_id: string;
  /** `start`, `node`…, `terminal` is the last one; `resync`: events before this one aren't kept any more. */
  type: string;
  convergence_score?: number;
  early_stop_reason?: string;
  [further: string]: unknown;
}

export type PromptStatus = "verified" | "tampered" | "missing";

export interface Prompt {
  path: string;
  content: string;
  fingerprint_stored: string | null;
  fingerprint_computed: string | null;
  status: PromptStatus;
  problem?: string;
}

export interface Edited {
  path: string;
  fingerprint: string | null;
  old_fp: string | null;
  diff_summary: { lines_added: number; lines_removed: number; sections_changed: number };
}

/** RFC 9457. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  [further: string]: unknown;
}

/** A request that the service refused. */
export class RalphError extends Error {
  constructor(status: number, problem?: Problem, retryAfter?: number);
  readonly status: number;
  readonly problem: Problem | undefined;
  /** Milliseconds after which it may be tried again, if the service said so. */
  readonly retryAfter: number | undefined;
  /** Might it go well later? */
  readonly retryable: boolean;
}

interface Abortable {
  signal?: AbortSignal;
}

export interface RalphClient {
  /** Where the service is. */
  readonly url: string;
  /** Only with a service of its own. */
  readonly sidecar?: Sidecar;
  /** The same on behalf of somebody, whom the service's audit then names. */
  actingFor(actor: string): RalphClient;
  submitRun(opts: SubmitRunOpts, more?: { idempotencyKey?: string } & Abortable): Promise<RunStatus>;
  /**
   * A run's events, to `terminal`; over broken connections, until the service was away for `patience`. Each may
   * have 4 Mi characters.
   */
  streamEvents(
    run_id: string,
    signal?: AbortSignal,
    more?: { lastEventId?: string },
  ): AsyncGenerator<KahnEvent, void, undefined>;
  cancelRun(run_id: string, more?: { reason?: string } & Abortable): Promise<void>;
  pauseRun(run_id: string, more?: Abortable): Promise<RunStatus>;
  resumeRun(run_id: string, more?: Abortable): Promise<RunStatus>;
  /** Opens the run's next prompt with this text. */
  injectRun(run_id: string, text: string, more?: Abortable): Promise<RunStatus>;
  getRun(run_id: string, more?: Abortable): Promise<RunStatus>;
  listRuns(
    workspace_slug: string,
    more?: { status?: string; since?: string; until?: string; limit?: number } & Abortable,
  ): Promise<RunSummary[]>;
  /** The service's answer with the events, to be passed on byte for byte; without a limit of time. */
  proxyEvents(run_id: string, more?: { lastEventId?: string | null } & Abortable): Promise<Response>;
  getPrompt(workspace_slug: string, path: string, more?: Abortable): Promise<Prompt>;
  savePrompt(
    workspace_slug: string,
    path: string,
    wanted: {
      content: string;
      expected_prior_fingerprint?: string | null;
      /** The new fingerprint's hash, if it isn't the workspace's usual one. */
      algorithm?: "sha256" | "blake3";
    } & Abortable,
  ): Promise<Edited>;
  deletePrompt(
    workspace_slug: string,
    path: string,
    more?: { expected_prior_fingerprint?: string } & Abortable,
  ): Promise<Edited>;
  /** Is the service there? A sidecar is started if need be; if it doesn't come up, that is an error. */
  ping(signal?: AbortSignal): Promise<boolean>;
  /** Ends the sidecar, unless another client of this process has it as well; nothing for a remote service. */
  close(): Promise<void>;
}

export type Token = string | (() => string | Promise<string>);

interface Limits {
  /** A function is asked before each request. */
  token?: Token;
  /** Milliseconds that a request has: 75,000. */
  timeout?: number;
  /** A stream of events on which nothing comes for so many milliseconds is broken: 60,000. */
  idleTimeout?: number;
  /** `streamEvents` gives up when the service was away for so many milliseconds: 300,000. `Infinity`: never. */
  patience?: number;
}

export interface RemoteOptions extends Limits {
  /** Instead of the global one, or of the one that shows the certificate in `RALPH_MTLS_CERT`. */
  fetch?: typeof fetch;
  /** For whom the requests are made. */
  actor?: string;
}

export interface SidecarOptions {
  port: number;
  command: string;
  args: string[];
  logPath: string;
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Milliseconds that a sidecar may take to be healthy: 30,000. */
  healthTimeout?: number;
  /** Milliseconds that it may take to end before it is killed: 60,000. */
  stopTimeout?: number;
  /** Milliseconds before it is first started again: 250. */
  firstBackoff?: number;
  /** Told when the sidecar has died and will be started again. */
  onRestart?: (what: { why: string; wait: number }) => void;
}

/** A `ralph serve` of one's own. It ends with this process, unless that is killed by SIGKILL. */
export class Sidecar {
  constructor(options: SidecarOptions);
  readonly url: string;
  readonly pid: number | undefined;
  readonly state: "idle" | "starting" | "up" | "waiting" | "stopped";
  /** Why it isn't up, if it isn't. */
  readonly problem: string | undefined;
  /** Starts it, unless it was, and waits until it is healthy. */
  ready(signal?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

export interface ClientOptions
  extends RemoteOptions,
    Partial<Omit<SidecarOptions, "env" | "port" | "logPath">> {
  /** Instead of `process.env`. */
  env?: Record<string, string | undefined>;
}

/** The client that the environment asks for. */
export function getRalphClient(options?: ClientOptions): RalphClient;

/** What a wait between two attempts is at most, in milliseconds. */
export const BACKOFF_MAX: number;
export function backoff(failures: number, first?: number, most?: number): number;

/** More characters of one event aren't kept. */
export const EVENT_MAX: number;

/** Reads server-sent events. */
export class Events {
  constructor(max?: number);
  /** Milliseconds that the service wants to be left alone after a broken connection, if it said so. */
  readonly retry: number | undefined;
  /** The events that are whole with this piece. Throws when one is longer than it may be. */
  push(text: string): Generator<{ id: string; event: string; data: string }>;
}
