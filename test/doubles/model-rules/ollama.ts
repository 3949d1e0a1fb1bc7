/**
 * What Ollama refuses, and what it does instead of refusing: it silently drops messages from the front of a prompt that is
 * too long, and lets models think that can. As its source of August 2026 says.
 */

import { estimateTokens } from "../../../src/context/tokens.ts";
import { isJsonObject } from "../../../src/lib/json.ts";
import { alternation, functionsIn } from "./chat.ts";
import { templateException } from "./local-servers.ts";
import { type ModelCall, type ModelRule, pathRule, type Refusal } from "./rule.ts";
import { ollamaSchemaRules } from "./tool-schemas.ts";

const at = (file: string, lines: string) =>
  `https://github.com/ollama/ollama/blob/fb30760996871fa9460115c753afd2c60d4ab0f7/${file}#${lines}`;
const read = "2026-11-27";

export interface InstalledModel {
  name: string;
  /** As Ollama names them: completion, tools, thinking, vision, embedding. Absent: a version that does not know them. */
  capabilities?: readonly string[];
  family?: string;
  /** Of the file, in bytes. */
  size?: number;
  /** What the model was trained for. Absent: /api/show has no `model_info`, as in old versions. */
  contextLength?: number | undefined;
  /** More of `model_info`, without the architecture's prefix. */
  info?: Record<string, unknown>;
  /** The PARAMETER lines of its Modelfile. */
  parameters?: string;
  /** It runs there, not on this machine. */
  remoteHost?: string;
  /** The largest `num_ctx` for which the machine has memory. */
  fits?: number;
}

/** On a machine with less than 23 GiB of VRAM, and on every CPU. */
const defaultContext = 4096;
const imageTokens = 768;
/** What a double without a list of models has under each name. */
const anyModel = { capabilities: ["completion", "tools", "vision"], contextLength: 131_072 };

/** `requests` see the installed models; without a list, every name is one. */
function installedModel({ installed, body }: ModelCall): InstalledModel | undefined {
  const name = String(body.model);
  if (installed === undefined) return { name, ...anyModel };
  return installed.find((one) => one.name === name || one.name === `${name}:latest`);
}

/** `GET /api/tags` and `POST /api/show`. `listsCapabilities`: newer versions say in the list what each model can do. */
export function ollamaPage(call: ModelCall, listsCapabilities: boolean): Refusal | undefined {
  if (call.path === "/api/tags" && call.installed !== undefined) {
    const models = call.installed.map(({ name, capabilities, family = "qwen3", size = 3_400_000_000, remoteHost }) => ({
      ...{ name, model: name, size, digest: "0", modified_at: "2026-11-01T00:00:00Z" },
      details: { format: "gguf", family, families: [family], parameter_size: "4B", quantization_level: "Q4_K_M" },
      ...(listsCapabilities ? { capabilities } : {}),
      ...(remoteHost === undefined ? {} : { remote_host: remoteHost, remote_model: name }),
    }));
    return { status: 200, body: { models } };
  }
  if (call.path !== "/api/show") return undefined;
  const model = installedModel(call);
  if (model === undefined) return notFound(call);
  const { capabilities, contextLength, family = "qwen3", info = {}, parameters, remoteHost } = model;
  const own = Object.entries({ context_length: contextLength, ...info }).map(([key, value]) => [
    `${family}.${key}`,
    value,
  ]);
  return {
    status: 200,
    body: {
      ...{ capabilities, details: { family, families: [family] }, ...(parameters === undefined ? {} : { parameters }) },
      ...(contextLength === undefined
        ? {}
        : { model_info: { "general.architecture": family, ...Object.fromEntries(own) } }),
      ...(remoteHost === undefined ? {} : { remote_host: remoteHost, remote_model: model.name }),
    },
  };
}

function notFound({ body }: ModelCall): Refusal {
  return { status: 404, body: { error: `model '${body.model}' not found` } };
}

export const ollamaRules: readonly ModelRule[] = [
  pathRule(
    ["/api/chat", "/api/tags", "/api/show", "/v1/chat/completions", "/v1/responses"],
    "https://github.com/sigoden/aichat/issues/1100",
    "404 page not found",
  ),
  ...ollamaSchemaRules(functionsIn, (error) => ({ status: 400, body: { error } })),
  {
    says: "Ollama knows only models that are installed",
    source: at("server/routes.go", "L2485"),
    read,
    refuse: (call) => (isChat(call) && installedModel(call) === undefined ? notFound(call) : undefined),
  },
  {
    says: "a thinking level or think: true is refused for a model that can't think",
    source: at("server/routes.go", "L2621-L2630"),
    read,
    refuse: (call) =>
      isChat(call) && call.body.think !== undefined && call.body.think !== false && !can(call, "thinking")
        ? refusal(`"${call.body.model}" does not support thinking`)
        : undefined,
  },
  {
    says: "an embedding model can't chat",
    source: at("server/routes.go", "L2635-L2637"),
    read,
    refuse: (call) =>
      isChat(call) && !can(call, "completion") ? refusal(`"${call.body.model}" does not support chat`) : undefined,
  },
  {
    says: "tools are refused for a model that can't use them",
    source: at("server/images.go", "L559-L573"),
    read,
    refuse: (call) =>
      isChat(call) && listIn(call.body.tools).length > 0 && !can(call, "tools")
        ? refusal(`registry.ollama.ai/library/${call.body.model} does not support tools`)
        : undefined,
  },
  {
    says: "a context that does not fit into memory is refused",
    source: "https://github.com/ollama/ollama/issues/13556",
    read,
    refuse(call) {
      const { fits } = (isChat(call) && installedModel(call)) || {};
      if (fits === undefined || contextOf(call) <= fits) return undefined;
      return refusal("model requires more system memory (9.3 GiB) than is available (6.1 GiB)", 500);
    },
  },
  {
    says: "with truncate: false, a prompt that is longer than the context is refused, in the words of llama-server",
    source: at("llm/llama_server.go", "L1648-L1655"),
    read,
    refuse(call) {
      if (!isChat(call) || call.body.truncate !== false) return undefined;
      const [tokens, context] = [tokensOf(call.body), contextOf(call)];
      if (tokens < context) return undefined;
      const message = `request (${tokens} tokens) exceeds the available context size (${context} tokens), try increasing it`;
      const error = { code: 400, message, type: "exceed_context_size_error", n_prompt_tokens: tokens, n_ctx: context };
      return refusal(JSON.stringify({ error }));
    },
  },
  // It has the engine render the model's own template, and passes on what the engine says.
  alternation(
    "https://github.com/mistralai/mistral-vibe/issues/1006",
    refusal(JSON.stringify({ error: templateException }), 500),
  ),
  {
    says: "without it, messages are dropped from the front until the prompt fits, but not system messages and the last one",
    source: at("server/prompt.go", "L35-L74"),
    read,
    change(call) {
      if (!isChat(call) || call.body.truncate === false) return undefined;
      const messages = listIn(call.body.messages);
      const from = messages.findIndex(
        (_, index) =>
          index === messages.length - 1 ||
          tokensOf({ ...call.body, messages: keptFrom(messages, index) }) <= contextOf(call),
      );
      return from <= 0 ? undefined : { ...call.body, messages: keptFrom(messages, from) };
    },
  },
  {
    says: "a model that can think does so before it answers, unless think is false",
    source: at("server/routes.go", "L2615-L2620"),
    read,
    answer(call, frames) {
      if (!isChat(call) || !can(call, "thinking") || call.body.think === false) return undefined;
      const thought = (thinking: string) =>
        JSON.stringify({ model: call.body.model, message: { role: "assistant", content: "", thinking }, done: false });
      return [thought("The person wants"), thought(" something."), ...frames];
    },
  },
];

function isChat({ path }: ModelCall): boolean {
  return path === "/api/chat";
}

function can(call: ModelCall, capability: string): boolean {
  return installedModel(call)?.capabilities?.includes(capability) ?? true;
}

function refusal(error: string, status = 400): Refusal {
  return { status, body: { error } };
}

/** The request comes before the Modelfile, and no model gets more than it was trained for. */
function contextOf(call: ModelCall): number {
  const { contextLength = Number.POSITIVE_INFINITY, parameters = "" } = installedModel(call) ?? {};
  const asked = isJsonObject(call.body.options) ? call.body.options.num_ctx : undefined;
  const ofFile = /^num_ctx\s+(\d+)/m.exec(parameters)?.[1];
  return Math.min(contextLength, Number(asked ?? ofFile ?? defaultContext));
}

function tokensOf(body: Record<string, unknown>): number {
  const messages = listIn(body.messages);
  const texts = messages.map((message) => estimateTokens(JSON.stringify({ ...message, images: undefined })));
  const images = messages.flatMap((message) => listIn(message.images)).length;
  const tools = listIn(body.tools).length === 0 ? 0 : estimateTokens(JSON.stringify(body.tools));
  return texts.reduce((sum, count) => sum + count, tools + images * imageTokens);
}

function keptFrom(messages: readonly Record<string, unknown>[], from: number) {
  return messages.filter((message, index) => index >= from || message.role === "system");
}

function listIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value : [];
}
