// The TypeScript SDK's client, driving an agent through the steps of a plan; what happened goes to stdout as JSON.
// node typescript_client.mjs PLAN COMMAND [ARGS…], where PLAN is JSON:
//   cwd, capabilities, mcpServers, permit (the kind of option to choose), answer (to elicitation/create),
//   buffers (path → text that is not saved), steps: ["new"], ["load"], ["list"], ["call", METHOD, PARAMS],
//   ["prompt", BLOCKS], ["cancelled", BLOCKS] (cancelled as soon as a tool runs), ["connected"] (asks /mcp until no
//   server is connecting).
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { services } from "./typescript_services.mjs";

const [planned, command, ...args] = process.argv.slice(2);
const plan = { capabilities: {}, mcpServers: [], permit: "allow_once", buffers: {}, ...JSON.parse(planned) };
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => agent.on("exit", (code) => resolve(code)));
const seen = { results: [], updates: [], permissions: [], questions: [], calls: [] };
let onRunning = null;

function told({ params }) {
  seen.updates.push(params.update);
  if (params.update.status === "in_progress" && onRunning) {
    const then = onRunning;
    onRunning = null;
    then();
  }
}

function permit({ params }) {
  const option = params.options.find(({ kind }) => kind === plan.permit);
  seen.permissions.push({ title: params.toolCall.title, options: params.options, id: params.toolCall.toolCallId });
  return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
}

const app = services(
  client({ name: "foreign-client" })
    .onRequest(methods.client.session.requestPermission, permit)
    .onNotification(methods.client.session.update, told),
  plan,
  seen,
);

await app.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (ctx) => {
  const { cwd, mcpServers } = plan;
  let sessionId;
  const steps = {
    list: () => ctx.request(methods.agent.session.list, { cwd }),
    new: async () => {
      const answer = await ctx.request(methods.agent.session.new, { cwd, mcpServers });
      ({ sessionId } = answer);
      return answer;
    },
    load: async () => {
      [{ sessionId }] = (await steps.list()).sessions;
      return ctx.request(methods.agent.session.load, { sessionId, cwd, mcpServers });
    },
    call: (method, params) => ctx.request(method, { sessionId, ...params }),
    prompt: (prompt) => ctx.request(methods.agent.session.prompt, { sessionId, prompt }),
    cancelled: (prompt) => {
      onRunning = () => ctx.notify(methods.agent.session.cancel, { sessionId });
      return steps.prompt(prompt);
    },
    connected: async () => {
      for (let tries = 0; tries < 200; tries += 1) {
        const before = seen.updates.length;
        const answer = await steps.prompt([{ type: "text", text: "/mcp" }]);
        await steps.list();
        if (!JSON.stringify(seen.updates.slice(before)).includes("connecting")) return answer;
        await setTimeout(100);
      }
      throw { message: "A server is still connecting." };
    },
  };
  seen.initialize = await ctx.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: plan.capabilities,
  });
  for (const [verb, ...rest] of plan.steps) {
    const failed = ({ code, message, data }) => ({ error: { code, message, data } });
    const result = await steps[verb](...rest).catch(failed);
    // The update handlers run on their own: one more exchange lets the last of them finish.
    await steps.list().catch(() => undefined);
    seen.results.push({ ...result, updatesBy: seen.updates.length });
  }
});
agent.stdin.end();
seen.exitCode = await exited;
console.log(JSON.stringify(seen));
