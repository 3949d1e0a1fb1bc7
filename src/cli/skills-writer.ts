/** Lets the model write the text of a new skill from a person's sentence. */
import { z } from "zod";
import { providerSettings } from "../config/derive.ts";
import type { Environment } from "../config/environment.ts";
import { readProxies } from "../config/proxies.ts";
import { createEvents } from "../lib/event-bus.ts";
import { parseJson } from "../lib/json.ts";
import { oneLine } from "../lib/text/sanitize.ts";
import type { Provider } from "../ports/provider.ts";
import { createCascade } from "../providers/cascade.ts";
import { createProviders } from "../providers/select.ts";
import { installProxies } from "../proxy/install.ts";
import { settingsFor } from "./settings.ts";

export interface WrittenSkill {
  name: string;
  description: string;
  triggers: string[];
  instructions: string;
}

/** Never rejects. A problem says why there is no text, in a sentence. */
export type SkillWriter = (wish: string) => Promise<WrittenSkill | { problem: string }>;

const probeTimeoutMs = 3_000;
const timeoutMs = 120_000;
const maxOutputTokens = 4_000;
const maxDescriptionCharacters = 300;
const maxInstructionsCharacters = 20_000;

const task = `You write skills for an agent in a team's chat. A skill tells the agent how something is done in this team. The agent has
tools for files, shell commands, the web, the chat, memory and schedules. Reply with one JSON object and nothing else:

{"name": "release-notes", "description": "…", "triggers": ["…"], "instructions": "…"}

name: up to 48 lower-case letters, digits and single hyphens.
description: one sentence that says what the skill does, and one that says when to use it.
triggers: up to five words or phrases that people would write when they need it; or an empty list.
instructions: Markdown, at most 60 lines, in the imperative: what to find out first, the steps, and what the result looks like.
Invent no facts, names, addresses or commands. Where one is missing, write a question in brackets, such as [Which channel?].`;

const answerSchema = z.object({
  name: z.string(),
  description: z.string().trim().min(1),
  triggers: z.array(z.string().trim().min(1).max(60)).max(10).catch([]),
  instructions: z.string().trim().min(1).max(maxInstructionsCharacters),
});

/** The models of the settings. The demo model writes nothing. */
export function modelWriter(env: Environment, root: string): SkillWriter {
  return async (wish) => {
    await installProxies(readProxies(env).proxies);
    const asked = { ...providerSettings(settingsFor(env, root)), refusesDemo: true };
    const ready = await createProviders(asked, AbortSignal.timeout(probeTimeoutMs)).catch(() => undefined);
    const providers = ready?.providers.filter(({ name }) => name !== "demo") ?? [];
    if (providers.length === 0) return { problem: "No model is set up. To set one up: npm run -s remora -- init" };
    return await writeSkill(createCascade({ providers, events: createEvents() }), wish);
  };
}

export async function writeSkill(provider: Provider, wish: string): Promise<WrittenSkill | { problem: string }> {
  const request = {
    system: [{ text: task, isCacheable: false }],
    messages: [{ role: "user" as const, content: [{ type: "text" as const, text: wish }] }],
    tools: [],
    maxOutputTokens,
  };
  let text = "";
  for await (const event of provider.stream(request, AbortSignal.timeout(timeoutMs))) {
    if (event.type === "text-delta") text += event.text;
    if (event.type === "restart" || event.type === "retract") text = "";
    if (event.type === "error") return { problem: `The model did not answer: ${event.error.message}` };
  }
  const read = answerSchema.safeParse(jsonIn(text));
  if (!read.success) return { problem: "The model's answer was not a skill." };
  const { name, description, triggers, instructions } = read.data;
  return { name: nameFrom(name), description: oneLine(description, maxDescriptionCharacters), triggers, instructions };
}

/** Models like to put a fence or a sentence around it. */
function jsonIn(text: string): unknown {
  return parseJson(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
}

function nameFrom(written: string): string {
  const words = written.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.join("-").slice(0, 48).replace(/-$/, "");
}
