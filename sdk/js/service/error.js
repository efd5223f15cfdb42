// What can go wrong.

import { text } from "./body.js";

/** Bytes of a refusal. */
const PROBLEM_MAX = 1024 * 1024;

/** A request that the service refused. */
export class RalphError extends Error {
  constructor(status, problem, retryAfter) {
    super(typeof problem?.detail === "string" ? problem.detail : `the service answers ${status}`);
    this.name = "RalphError";
    this.status = status;
    /** RFC 9457, if the service sent one. */
    this.problem = problem;
    /** Milliseconds after which it may be tried again, if the service said so. */
    this.retryAfter = retryAfter;
  }

  /** Might it go well later? */
  get retryable() {
    return this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** The refusal in an answer. */
export async function refused(answer) {
  const after = Number(answer.headers.get("retry-after") ?? NaN);
  const retryAfter = after >= 0 ? after * 1000 : undefined;
  let problem;
  try {
    problem = JSON.parse(await text(answer, PROBLEM_MAX));
  } catch {
    // Some proxy's page, or it broke off: the status says enough.
  }
  if (problem === null || typeof problem !== "object" || Array.isArray(problem)) problem = undefined;
  return new RalphError(answer.status, problem, retryAfter);
}
