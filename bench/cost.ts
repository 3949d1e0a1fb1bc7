/**
 * What conversations cost, with the prompt caches of the services simulated by their public rules (test/doubles/prompt-cache.ts),
 * beside a bare bot that only appends: the same tools and system text, without what that has for one message alone, the person's
 * words, the model's answers and the results of its calls, and nothing that is ever rewritten. The agent runs in this process, the
 * model is scripted behind the real APIs, and a minute or two passes between two turns, on the clock of both.
 *
 *   ratio         dollars of all prompts and answers, by the shipped prices, as a multiple of the bare bot's
 *   promptRatio   of prompts only, because the answers are the same
 *   readShare     share of the prompts' tokens that came from the cache
 *   writtenTokens written to the cache
 *   centsOfLine   the 12th and the 100th line, and of the 90th to the 110th
 *   cuts          the lines of which most had to be written to the cache anew, because the history was cut before them
 *
 * Prints one JSON line. `node bench/cost.ts [story …]` plays only the stories whose names begin so.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ModelDouble, startModelDouble } from "../test/doubles/model.ts";
import { blocksOf } from "../test/doubles/prompt-cache.ts";
import { createHome, startRemora } from "../test/doubles/remora-in-process.ts";
import { type Chat, openChat, type PlatformName } from "./cost-chats.ts";
import { type Asked, figuresOf, type Model } from "./cost-figures.ts";
import { mentions, notes, oneLiners, story, type Turn, withTools } from "./cost-stories.ts";

interface Played {
  turns: Turn[];
  model?: Model;
  hasNotes?: boolean;
}

const gpt55 = { name: "openai/gpt-5.5", cache: "prefix" } as const;
const gpt56 = { name: "openai/gpt-5.6", cache: "breakpoints" } as const;
const sonnet = { name: "anthropic/claude-sonnet-5-5", cache: "anthropic" } as const;

/** On each platform. */
const everywhere: Record<string, Played> = {
  story: { turns: story() },
  sixty: { turns: oneLiners(60) },
  sixtyNotes: { turns: oneLiners(60), hasNotes: true },
  sixtyTools: { turns: withTools(oneLiners(60)) },
  twoHundred: { turns: oneLiners(200) },
};

const onThePage: Record<string, Played> = {
  storyGpt55: { turns: story(), model: gpt55 },
  storyGpt56: { turns: story(), model: gpt56 },
  sixtySlow: { turns: oneLiners(60, { minutes: 10 }) },
  sixtyBursts: { turns: oneLiners(60).map((turn, index) => (index % 5 === 0 ? { ...turn, minutes: 20 } : turn)) },
  sixtyGpt55: { turns: oneLiners(60), model: gpt55 },
  sixtyGpt56: { turns: oneLiners(60), model: gpt56 },
  mentions: { turns: mentions(40) },
  mentionsSlow: { turns: mentions(40, { minutes: 10 }) },
  mentionsTools: { turns: mentions(40, {}, 4) },
};

const platforms = { Page: "page", Slack: "slack", Discord: "discord" } as const;

const stories = Object.fromEntries<Played & { platform: PlatformName }>([
  ...Object.entries(everywhere).flatMap(([name, played]) =>
    Object.entries(platforms).map(([suffix, platform]) => [`${name}${suffix}`, { ...played, platform }] as const),
  ),
  ...Object.entries(onThePage).map(([name, played]) => [name, { ...played, platform: "page" }] as const),
]);

/** The agent must take the double for the services themselves, because it sends other servers less. */
function leadTo(double: ModelDouble): () => void {
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) =>
    fetch(
      typeof input === "string" ? input.replace(/^https:\/\/api\.(?:anthropic|openai)\.com/, double.url) : input,
      init,
    );
  return () => {
    globalThis.fetch = fetch;
  };
}

/** The agent's clock goes on by the pauses of the story. */
function createPauses() {
  const { now } = Date;
  let aheadMs = 0;
  Date.now = () => now() + aheadMs;
  return {
    pass: (minutes: number) => {
      aheadMs += minutes * 60_000;
    },
    end: () => {
      Date.now = now;
    },
  };
}

const maxTries = 200;
const retryMs = 10;
const maxEndMs = 30_000;

/** What people see last is not the end: the agent still records the turn, and with it when it ended. */
async function untilEnded(workspace: string, count: number): Promise<void> {
  const folder = join(workspace, "brain/corpus");
  const began = performance.now();
  for (;;) {
    const files = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
    const logs = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")));
    if (logs.join("").split('"turn.finished"').length > count) return;
    if (performance.now() - began > maxEndMs) throw new Error(`turn ${count} has not ended`);
    await pause(retryMs);
  }
}

/** Plays the model's part, in the order in which it is asked. */
function scripted(double: ModelDouble, turns: readonly Turn[]) {
  let asked: Asked[] = [];
  let [turn, step] = [0, 0];
  double.mock.on({ predicate: () => true }, () => {
    const { calls = [], answer = "" } = turns[turn] ?? {};
    const [, name, input = answer] = /^(\w+) (.*)$/s.exec(calls[step] ?? "") ?? [];
    step += 1;
    asked.push({ turn, at: Date.now(), output: input });
    return name === undefined ? { content: answer } : { toolCalls: [{ name, arguments: input }] };
  });
  return {
    begin(index: number) {
      [turn, step] = [index, 0];
    },
    end() {
      const wanted = (turns[turn]?.calls.length ?? 0) + 1;
      if (step !== wanted) throw new Error(`turn ${turn + 1} asked ${step} times instead of ${wanted}`);
    },
    /** Forgets what was asked until now. */
    restart() {
      asked = [];
      double.requests.length = 0;
    },
    /** With the prompts, in the same order. */
    all() {
      const sent = double.requests.map(({ body }) => blocksOf(JSON.stringify(body)));
      if (sent.length !== asked.length) throw new Error("the double has refused a request");
      return { asked, sent };
    },
  };
}

async function play({ platform, turns, model = sonnet, hasNotes = false }: Played & { platform: PlatformName }) {
  const [home, double] = [await createHome(), await startModelDouble()];
  const [restore, pauses, script] = [leadTo(double), createPauses(), scripted(double, turns)];
  const [provider = "", name] = model.name.split("/");
  const config = join(dirname(home.data), "remora.yaml");
  writeFileSync(config, JSON.stringify({ models: { order: [provider], [provider]: { model: name } } }));
  mkdirSync(join(home.workspace, "knowledge"), { recursive: true });
  if (hasNotes) writeFileSync(join(home.workspace, "knowledge/notes.md"), notes(200));
  const keys = { ANTHROPIC_API_KEY: "bench-key", OPENAI_API_KEY: "bench-key" };
  const chat = await openChat(platform, (env) => startRemora(home, { ...keys, REMORA_CONFIG: config, ...env }));
  let count = 0;
  const say = async (said: Turn) => {
    await chat.say(said);
    count += 1;
    await untilEnded(home.workspace, count);
  };
  if (hasNotes) await untilFound(say, double);
  script.restart();
  for (const [index, said] of turns.entries()) {
    script.begin(index);
    pauses.pass(said.minutes);
    await say(said);
    script.end();
  }
  await chat.close();
  pauses.end();
  restore();
  await double.stop();
  await home.remove();
  return figuresOf(turns, script.all(), model);
}

/** Documents are read in the background. Asks in the DM, whose episodes no channel finds. */
async function untilFound(say: Chat["say"], double: ModelDouble): Promise<void> {
  const [about] = oneLiners(1, { place: "dm" });
  const isFound = () => JSON.stringify(double.requests.at(-1)?.body ?? "").includes("Note 12 about");
  for (let tries = 0; about !== undefined && !isFound(); tries++) {
    if (tries === maxTries) throw new Error("the notes are not found");
    await say(about);
  }
}

const wanted = process.argv.slice(2);
const figures: Record<string, unknown> = {};
for (const [name, played] of Object.entries(stories)) {
  if (wanted.length > 0 && !wanted.some((start) => name.startsWith(start))) continue;
  figures[name] = await play(played);
  process.stderr.write(`${name} ${JSON.stringify(figures[name])}\n`);
}
process.stdout.write(`${JSON.stringify({ bench: "cost", ...figures })}\n`);
