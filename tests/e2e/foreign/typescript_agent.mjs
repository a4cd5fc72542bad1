// An agent of the TypeScript SDK: it echoes the prompt in Markdown after a tool call that it asks about, with a plan.
import { Readable, Writable } from "node:stream";
import { PROTOCOL_VERSION, agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const options = [
  { optionId: "yes", name: "Go on", kind: "allow_once" },
  { optionId: "no", name: "Leave it", kind: "reject_once" },
];

async function prompt({ params, client }) {
  const { sessionId } = params;
  const tell = (update) => client.notify(methods.client.session.update, { sessionId, update });
  const say = (text) => tell({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  await tell({
    sessionUpdate: "plan",
    entries: [{ content: "Echo", status: "in_progress", priority: "high" }],
  });
  const toolCall = { toolCallId: "t1", title: "Shout", kind: "other", status: "pending" };
  await tell({ sessionUpdate: "tool_call", ...toolCall });
  const { outcome } = await client.request(methods.client.session.requestPermission, { sessionId, toolCall, options });
  const status = outcome.optionId === "yes" ? "completed" : "failed";
  await tell({ sessionUpdate: "tool_call_update", toolCallId: "t1", status });
  await say(`You **said** ${params.prompt[0].text}`);
  return { stopReason: "end_turn" };
}

const connection = agent({ name: "foreign-agent" })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: "foreign-1" }))
  .onRequest(methods.agent.session.prompt, prompt)
  .onNotification(methods.agent.session.cancel, () => {})
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.closed;
