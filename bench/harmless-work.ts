/**
 * How many harmless calls, tasks and questions ask people, with the real process on Slack and a model that makes each row's calls:
 *
 *   commands   every command of test/gate/tables/harmless.ts, judged in one step behind a call that asks, so that none runs
 *   skills     the calls that the shipped skills declare safe, judged with them
 *   tasks      of everyday-work.ts, with a server whose reading tools are in `trust`
 *   questions  of everyday-work.ts, in channels, threads and direct messages
 *
 * A row asks if a card comes for it, or if its answer comes elsewhere than where it was asked for. Rows that a person expects to
 * ask do not count. Prints one JSON line. `node bench/harmless-work.ts`.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { loadSkills } from "../src/skill-runtime/library/load.ts";
import { type PlannedCall, startCallingModel } from "../test/doubles/calling-model.ts";
import { startHttpServer } from "../test/doubles/mcp-server-http.ts";
import { createHome, startRemora } from "../test/doubles/remora-process.ts";
import { createSlackDouble } from "../test/doubles/slack/double.ts";
import type { SeenMessage } from "../test/doubles/slack/see.ts";
import type { Channel } from "../test/doubles/slack/state.ts";
import { isObject } from "../test/doubles/slack/wire.ts";
import { askedByTag, looking, working } from "../test/gate/tables/harmless.ts";
import { questions, type Row, reads, tasks, writes } from "./everyday-work.ts";

const waitMs = 120_000;
const approvedMs = 20_000;

const toolsOf = (names: readonly string[], annotations: object) =>
  names.map((name) => ({ name, description: `The team's ${name}`, inputSchema: { type: "object" }, annotations }));
const odd = [...toolsOf(reads, { readOnlyHint: true }), ...toolsOf(writes, {})];

const [home, slack, server] = await Promise.all([
  createHome(),
  createSlackDouble(),
  startHttpServer({ count: 0, odd }),
]);
slack.limits.isEnforced = false;
const { ann, ben } = slack;
const both = { members: [ann, ben] };
const places: Readonly<Record<string, Channel>> = {
  general: slack.general,
  design: slack.workspace.addChannel({ name: "design", ...both }),
  leads: slack.workspace.addChannel({ name: "leads", ...both, isPrivate: true }),
  dm: slack.workspace.direct(ann),
};

/** The calls of one row are steps; those of the list are one step. */
const plans: PlannedCall[][] = [];
const skills = await loadSkills([resolve(import.meta.dirname, "../skills")]);
const safe = skills.skills.flatMap(({ gateTests }) => gateTests.filter(({ want }) => want === "safe"));
const shell = (command: string | string[]) => JSON.stringify({ command: [command].flat().join(" ") });
const planned = (kind: string, calls: { tool: string; json: string }[]) =>
  calls.map((call, index) => ({ ...call, id: `toolu_${kind}_${index}` }));
const judged: PlannedCall[] = [
  { tool: "shell_exec", json: shell("git push"), id: "toolu_first" },
  ...planned(
    "commands",
    [...looking, ...working, ...askedByTag].map((each) => ({ tool: "shell_exec", json: shell(each) })),
  ),
  ...planned(
    "skills",
    safe.map(({ tool, args }) => ({ tool, json: JSON.stringify(args) })),
  ),
];
let reminder = "";

const model = await startCallingModel(async (sent) => {
  if (sent.includes("[list]")) return judged;
  const number = Math.max(...[...sent.matchAll(/\[(\d+)\]/g)].map(([, digits]) => Number(digits)));
  reminder =
    /\(id ([0-9a-f]{8})\)|\b([0-9a-f]{8})\b/.exec(sent.slice(sent.lastIndexOf("tool_result")))?.[0] ?? reminder;
  const next = plans[number]?.find(({ id }) => !sent.includes(`"${id}"`));
  if (next !== undefined) return [{ ...next, json: next.json.replace("{reminder}", reminder) }];
  const results = [...sent.matchAll(/"tool_result".*?"text":"((?:[^"\\]|\\.){0,200})/g)];
  return `Finished [${number}]. ${JSON.parse(`"${results.at(-1)?.[1] ?? ""}"`)}`;
});

const config = join(dirname(home.data), "remora.yaml");
const mcp = { servers: { team: { url: server.url, trust: reads } } };
await writeFile(
  config,
  JSON.stringify({
    turns: { callsPerStep: 1000 },
    limits: { userRequestsPerMinute: null, channelRequestsPerMinute: null },
    skills: { settings: { mcp } },
  }),
);
const remora = await startRemora(home, {
  ...{ ANTHROPIC_API_KEY: "bench-key", ANTHROPIC_BASE_URL: model.url, REMORA_CONFIG: config },
  ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_API_URL: slack.apiUrl, SLACK_APP_TOKEN: slack.appToken },
});

/** Changes that were kept without asking have a card, too. */
const isCard = ({ metadata, buttons }: SeenMessage) =>
  isObject(metadata?.event_payload) &&
  String(metadata.event_payload.key).startsWith("card:") &&
  buttons.some(({ label }) => !/^(?:Undo|Show|Details)/.test(label));
const seen = (channel: Channel) => slack.see({ in: channel, as: ann }).filter(({ isAgents }) => isAgents);
const everywhere = () =>
  Object.values(places).flatMap((channel) => seen(channel).map((message) => ({ channel, message })));

/** Verdicts fall before the first call of a step runs. */
async function judgeList(): Promise<Map<string, string>> {
  slack.people.say({ as: ben, in: slack.workspace.direct(ben), text: "[list]" });
  const folder = join(home.workspace, "brain/corpus");
  for (const fates = new Map<string, string>(); ; await new Promise((done) => setTimeout(done, 100))) {
    for (const name of (await readdir(folder)).filter((each) => each.endsWith(".jsonl"))) {
      for (const line of (await readFile(join(folder, name), "utf8")).split("\n").slice(0, -1)) {
        const { event, callId } = JSON.parse(line) as { event: string; callId?: string };
        if (event.startsWith("safety.") && callId !== undefined) fates.set(callId, event);
      }
    }
    if (fates.has("toolu_first")) return fates;
  }
}

const threads = new Map<string, string>();

function say(as: typeof ann, place: string, written: string) {
  const [name = "", thread] = place.split("/");
  const [text = "", file] = written.split(/ ?\+(?=sales)/);
  const [fileName = "", content = ""] = file?.split(/: (.*)/s) ?? [];
  const root = threads.get(place);
  const said = slack.people.say({
    ...{ as, in: places[name] as Channel, text },
    ...(root === undefined ? {} : { thread: root }),
    ...(file === undefined ? {} : { files: [{ name: fileName, content }] }),
  });
  if (thread !== undefined && root === undefined) threads.set(place, said.ts);
  return said;
}

function filled(text: string): string {
  return text.replace(/\{(general|design|leads|file)\}/g, (_, name: string) => {
    const found = slack.state.messages.findLast(({ channel, fileIds, user }) =>
      name === "file" ? fileIds.length > 0 && user === ben.id : channel === places[name]?.id,
    );
    if (found === undefined) throw new Error(`nothing is there for {${name}}`);
    if (name === "file") return `${found.channel}:${found.ts}`;
    return `https://acme.slack.com/archives/${found.channel}/p${found.ts.replace(".", "")}`;
  });
}

interface Outcome {
  row: Row;
  asked: string[];
}

async function play(row: Row): Promise<Outcome> {
  const [place, before, asks, calls] = row;
  for (const each of before) await say(ben, place, filled(each.replace("Ben: ", ""))).acknowledged();
  const number = plans.length;
  const steps = calls.map((each) => filled(each).split(/ (.*)/s));
  plans.push(
    planned(
      `${number}`,
      steps.map(([tool = "", json = ""]) => ({ tool, json })),
    ),
  );
  const old = new Set(everywhere().map(({ message }) => message.ts));
  const [text, ...file] = filled(asks).split(/(?= \+sales)/);
  say(ann, place, `${text} [${number}]${file.join("")}`);
  const isNew = ({ message }: { message: SeenMessage }) => !old.has(message.ts);
  const cards = () => everywhere().filter((each) => isNew(each) && isCard(each.message));
  const answer = () => everywhere().find((each) => isNew(each) && each.message.text.includes(`Finished [${number}]`));
  const asked: string[] = [];
  const clicked = new Set<string>();
  while (answer() === undefined) {
    const open = await slack
      .until(
        () => answer() ?? cards().find(({ message }) => !clicked.has(message.ts)),
        clicked.size > 0 ? approvedMs : waitMs,
      )
      .catch(() => undefined);
    if (open === undefined && clicked.size > 0) break;
    if (open === undefined)
      throw new Error(
        `no answer to ${asks}\n${JSON.stringify(
          everywhere()
            .filter(isNew)
            .map(({ message }) => message.readable),
        )}\n${remora.stderr()}`,
      );
    if (!isCard(open.message)) break;
    const { ts, readable, buttons } = open.message;
    clicked.add(ts);
    asked.push(readable.split("\n").slice(0, 3).join(" ").slice(0, 160));
    const button = buttons.find(({ label }) => /^(?:approve|post|send|allow|show)/i.test(label))?.label;
    if (button !== undefined) slack.interactions.click({ as: ann, on: { channel: open.channel, ts }, button });
  }
  const at = answer();
  const isElsewhere = at !== undefined && (at.channel !== places[place.split("/")[0] ?? ""] || at.message.isEphemeral);
  if (isElsewhere) asked.push("the answer came elsewhere");
  if (at !== undefined && /invalid|blocked|no tool|not found|error/i.test(at.message.text))
    process.stderr.write(`? ${asks}: ${at.message.text.slice(0, 300)}\n`);
  return { row, asked };
}

function percent(asked: number, of: number): number {
  return Number(((100 * asked) / of).toFixed(1));
}

const sets: Record<string, object> = {};
const sums = { asked: 0, of: 0 };
function report(name: string, asked: readonly string[], of: number, more: object = {}) {
  sums.asked += asked.length;
  sums.of += of;
  sets[name] = { of, asked: asked.length, per100: percent(asked.length, of), which: asked, ...more };
}
for (const [name, rows] of Object.entries({ tasks, questions })) {
  const outcomes: Outcome[] = [];
  for (const row of rows) outcomes.push(await play(row));
  const shown = ({ row: [place, , asks], asked }: Outcome) => `${place}: ${asks} → ${asked.join("; ")}`;
  const expected = outcomes.filter(({ row }) => row[4] === "card");
  const others = outcomes.filter(({ row }) => row[4] !== "card");
  const silent = expected.filter(({ asked }) => asked.length === 0).map(shown);
  report(name, others.filter(({ asked }) => asked.length > 0).map(shown), others.length, {
    expected: expected.length,
    silent,
  });
}
// Last, and in a place of its own, since its turn stays open.
const fates = await judgeList();
for (const kind of ["commands", "skills"]) {
  const calls = judged.filter(({ id }) => id.startsWith(`toolu_${kind}_`) && fates.has(id));
  const held = calls.filter(({ id }) => fates.get(id) !== "safety.allowed");
  report(
    kind,
    held.map(({ tool, json, id }) => `${fates.get(id)} ${tool} ${json}`),
    calls.length,
  );
}
const all = { ...sums, per100: percent(sums.asked, sums.of) };
process.stdout.write(`${JSON.stringify({ bench: "harmless-work", ...all, sets })}\n`);
await remora.stop();
await Promise.all([model.close(), server.close(), slack.stop(), home.remove()]);
