// Drives the built `ralph serve` by the client of sdk/js/service. Prints what it saw as JSON.
import { pathToFileURL } from "node:url";

const { getRalphClient } = await import(pathToFileURL(process.env.CLIENT).href);
const args = process.env.SERVE_ARGS ? JSON.parse(process.env.SERVE_ARGS) : undefined;
const ralph = getRalphClient({ command: process.env.RALPH_BIN, args });

await ralph.ping();
const text = "id: a\ntype: prompt-set\nversion: '1'\nprompts:\n  - id: p\n    text: look well\n";
const prior = await ralph.getPrompt("site", "a.yaml").catch((e) => ({ status: e.status }));
const saved = await ralph.savePrompt("site", "a.yaml", { content: text });
const conflict = await ralph.savePrompt("site", "a.yaml", { content: text }).catch((e) => e);
const run = await ralph.submitRun({
  workspace_slug: "site",
  prompt_path: "prompts/a.yaml",
  prompts_yaml: text,
  prompt_fingerprint: saved.fingerprint,
  config: { max_iterations: 1 },
});
const seen = [];
for await (const event of ralph.streamEvents(run.run_id)) seen.push(event);
// Again from the middle.
const rest = [];
const lastEventId = seen[1].event_id;
for await (const event of ralph.streamEvents(run.run_id, undefined, { lastEventId })) rest.push(event);
const proxied = await (await ralph.proxyEvents(run.run_id, { lastEventId })).text();
let none = 0;
for await (const _ of ralph.streamEvents(run.run_id, undefined, { lastEventId: seen.at(-1).event_id })) none += 1;
const paused = await ralph.actingFor("tess").pauseRun(run.run_id).catch((e) => e.status);
const cancelled = await ralph.cancelRun(run.run_id).then(() => 202, (e) => e.status);
const listed = await ralph.listRuns("site");
const got = await ralph.getRun(run.run_id);
let restarted;
if (ralph.sidecar) {
  const before = ralph.sidecar.pid;
  process.kill(before, "SIGKILL");
  for (;;) {
    try {
      await ralph.getRun(run.run_id);
      if (ralph.sidecar.pid !== before) break;
    } catch (e) {
      if (e.status) throw e;
    }
  }
  restarted = ralph.sidecar.pid !== before;
}
await ralph.close();
console.log(
  JSON.stringify({
    prior: prior.status,
    saved,
    conflict: { status: conflict.status, stored: conflict.problem?.fingerprint_stored },
    types: seen.map((e) => e.type),
    start: seen[0],
    last: seen.at(-1),
    same: JSON.stringify(rest) === JSON.stringify(seen.slice(2)),
    proxied: proxied.split("\n").filter((l) => l.startsWith("id: ")).length === rest.length,
    none,
    paused,
    cancelled,
    listed: listed.map((r) => r.run_id),
    run: got,
    restarted,
  }),
);
