// One sidecar per port, whoever of this process asks for it, and however often this file is loaded.

import { Sidecar } from "./sidecar.js";

const KEY = Symbol.for("ralph-service.sidecars.1");

/** By port: the sidecar, how it is started, and those who have it. */
const all = (globalThis[KEY] ??= new Map());

/** The sidecar of a port, and how to let go of it; the last one who does so ends it. */
export function shared({ onRestart, ...options }) {
  const { port, command, args, cwd, logPath } = options;
  const how = JSON.stringify({ command, args, cwd, logPath });
  let entry = all.get(port);
  // Whoever ended it past us did so for everybody.
  if (!entry || entry.sidecar.state === "stopped") {
    const users = new Set();
    const after = entry?.sidecar.stop();
    const tell = (what) => {
      for (const user of users) user.onRestart?.(what);
    };
    entry = { sidecar: new Sidecar({ ...options, after, onRestart: tell }), how, users };
    all.set(port, entry);
  } else if (entry.how !== how) {
    throw new Error(`this process has a sidecar on port ${port} that is started in another way; close() its clients first`);
  }
  const { sidecar, users } = entry;
  const user = { onRestart };
  users.add(user);
  const release = async () => {
    if (!users.delete(user) || users.size > 0) return;
    await sidecar.stop();
    if (all.get(port)?.sidecar === sidecar) all.delete(port);
  };
  return { sidecar, release };
}
