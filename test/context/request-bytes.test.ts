/** What the services get, with every shipped skill: how many bytes, and how many of them a prompt cache can reuse. */
import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { InboundMessage } from "../../src/ports/message.ts";
import type { ModelRequest } from "../../src/ports/provider.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import type { CallRecord, TurnRecord } from "../../src/ports/turn.ts";
import { briefs } from "../../src/skill-runtime/library/library.ts";
import { loadSkills } from "../../src/skill-runtime/library/load.ts";
import { loadSkillSpec, runLoadSkill } from "../../src/skill-runtime/library/load-skill.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { blocksOf, type CacheKind, createPromptCache, tokensOf } from "../doubles/prompt-cache.ts";
import { inboundMessage, turnRecord } from "../doubles/records.ts";
import { apis, collect } from "../providers/apis.ts";
import { createCompaction, words } from "./compaction-world.ts";
import { createWorld, promptText, type World } from "./world.ts";

const project = resolve(import.meta.dirname, "../..");
const set = await loadSkills([join(project, "skills")]);
const tools: ToolSpec[] = [loadSkillSpec, ...set.skills.flatMap((skill) => skill.tools)];
const places = {
  page: { platform: "local", conversationId: "local:channel:general:31eaf609-1550-4494-9f87-69c08441571a", id: "ann" },
  slack: { platform: "slack", conversationId: "slack:T012ABCDEF:C012ABCDEF:1763900000.000100", id: "U012ABCDEF" },
  discord: {
    platform: "discord",
    conversationId: "discord:1012345678901234567:1012345678901234568:1012345678901234569",
    id: "1012345678901234560",
  },
};

let world: World;
let double: ModelDouble;
beforeEach(async () => {
  [world, double] = [createWorld(), await startModelDouble()];
  for (const folder of ["identity", "prefrontal"])
    cpSync(join(project, "workspace/brain", folder), join(world.workspace, "brain", folder), { recursive: true });
  double.mock.onMessage(/./, { content: "Done." });
});
afterEach(async () => {
  world.remove();
  await double.stop();
});

const builder = () => world.builder({ skills: () => briefs(set), tools: () => tools, now: () => at });
const at = Date.UTC(2026, 10, 23, 14);

function said(text: string, place: keyof typeof places = "page"): InboundMessage {
  const { platform, conversationId, id } = places[place];
  return inboundMessage({ platform, conversationId, text, at, author: { id, name: "Ann", isBot: false, roles: [] } });
}

function turnOf(message: InboundMessage, id = "t1"): TurnRecord {
  const { platform, conversationId } = message;
  return turnRecord({
    id,
    conversationId,
    messages: [message],
    target: { platform, conversationId, turnId: id, messageId: message.id },
  });
}

async function bodyFor(request: ModelRequest, api = apis[0]): Promise<string> {
  await collect(api?.create(double.url) ?? expect.fail(), request);
  return JSON.stringify(double.requests.at(-1)?.body);
}

function called(id: string, name: string, inputJson: string, text: string): CallRecord {
  const result = { callId: id, name, status: "ok" as const, text, attempts: 1, durationMs: 1, files: [] };
  return { raw: { id, name, inputJson }, result };
}

function addStep(turn: TurnRecord, calls: CallRecord[]): void {
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const asked = { model: "m", requestedModel: "m", usage, at, seenMessages: turn.messages.length };
  turn.steps.push({ text: `Step ${turn.steps.length + 1}.`, calls, stop: "tool-calls", ...asked });
}

const load = async (name: string) => (await runLoadSkill({ name }, set.skills)).text;

/** What each request reads from the cache, and all of it. */
function usesOf(kind: CacheKind, bodies: readonly string[]) {
  const cache = createPromptCache(kind, 0);
  return bodies.map((body) => cache.send(blocksOf(body), at));
}

/** Everything that a request contains, in the order in which services read it. */
function partsOf(body: string): string[] {
  const { tools: defined = [], system = [], instructions = "", messages, input } = JSON.parse(body);
  const parts: unknown[] = [...defined, ...[system].flat(), instructions, ...(messages ?? input)];
  return parts.map((part) => JSON.stringify(part, (key, value) => (key === "cache_control" ? undefined : value)));
}

describe("a message of one line", () => {
  test.each(["page", "slack", "discord"] as const)("is a request of at most 10.8 KB from %s", async (place) => {
    const turn = turnOf(said("what is the difference between a mutex and a semaphore?", place));
    const { request } = await builder().build({ turn, step: 1, tools, notes: [] });
    const body = await bodyFor(request);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(10_800);
    // Nothing is hidden by being short: every tool is defined or named.
    for (const { name } of tools) expect(body).toContain(name);
  });

  test("says once how a skill is loaded, and once how another tool is", async () => {
    const { request } = await builder().build({ turn: turnOf(said("hello")), step: 1, tools, notes: [] });
    const system = request.system.map((part) => part.text).join("\n");
    expect(system.match(/\bload\b.*/gi)).toEqual([
      "Load the tool or its skill with load_skill, then use it with use_tool:",
    ]);
    expect(system).toContain("## Available skills\n- **");
    const telling = request.tools.filter(({ description }) => /\bfirst\b|\bload\b/i.test(description));
    expect(telling.map(({ name }) => name)).toEqual(["load_skill"]);
  });

  test("brings in what its words ask for, with the tools", async () => {
    const { request } = await builder().build({
      turn: turnOf(said("which schedules do I have?")),
      step: 1,
      tools,
      notes: [],
    });
    const text = promptText(request);
    expect(text).toContain('<skill_body name="schedule">');
    expect(text).toMatch(/<skill_tools>\n### schedule_list\n[\s\S]*### schedule_remove\n[\s\S]*\n- id: string\. /);
  });
});

describe("the steps of a turn", () => {
  test("reuse tools and system prompt in the last one, which may call nothing more", async () => {
    const turn = turnOf(said("what did people say about the sales?"));
    const bodyOf = async (notes: string[], more: Partial<ModelRequest> = {}) => {
      const { request } = await builder().build({ turn, step: turn.steps.length + 1, tools, notes });
      return await bodyFor({ ...request, ...more });
    };
    const bodies: string[] = [];
    for (const id of ["c1", "c2", "c3"]) {
      bodies.push(await bodyOf([]));
      addStep(turn, [called(id, "chat_history", '{"limit":20}', "Ann: good morning\n".repeat(20))]);
    }
    const reused = (body: string) => usesOf("anthropic", [...bodies, body]).at(-1)?.read ?? expect.fail();
    const note = ["The tool steps of this turn are used up: answer now in text."];
    const body = await bodyOf(note, { mayCall: false });
    const { tools: sentTools, system } = JSON.parse(body) as { tools: object[]; system: object[] };
    // All but the part of the system prompt that may change with each message.
    const stable = blocksOf(body).slice(0, sentTools.length + system.length - 1);
    expect(reused(body)).toBeGreaterThanOrEqual(tokensOf(stable));
    expect(reused(body) / reused(await bodyOf([]))).toBeGreaterThan(0.7);
    expect(reused(await bodyOf(note, { tools: [] }))).toBe(0);
  });

  test.each(["chat_search", "schedule", "memory"])(
    "reuse 90 % of the prompt from the second one on, with %s loaded",
    async (name) => {
      const turn = turnOf(said("what did people say about the sales?"));
      const steps = [
        called("c1", "shell_exec", '{"command":"ls -la && head -20 sales.txt"}', "total 8\n".repeat(40)),
        called("c2", "load_skill", JSON.stringify({ name }), await load(name)),
        called("c3", "chat_history", '{"limit":20}', "Ann: good morning\n".repeat(20)),
        called("c4", "chat_search", '{"query":"sales"}', "Ben: sales are up, see #reports\n".repeat(20)),
        called("c5", "read_file", '{"path":"sales.txt"}', "2026-11-01,North,12\n".repeat(30)),
      ];
      const bodies: string[] = [];
      for (const step of [undefined, ...steps]) {
        if (step !== undefined) addStep(turn, [step]);
        const { request } = await builder().build({ turn, step: turn.steps.length + 1, tools, notes: [] });
        bodies.push(await bodyFor(request));
      }
      for (const kind of ["anthropic", "prefix"] as const) {
        const [, ...later] = usesOf(kind, bodies);
        const sum = (key: "read" | "tokens") => later.reduce((total, use) => total + use[key], 0);
        expect(sum("read") / sum("tokens")).toBeGreaterThanOrEqual(0.9);
      }
    },
  );

  /** Deterministic, so that a failure repeats. */
  function createRandom(seed: number) {
    let state = seed;
    return (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
  }

  test.each(apis)("begin with every byte of the step before, also after a restart ($name)", async (api) => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const random = createRandom(seed);
      const earlier = builder();
      const before = turnOf(said("chart the sales"), "t0");
      addStep(before, [called("c0", "load_skill", '{"name":"chat_post"}', await load("chat_post"))]);
      await earlier.remember({ ...before, endedAt: at });
      const turn = turnOf(said(["hello", "remind me", "https://example.com"][random(3)] ?? ""));
      let previous: string[] = [];
      for (let step = 1; step <= 5; step += 1) {
        const { request } = await (random(2) === 0 ? builder() : earlier).build({ turn, step, tools, notes: [] });
        const parts = partsOf(await bodyFor(request, api));
        expect(parts.slice(0, previous.length)).toEqual(previous);
        expect(parts.length).toBeGreaterThan(previous.length);
        previous = parts;
        const count = 1 + random(25);
        const one = tools[random(tools.length)]?.name ?? "";
        const json = ["{}", '{"text":"é"}', "{not json", '{"name":"use_tool"}', ""][random(5)] ?? "";
        const calls = Array.from({ length: count }, (_, index) => {
          return called(`s${step}_${index}`, one, json, "x\n".repeat(random(300)));
        });
        addStep(turn, one === "load_skill" ? [called(`s${step}`, one, '{"name":"web"}', await load("web"))] : calls);
      }
    }
  });

  test("are found in the cache through breakpoints, however many calls a step makes", async () => {
    const turn = turnOf(said("hello"));
    const bodies: string[] = [];
    for (let step = 1; step <= 4; step += 1) {
      bodies.push(await bodyFor((await builder().build({ turn, step, tools, notes: [] })).request));
      addStep(
        turn,
        Array.from({ length: 30 }, (_, index) => called(`s${step}_${index}`, "chat_search", '{"query":"x"}', "found")),
      );
    }
    const readBy = (kind: CacheKind) => usesOf(kind, bodies).map(({ read }) => read);
    expect(readBy("anthropic")).toEqual(readBy("prefix"));
    for (const body of bodies) expect(body.match(/"cache_control"/g)?.length).toBeLessThanOrEqual(4);
  });
});

describe("tools that a conversation has loaded", () => {
  test("stay described in its next turns, also after a restart, and nowhere else", async () => {
    const first = turnOf(said("hello"));
    addStep(first, [called("c1", "load_skill", '{"name":"chat"}', await load("chat"))]);
    addStep(first, [called("c2", "data_query", '{"files":["a.csv"],"sql":"SELECT 1"}', "1")]);
    await builder().remember({ ...first, endedAt: at });
    const textFor = async (turn: TurnRecord) => {
      const { request } = await builder().build({ turn, step: 1, tools, notes: [] });
      return promptText(request);
    };
    const next = await textFor(turnOf(said("and now?"), "t2"));
    for (const known of ["### chat_post", "### chat_upload", "### data_query"]) expect(next).toContain(known);
    expect(next).not.toContain("### data_chart");
    expect(next.split("### chat_post\n").length).toBe(2);
    expect(await textFor(turnOf(said("and now?", "slack"), "t3"))).not.toContain("###");
  });

  test("are shown to the model as it calls them", async () => {
    const turn = turnOf(said("hello"));
    addStep(turn, [
      called("c1", "chat_post", '{"text":"hi"}', "Posted."),
      called("c2", "recall", '{"query":"x"}', "no"),
    ]);
    const { request } = await builder().build({ turn, step: 2, tools, notes: [] });
    expect(request.messages.slice(2)).toMatchObject([
      {
        toolCalls: [
          { id: "call00001", name: "use_tool", inputJson: '{"name":"chat_post","input":{"text":"hi"}}' },
          { id: "call00002", name: "recall", inputJson: '{"query":"x"}' },
        ],
      },
      {
        callId: "call00001",
        name: "use_tool",
        text: expect.stringContaining('<tool_result tool="chat_post" status="ok">'),
      },
      { callId: "call00002", name: "recall" },
    ]);
  });
});

describe("a summary of older turns", () => {
  /** Plays turns. Returns the bodies of the last request of the last one, and of what then asks for a summary. */
  async function play(api = apis[0]): Promise<[string, string]> {
    const provider = api?.create(double.url) ?? expect.fail();
    const { compactor, events } = createCompaction(world, provider, {
      ...{ continued: builder().continued, tools: () => tools, contextTokens: 32_000, historyTokens: 2_000 },
    });
    for (let count = 1; count <= 8; count += 1) {
      const turn = turnOf(
        said(count === 2 ? "remind me to chart the sales" : `What about ${count}? ${words}`),
        `t${count}`,
      );
      for (const step of [called(`c${count}`, "chat_post", '{"text":"hi"}', `Posted. ${words.repeat(4)}`), undefined]) {
        const { request, shown } = await builder().build({ turn, step: turn.steps.length + 1, tools, notes: [] });
        turn.shown = structuredClone(shown);
        await bodyFor(request, api);
        addStep(turn, step === undefined ? [] : [step]);
      }
      await builder().remember({ ...turn, endedAt: at });
      if (count === 8) compactor.consider(turn);
    }
    await compactor.whenIdle();
    expect(events.map(({ name }) => name)).toContain("context.compacted");
    const bodies = double.requests.map(({ body }) => JSON.stringify(body));
    return bodies.slice(-2) as [string, string];
  }

  test.each(apis)(
    "is asked for behind every byte of the last request before it, with all tools ($name)",
    async (api) => {
      const [before, asked] = (await play(api)).map(partsOf);
      expect(asked?.slice(0, before?.length)).toEqual(before);
      const added = asked?.slice(before?.length) ?? [];
      expect(added).toHaveLength(2);
      expect(added[0]).toContain("Step 2.");
      expect(added[1]).toContain("You write the summary that replaces");
      expect(JSON.stringify(double.requests.at(-1)?.body)).not.toContain("tool_choice");
    },
  );

  test.each(["anthropic", "prefix"] as const)("reads its prompt from the cache (%s)", async (kind) => {
    const [, use] = usesOf(kind, await play());
    expect((use?.read ?? 0) / (use?.tokens ?? 1)).toBeGreaterThan(0.85);
  });
});
