// The official client against `ralph mcp` in the current directory. What it saw goes to standard
// output as one JSON object; what isn't as it should be is an exception.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const transport = new StdioClientTransport({
  command: process.env.RALPH_BIN,
  args: ["mcp"],
  env: process.env,
  stderr: "inherit",
});
const client = new Client({ name: "official", version: "1.2.3" });
await client.connect(transport);
assert.equal(client.getServerVersion().name, "ralph");
assert.ok(client.getServerCapabilities().tools);

const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);

const status = await client.callTool({ name: "status", arguments: {} });
assert.equal(status.isError, false);
assert.equal(status.structuredContent.total, 2);
assert.deepEqual(JSON.parse(status.content[0].text).total, 2);

await assert.rejects(client.callTool({ name: "status", arguments: { odd: 1 } }), { code: -32602 });
await assert.rejects(client.callTool({ name: "nope", arguments: {} }), { code: -32601 });
await assert.rejects(client.callTool({ name: "status", arguments: { workspace: "/" } }), { code: -32002 });

const steps = [];
const checked = await client.callTool({ name: "check", arguments: {} }, undefined, {
  onprogress: ({ message }) => steps.push(message),
});

// Given up by the client, and the server serves on.
const giveUp = new AbortController();
const step = client.callTool({ name: "step", arguments: {} }, undefined, {
  signal: giveUp.signal,
  onprogress: ({ message }) => {
    if (message === "the agent works") giveUp.abort("enough");
  },
});
await assert.rejects(step, /enough/);
const after = await client.callTool({ name: "tasks", arguments: {} });

console.log(JSON.stringify({
  names,
  passed: checked.structuredContent.passed,
  steps,
  tasks: after.structuredContent.tasks.length,
}));
await client.close();
