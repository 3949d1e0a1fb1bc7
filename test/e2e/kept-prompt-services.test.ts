/**
 * What changes around a conversation: the service that answers, files of the brain, settings, skills, and the tools of a server. Each
 * breaks the prompt of a service once at most, and what it reads is right. With the real agent on the page.
 */
import { appendFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { z } from "zod";
import { type ChatClient, createChatClient, type Place } from "../doubles/chat-client.ts";
import { type HttpTestServer, startHttpServer } from "../doubles/mcp-server-http.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { blocksOf, keptShare } from "../doubles/prompt-cache.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

const leastKept = 0.8;
const gpt = "openai/gpt-5.5";

let home: RemoraHome;
let claude: ModelDouble;
let openai: ModelDouble;
let server: HttpTestServer;
let remora: RunningRemora;
let ann: ChatClient;
let offered = ["find", "old"];
const planned: ({ name: string; arguments: string } | undefined)[] = [];
let answers = 0;

const configPath = () => join(dirname(home.data), "remora.yaml");

async function configure(more: object = {}): Promise<void> {
  const mcp = { servers: { hub: { url: server.url, trust: ["find", "relist", "old", "fresh"] } } };
  const owners = ["user:local:ann"];
  const models = { openai: { model: "gpt-5.5", api: "responses" } };
  await writeFile(configPath(), stringify({ safety: { owners }, models, skills: { settings: { mcp } }, ...more }));
}

beforeAll(async () => {
  const list = () =>
    ["relist", ...offered].map((name) => ({
      ...{ name, description: `What ${name} does` },
      inputSchema: { type: "object", properties: {} },
      annotations: { readOnlyHint: true },
    }));
  [home, claude, openai, server] = await Promise.all([
    createHome(),
    startModelDouble(),
    startModelDouble(),
    startHttpServer({ own: { list, call: (name) => `${name} says HERON-${name}` } }),
  ]);
  for (const { mock } of [claude, openai])
    mock.on({ predicate: () => true }, async () => {
      const call = planned.shift();
      answers += 1;
      return call === undefined
        ? { content: `Answer ${answers}.` }
        : { toolCalls: [{ ...call, id: `toolu_${answers}` }] };
    });
  await configure();
  remora = await startRemora(home, {
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: claude.url, REMORA_CONFIG: configPath() },
    ...{ OPENAI_API_KEY: "another-key", OPENAI_BASE_URL: `${openai.url}/v1` },
  });
  ann = await createChatClient(remora.url, remora.token);
});
afterAll(async () => {
  ann.close();
  await remora.stop();
  await Promise.all([claude.stop(), openai.stop(), server.close(), home.remove()]);
});

const bodiesOf = ({ requests }: ModelDouble, from = 0) => requests.slice(from).map(({ body }) => JSON.stringify(body));

/** Talks in a new thread, and notes what the first requests of turns keep of what their service got before. */
async function startThread() {
  const root = await ann.say("Hello.", { channel: "general" });
  const place: Place = { channel: "general", thread: root.id };
  const last = new Map<ModelDouble, string>();
  const breaks: string[] = [];
  return {
    place,
    breaks,
    /** Resolves with the requests of the turn, of the services that answered. */
    async say(text: string, ...calls: [string, object][]): Promise<string[]> {
      const before = [claude, openai].map(({ requests }) => requests.length);
      planned.push(...calls.map(([name, input]) => ({ name, arguments: JSON.stringify(input) })), undefined);
      const said = await ann.say(`@remora ${text}`, place);
      await ann.waitFor(
        ({ author, thread, sequence, text: answer, state }) =>
          author.isBot &&
          thread === root.id &&
          sequence > said.sequence &&
          state === "done" &&
          answer.startsWith("Answer "),
      );
      const sent = [claude, openai].flatMap((service, index) => {
        const own = bodiesOf(service, before[index]);
        const [first] = own;
        // The person's words, alone.
        if (first !== undefined) expect(JSON.parse(blocksOf(first).at(-1)?.text ?? "{}")).toMatchObject({ text });
        const known = last.get(service);
        if (first !== undefined && known !== undefined && keptShare(known, first) < leastKept) breaks.push(text);
        const newest = own.at(-1);
        if (newest !== undefined) last.set(service, newest);
        return own;
      });
      return sent;
    },
  };
}

function readIn(sent: readonly string[]): string {
  return blocksOf(sent.at(-1) ?? expect.fail())
    .map(({ text }) => text)
    .join("\n");
}

const claudes = z.object({
  messages: z.array(
    z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]) }),
  ),
});
const gpts = z.object({ input: z.array(z.looseObject({ type: z.string().optional(), role: z.string().optional() })) });

/** Each call has its result right behind it, and each once. */
function expectPaired(request: string): void {
  const body: unknown = JSON.parse(request);
  const ofClaude = claudes.safeParse(body);
  if (!ofClaude.success) {
    const { input } = gpts.parse(body);
    const ids = (type: string) => input.filter((item) => item.type === type).map(({ call_id: id }) => id);
    expect(ids("function_call_output")).toEqual(ids("function_call"));
    expect(new Set(ids("function_call")).size).toBe(ids("function_call").length);
    expect(request).not.toMatch(/"signature"|"thinking"|"tool_use"/);
    return;
  }
  const blocks = ofClaude.data.messages.map(({ content }) => (typeof content === "string" ? [] : content));
  for (const [index, content] of blocks.entries()) {
    const calls = content.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    const results = (blocks[index + 1] ?? [])
      .filter(({ type }) => type === "tool_result")
      .map(({ tool_use_id: id }) => id);
    if (calls.length > 0) expect(results).toEqual(calls);
  }
  expect(request).not.toMatch(/encrypted_content|function_call/);
}

test("a conversation that goes to another service and back breaks the prompt of neither, and each gets it in its own form", async () => {
  const { say, place, breaks } = await startThread();
  const list: [string, object] = ["list_folder", { path: "." }];
  await say("what is in the folder?", list);
  await say("thanks");
  await ann.command("model", gpt, place);
  const there = await say("and now?", list, list);
  expect(there).toHaveLength(3);
  await say("and there?");
  await ann.command("model", "default", place);
  const back = await say("and back here?", list);
  expect(JSON.parse(back[0] ?? "{}")).toHaveProperty("system");
  const busy = {
    type: "answer",
    status: 529,
    body: '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
  } as const;
  claude.failNext(busy, busy, busy, busy, busy, busy);
  const other = await say("is it busy?", list);
  expect(other.some((one) => one.includes('"input":['))).toBe(true);
  await say("and at last?");
  expect(breaks).toEqual([]);
  for (const request of [...bodiesOf(claude), ...bodiesOf(openai)]) expectPaired(request);
  const words = [
    "what is in the folder?",
    "thanks",
    "and now?",
    "and there?",
    "and back here?",
    "is it busy?",
    "and at last?",
  ];
  const prompt = readIn(bodiesOf(openai).slice(-1).concat(bodiesOf(claude).slice(-1)));
  for (const one of words.slice(0, 5)) expect(prompt.split(`"${one}"`)).toHaveLength(2);
});

/** The settings, skills and servers are read in the background. */
async function untilRead(
  say: (text: string) => Promise<string[]>,
  isRead: (prompt: string) => boolean,
): Promise<string> {
  let prompt = "";
  await expect
    .poll(
      async () => {
        prompt = readIn(await say("hello"));
        return isRead(prompt);
      },
      { timeout: 15_000, interval: 300 },
    )
    .toBe(true);
  return prompt;
}

const shipSkill = (words: string) =>
  `---\nname: ship\ndescription: How to ship.\ntriggers: [deploy]\n---\n\n${words}\n`;

test("files of the brain, settings, skills and a server's tools that change break the prompt once each, and it has what is there now", async () => {
  const { say, breaks } = await startThread();
  const soul = join(home.workspace, "brain/identity/soul.md");
  const ship = join(home.workspace, "skills/ship");
  await say("hello, are you there?", ["list_folder", { path: "." }]);
  const expectBreaks = async (most: number) => {
    await say("and?");
    await say("and then?");
    expect(breaks.splice(0).length).toBeLessThanOrEqual(most);
  };
  await expectBreaks(0);

  await appendFile(soul, "\n- You like PELICAN-1.\n");
  expect(readIn(await say("who are you?"))).toContain("PELICAN-1");
  await expectBreaks(1);

  await mkdir(ship, { recursive: true });
  // At once, because a half-written skill is none, which is a change of its own.
  const writeSkill = async (words: string) => {
    await writeFile(`${configPath()}.skill`, shipSkill(words));
    await rename(`${configPath()}.skill`, join(ship, "SKILL.md"));
  };
  await writeSkill("Ship on Mondays.");
  await untilRead(say, (prompt) => prompt.includes("How to ship."));
  expect(readIn(await say("deploy it"))).toContain("Ship on Mondays.");
  await expectBreaks(1);
  await writeSkill("Ship on Fridays.");
  await untilRead(say, (prompt) => !prompt.includes("Ship on Mondays."));
  const edited = readIn(await say("deploy it again"));
  expect(edited).toContain("Ship on Fridays.");
  expect(edited).not.toContain("Ship on Mondays.");
  await expectBreaks(1);
  await rm(ship, { recursive: true });
  await untilRead(say, (prompt) => !prompt.includes("How to ship."));
  expect(readIn(await say("deploy it once more"))).not.toContain("Ship on");
  await expectBreaks(1);

  await say("find it", ["load_skill", { name: "mcp/hub" }], ["use_tool", { name: "hub_find", input: {} }]);
  await expectBreaks(0);
  offered = ["find", "fresh"];
  await say("look again", ["use_tool", { name: "hub_relist", input: {} }]);
  const prompt = await untilRead(say, (now) => now.includes("hub_fresh"));
  const tools = prompt.split("\n").find((line) => line.includes("## Available skills"));
  expect(tools).not.toContain("hub_old");
  const refused = readIn(await say("use the old one", ["use_tool", { name: "hub_old", input: {} }]));
  expect(refused).not.toContain("HERON-old");
  expect(readIn(await say("use the fresh one", ["use_tool", { name: "hub_fresh", input: {} }]))).toContain(
    "HERON-fresh",
  );
  await expectBreaks(1);

  await configure({ skills: { deny: ["weather", "data"], settings: { mcp: { servers: {} } } }, turns: { steps: 7 } });
  await untilRead(say, (now) => !now.includes("**data**"));
  await expectBreaks(1);
  for (const request of bodiesOf(claude)) expectPaired(request);
});
