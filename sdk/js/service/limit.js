// Work that has to be done in time.

/** Does it with a signal that ends it after so many milliseconds, and with the caller's. Leaves nothing at either. */
export async function within(ms, signal, work) {
  signal?.throwIfAborted();
  const limit = new AbortController();
  const abort = () => limit.abort(signal.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const late = () => limit.abort(new DOMException(`no answer in ${ms / 1000} s`, "TimeoutError"));
  const timer = setTimeout(late, ms);
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
