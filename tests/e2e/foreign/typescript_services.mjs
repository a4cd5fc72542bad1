// What the client does for the agent: files (those of plan.buffers are open and not saved), terminals, questions.
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { RequestError, methods } from "@agentclientprotocol/sdk";

const { fs, terminal, elicitation } = methods.client;

export function services(app, plan, seen) {
  const counted = (method, handler) =>
    app.onRequest(method, ({ params }) => {
      seen.calls.push(method);
      return handler(params);
    });
  counted(fs.readTextFile, async ({ path, line, limit }) => {
    const text = plan.buffers[path] ?? (await readFile(path, "utf8").catch(() => null));
    if (text === null) throw RequestError.resourceNotFound(path);
    const first = (line ?? 1) - 1;
    const lines = text.split(/(?<=\n)/);
    return { content: lines.slice(first, limit == null ? undefined : first + limit).join("") };
  });
  counted(fs.writeTextFile, async ({ path, content }) => {
    if (path in plan.buffers) plan.buffers[path] = content;
    await writeFile(path, content);
    return {};
  });
  counted(elicitation.create, (params) => {
    seen.questions.push(params);
    return plan.answer ?? { action: "cancel" };
  });
  terminals(counted);
  return app;
}

function terminals(counted) {
  const running = new Map();
  counted(terminal.create, ({ command, args = [], env = [], cwd }) => {
    const added = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const child = spawn(command, args, { cwd, env: { ...process.env, ...added }, stdio: ["ignore", "pipe", "pipe"] });
    const state = { child, output: "", exit: null };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (state.output += data));
    state.ended = new Promise((resolve) =>
      child.on("close", (exitCode, signal) => resolve((state.exit = { exitCode, signal }))),
    );
    const terminalId = `terminal-${running.size + 1}`;
    running.set(terminalId, state);
    return { terminalId };
  });
  counted(terminal.output, ({ terminalId }) => {
    const { output, exit } = running.get(terminalId);
    return { output, truncated: false, ...(exit && { exitStatus: exit }) };
  });
  counted(terminal.waitForExit, ({ terminalId }) => running.get(terminalId).ended);
  counted(terminal.kill, ({ terminalId }) => (running.get(terminalId).child.kill("SIGKILL"), {}));
  counted(terminal.release, ({ terminalId }) => (running.get(terminalId).child.kill("SIGKILL"), {}));
}
