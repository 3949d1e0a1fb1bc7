/**
 * Skills: the time to read 2,500 generated ones at first, again without a change, and again with one change; their share of the
 * prompt; and the size of the whole prompt of a one-word message with the shipped skills, without tool schemas. Prints one
 * JSON line.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createContextBuilder } from "../src/context/assemble.ts";
import { createHistory } from "../src/context/history-store.ts";
import { createEvents } from "../src/lib/event-bus.ts";
import { silentLog } from "../src/lib/log.ts";
import type { SkillBrief } from "../src/ports/context.ts";
import type { Memory } from "../src/ports/memory.ts";
import type { InboundMessage } from "../src/ports/message.ts";
import type { ToolSpec } from "../src/ports/tool.ts";
import type { TurnRecord } from "../src/ports/turn.ts";
import { briefs, createSkillLibrary } from "../src/skill-runtime/library/library.ts";
import { createToolbox } from "../src/skill-runtime/toolbox.ts";
import { median } from "./statistics.ts";

const count = 2_500;
const rounds = 5;
const project = resolve(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "bench-skills-"));

try {
  const many = join(folder, "many");
  for (let index = 0; index < count; index += 1) writeSkill(many, index);
  const library = createSkillLibrary({ roots: [many], log: silentLog, events: createEvents() });
  const firstMs = await timed(library.reload);
  const loaded = library.current().skills.length;
  const [again, changed] = [[], []] as [number[], number[]];
  for (let round = 0; round < rounds; round += 1) {
    again.push(await timed(library.reload));
    writeSkill(many, 0, `Round ${round}.`);
    changed.push(await timed(library.reload));
  }
  await library.close();
  const figures = {
    bench: "skills",
    skills: loaded,
    firstLoadMs: Math.round(firstMs),
    sameAgainMs: Math.round(median(again)),
    oneChangedMs: Math.round(median(changed)),
    index: await indexOf(briefs(library.current())),
    shipped: await shippedPrompt(),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function writeSkill(root: string, index: number, more = ""): void {
  const path = join(root, `group-${index % 50}`, `skill-${index}`);
  mkdirSync(path, { recursive: true });
  const tools = `tools:\n  - name: act_${index}\n    description: Acts on thing ${index}\n    parameters: { text: { type: string } }\n`;
  const rules = `confirm_patterns:\n  - { pattern: "^act_${index} ", reason: acts }\n`;
  const isCapability = index % 10 === 0;
  const head = `name: skill-${index}\ndescription: Does the thing number ${index} for people who need it, and says so.\ntriggers: [thing${index}]\n`;
  const body = `# Thing ${index}\n\n${"One of some sentences of an ordinary length. ".repeat(40)}${more}\n`;
  writeFileSync(join(path, "SKILL.md"), `---\n${head}${isCapability ? tools + rules : ""}---\n\n${body}`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** With enough room, every skill has one line. With the usual budget, the index stays within its share. */
async function indexOf(skills: SkillBrief[]) {
  const roomy = await promptFor(skills, [], 2_000_000);
  const usual = await promptFor(skills, [], 32_000);
  const lines = roomy.split("\n").filter((line) => line.startsWith("- **skill-")).length;
  return {
    lines,
    bytesEach: Math.round(Buffer.byteLength(roomy) / lines),
    bytesWithin32kTokens: Buffer.byteLength(usual),
  };
}

async function shippedPrompt() {
  const roots = [join(project, "skills")];
  const library = createSkillLibrary({ roots, log: silentLog, events: createEvents() });
  await library.reload();
  const toolbox = createToolbox({
    library,
    log: silentLog,
    workspace: join(folder, "workspace"),
    filesRoot: join(folder, "workspace", "files"),
    dataFolder: join(folder, "data"),
    config: {},
  });
  const tools = toolbox.specs("bench:ping");
  const prompt = await promptFor(briefs(library.current()), tools, 32_000);
  await toolbox.close();
  await library.close();
  const schemas = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return {
    skills: library.current().skills.length,
    tools: tools.length,
    promptBytes: Buffer.byteLength(prompt),
    schemaBytes: Buffer.byteLength(JSON.stringify(schemas)),
  };
}

/** The system prompt and messages for "ping" as text, with the shipped brain and an empty memory. */
async function promptFor(skills: SkillBrief[], tools: ToolSpec[], contextTokens: number): Promise<string> {
  const workspace = join(folder, "workspace");
  cpSync(join(project, "workspace/brain/identity"), join(workspace, "brain/identity"), { recursive: true });
  cpSync(join(project, "workspace/brain/prefrontal"), join(workspace, "brain/prefrontal"), { recursive: true });
  const memory: Memory = {
    search: async () => [],
    stillKnown: async (sources) => [...sources],
    digest: async () => "",
    saveEpisode: async () => {},
    changeEpisode: async () => {},
    recordFeedback: async () => {},
    close: async () => {},
  };
  const store = { get: async () => undefined, set: async () => {}, delete: async () => {}, close: async () => {} };
  const builder = createContextBuilder({
    ephemeral: { get: () => undefined },
    workspace,
    isCompacting: false,
    history: createHistory({ store, log: silentLog, idleMs: null, maxTokens: 16_000 }),
    memory,
    skills: () => skills,
    tools: () => tools,
    config: {
      contextTokens,
      shares: { identity: 15, prefrontal: 10, memory: 30, skills: 20, history: 25 },
      maxOutputTokens: 4_096,
    },
    redact: (text) => text,
    log: silentLog,
    defaultModel: "bench/model",
  });
  const { request } = await builder.build({ turn: ping(workspace), step: 1, tools, notes: [] });
  const said = request.messages.flatMap((message) => ("text" in message ? message.text : JSON.stringify(message)));
  return [...request.system.map((part) => part.text), ...said].join("\n");
}

function ping(workingFolder: string): TurnRecord {
  const author = { id: "ann", name: "Ann", isBot: false, roles: [] };
  const about = { platform: "bench", conversationId: "bench:ping", scope: "channel:c" } as const;
  const message: InboundMessage = {
    ...about,
    id: "m1",
    author,
    text: "ping",
    attachments: [],
    isAddressed: true,
    isDirect: false,
    at: 1,
  };
  return {
    id: "t1",
    conversationId: about.conversationId,
    scope: about.scope,
    messages: [message],
    target: { platform: "bench", conversationId: about.conversationId, turnId: "t1", messageId: "m1" },
    workingFolder,
    steps: [],
    startedAt: 1,
    isDelivered: false,
  };
}
