// How long to wait before something is tried again.

/** What a wait between two attempts is at most, in milliseconds. */
export const BACKOFF_MAX = 30_000;

/** How long to wait before the attempt after `failures` that failed in a row. */
export function backoff(failures, first = 250, most = BACKOFF_MAX) {
  return Math.min(most, first * 2 ** Math.min(failures, 30));
}
