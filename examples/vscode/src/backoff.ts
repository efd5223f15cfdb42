const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;
/** One that has lived so long has recovered. */
const HEALTHY_MS = 60_000;

/** How long to wait before what has died is started again: longer each time. */
export class Backoff {
  private deaths = 0;
  private notBefore = 0;

  /** It died after it had lived for so long. */
  died(livedMs: number, now: number): void {
    this.deaths = livedMs >= HEALTHY_MS ? 1 : this.deaths + 1;
    this.notBefore = now + Math.min(LONGEST_MS, FIRST_MS * 2 ** (this.deaths - 1));
  }

  /** So much of the wait is left. */
  left(now: number): number {
    return Math.max(0, this.notBefore - now);
  }
}
