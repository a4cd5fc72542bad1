// One conversation of the TypeScript SDK's client with an agent; what happened goes to stdout as JSON.
// node typescript_client.mjs CWD PROMPT COMMAND [ARGS…]
// With LOAD_LATEST in the environment, the newest session of CWD is listed and loaded instead of a new one.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const [cwd, prompt, command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => agent.on("exit", (code) => resolve(code)));
const seen = { updates: [], permissions: [] };

function allow({ params }) {
  const option = params.options.find(({ kind }) => kind === "allow_once");
  seen.permissions.push({ title: params.toolCall.title, options: params.options.map(({ kind }) => kind) });
  return { outcome: { outcome: "selected", optionId: option.optionId } };
}

const app = client({ name: "foreign-client" })
  .onRequest(methods.client.session.requestPermission, allow)
  .onNotification(methods.client.session.update, ({ params }) => void seen.updates.push(params.update));

await app.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (ctx) => {
  seen.initialize = await ctx.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  if (process.env.LOAD_LATEST) {
    seen.list = await ctx.request(methods.agent.session.list, { cwd });
    const { sessionId } = seen.list.sessions[0];
    seen.session = { sessionId, ...(await ctx.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] })) };
    seen.replayed = seen.updates.length;
  } else {
    seen.session = await ctx.request(methods.agent.session.new, { cwd, mcpServers: [] });
  }
  seen.prompt = await ctx.request(methods.agent.session.prompt, {
    sessionId: seen.session.sessionId,
    prompt: [
      { type: "text", text: prompt },
      { type: "resource_link", name: "README.md", uri: `file://${cwd}/README.md` },
    ],
  });
  // The update handlers run on their own: one more exchange lets the last of them finish.
  await ctx.request(methods.agent.session.list, {}).catch(() => undefined);
});
agent.stdin.end();
seen.exitCode = await exited;
console.log(JSON.stringify(seen));
