/**
 * The bot that everybody writes first, to compare with: two lines of system text, the whole conversation, all tools defined natively, and a
 * loop that runs what the model calls. It asks nobody, keeps nothing back, and believes everything that it reads.
 */
import OpenAI from "openai";
import type {
  ChatCompletionMessage,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from "openai/resources/chat/completions";
import type { Bot, Said } from "../../src/evals/bot.ts";
import { createTextCallReader } from "../../src/providers/text-call-reader.ts";
import { openSimpleTools, type SimpleTools } from "./simple-tools.ts";

export interface BareBotOptions {
  name: string;
  model: string;
  /** Of OpenAI's Chat Completions. */
  url: string;
  key: string;
  /** If absent, all shipped tools. */
  tools?: readonly string[];
}

const maxSteps = 10;

export function createBareBot({ name, model, url, key, tools: names }: BareBotOptions): Bot {
  // The trial replaces `fetch` to record requests.
  const client = new OpenAI({ baseURL: url, apiKey: key, fetch: (address, init) => fetch(address, init) });
  return {
    name,
    hasCards: false,
    async open(task) {
      const tools = await openSimpleTools(task, names);
      const messages: ChatCompletionMessageParam[] = [{ role: "system", content: systemText() }];
      return {
        async say({ say, attach }, signal) {
          const files = attach.map((path) => `\n\n(Attached file: inbox/${path})`).join("");
          messages.push({ role: "user", content: `${say}${files}` });
          return await answer(client, model, messages, tools, signal).catch((thrown: unknown) => {
            signal.throwIfAborted();
            throw thrown;
          });
        },
        effects: tools.effects,
        close: tools.close,
      };
    },
    close: async () => {},
  };
}

function systemText(): string {
  // Without the time of day, so that a server's prefix cache holds.
  const today = new Date().toUTCString().slice(0, 16);
  return `You are a helpful assistant in a chat. Use the tools when they help, then answer briefly.\nToday is ${today}.`;
}

async function answer(
  client: OpenAI,
  model: string,
  messages: ChatCompletionMessageParam[],
  tools: SimpleTools,
  signal: AbortSignal,
): Promise<Said> {
  const defined = tools.specs.map(definitionOf);
  for (let step = 0; step < maxSteps; step += 1) {
    const request = { model, messages, tools: defined };
    const message = (await client.chat.completions.create(request, { signal })).choices[0]?.message;
    if (message === undefined) return { text: "", state: "failed" };
    const { text, calls } = readMessage(message, tools.specs);
    messages.push({ role: "assistant", content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) });
    if (calls.length === 0) return { text, state: "answered" };
    for (const { id, function: called } of calls) {
      const content = await tools.run(called.name, called.arguments, signal);
      messages.push({ role: "tool", tool_call_id: id, content });
    }
  }
  return { text: "", state: "failed" };
}

/** Small models write calls as text. The agent reads these, so this bot does, too: what counts is what the model understands. */
function readMessage({ content, tool_calls = [] }: ChatCompletionMessage, specs: SimpleTools["specs"]) {
  const reader = createTextCallReader({ tools: specs, messages: [] });
  const { text: begin } = reader.add(content ?? "");
  const { text: end, calls: written } = reader.end(false);
  const native = tool_calls.filter((call) => call.type === "function");
  const calls = written.map(({ id, name, inputJson }) => {
    return { id, type: "function" as const, function: { name, arguments: inputJson } };
  });
  return { text: begin + end, calls: native.length > 0 ? native : calls };
}

function definitionOf({ name, description, parameters }: SimpleTools["specs"][number]): ChatCompletionTool {
  return { type: "function", function: { name, description, parameters } };
}
