export interface Output {
  /** Undefined if a signal ended it or its time was over. */
  code?: number;
  timedOut: boolean;
  /** The last 256 KiB. */
  stdout: string;
  stderr: string;
  truncated: boolean;
}
export function run(
  program: string,
  args?: string[],
  options?: { env?: Record<string, string>; stdin?: string; timeoutMs?: number },
): Output;
