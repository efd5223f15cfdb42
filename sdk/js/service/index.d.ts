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

export class RalphError extends Error {
  readonly status: number;
  readonly problem: Problem | undefined;
  readonly retryable: boolean;
}

interface Abortable {
  signal?: AbortSignal;
}

export interface RalphClient {
  submitRun(opts: SubmitRunOpts, more?: { idempotencyKey?: string } & Abortable): Promise<RunStatus>;
  /** A run's events, to `terminal`; over broken connections. */
  streamEvents(run_id: string, signal?: AbortSignal, more?: { lastEventId?: string }): AsyncIterable<KahnEvent>;
  cancelRun(run_id: string, more?: { reason?: string } & Abortable): Promise<void>;
  getRun(run_id: string, more?: Abortable): Promise<RunStatus>;
  listRuns(
    workspace_slug: string,
    more?: { status?: string; since?: string; limit?: number } & Abortable,
  ): Promise<RunSummary[]>;
  /** The service's answer with the events, to be passed on byte for byte. */
  proxyEvents(run_id: string, more?: { lastEventId?: string | null } & Abortable): Promise<Response>;
  getPrompt(workspace_slug: string, path: string, more?: Abortable): Promise<Prompt>;
  savePrompt(
    workspace_slug: string,
    path: string,
    wanted: { content: string; expected_prior_fingerprint?: string | null } & Abortable,
  ): Promise<Edited>;
  deletePrompt(
    workspace_slug: string,
    path: string,
    more?: { expected_prior_fingerprint?: string } & Abortable,
  ): Promise<Edited>;
  /** Is the service there? The sidecar is started if need be. */
  ping(signal?: AbortSignal): Promise<boolean>;
  /** Ends the sidecar; nothing for a remote service. */
  close(): Promise<void>;
}

export type Token = string | (() => string | Promise<string>);

export interface ClientOptions {
  /** Instead of `process.env`. */
  env?: Record<string, string | undefined>;
  /** Instead of `RALPH_SERVE_TOKEN`; a function is asked before each request. */
  token?: Token;
  /** The sidecar's program, instead of `ralph`. */
  command?: string;
  /** Its arguments, instead of `serve --listen 127.0.0.1:PORT`. */
  args?: string[];
  cwd?: string;
  /** Milliseconds that a sidecar may take to be healthy. */
  healthTimeout?: number;
  /** Told when the sidecar has died and will be started again. */
  onRestart?: (what: { why: string; wait: number }) => void;
}

export function getRalphClient(options?: ClientOptions): RalphClient;

/** What a wait between two attempts is at most, in milliseconds. */
export const BACKOFF_MAX: number;
export function backoff(failures: number, first?: number, most?: number): number;

/** Reads server-sent events. */
export class Events {
  push(text: string): Generator<{ id: string; event: string; data: string }>;
}
