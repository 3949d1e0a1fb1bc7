/** A process that dies at any instant of a reply, with each way to write, wherever Slack lets the reply be written. */
import { afterEach, expect, test } from "vitest";
import type { Platform, Reply } from "../../../src/ports/platform.ts";
import { answersOnceAtEveryCrash, asksOnceAtEveryCrash, type CrashWorld } from "../../conformance/crash-points.ts";
import type { SeenMessage } from "../../doubles/slack/see.ts";
import { createTestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld } from "./world.ts";

const isDecision = (label: string) => /^(?:Approve|Deny)/.test(label);

let world: SlackWorld;
afterEach(() => world.close());

const ways = [
  ["streamed", "native"],
  ["edited", "edits"],
] as const;

/** The end must not be in the stream that has the first words. */
function leavingStreams(platform: Platform): Platform {
  return {
    ...platform,
    reply(target, posts) {
      const reply = platform.reply(target, posts);
      const finish: Reply["finish"] = async (...end) => {
        reply.avoidPreviews?.();
        await reply.finish(...end);
      };
      return { ...reply, finish };
    },
  };
}

async function open(streaming: "native" | "edits", locked?: "before" | "between"): Promise<CrashWorld> {
  world = await createSlackWorld({ changes: { streaming } });
  const { slack } = world;
  slack.limits.isEnforced = false;
  const agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  let channel = slack.general;
  const own = (): SeenMessage[] => slack.see({ in: channel }).filter(({ isAgents }) => isAgents);
  const lock = () => {
    for (const message of slack.state.messages) message.isThreadLocked = true;
  };
  return {
    async mention() {
      channel = slack.workspace.addChannel({ name: "another", members: [slack.ann] });
      await slack.people.say({ as: slack.ann, in: channel, text: "@Remora hello" }).acknowledged();
      if (locked === "before") lock();
      const message = agent.kept.at(-1);
      if (message === undefined) throw new Error("nothing was heard");
      return message;
    },
    start: () => world.another(),
    ...(locked === "between" ? { betweenWords: lock } : {}),
    waitLong() {},
    shown: () => own().map(({ readable }) => readable),
    buttons: () =>
      own()
        .flatMap(({ buttons }) => buttons.map(({ label }) => label))
        .filter(isDecision),
    files: () => own().flatMap(({ files }) => files.map(({ name }) => name)),
    until: (check) => slack.until(check),
  };
}

test.each(ways)("an answer that is %s is shown once", async (_, streaming) => {
  expect(await answersOnceAtEveryCrash(await open(streaming))).toBeGreaterThan(3);
});

test("an answer that leaves its stream in the middle is shown once", async () => {
  const opened = await open("native");
  const start = async () => leavingStreams(await opened.start());
  expect(await answersOnceAtEveryCrash({ ...opened, start })).toBeGreaterThan(3);
});

test.each(ways)("an answer that is %s in a thread that is locked in the middle is shown once", async (_, streaming) => {
  expect(await answersOnceAtEveryCrash(await open(streaming, "between"))).toBeGreaterThan(3);
});

test("an answer outside a thread that was locked before is shown once", async () => {
  expect(await answersOnceAtEveryCrash(await open("edits", "before"))).toBeGreaterThan(3);
});

test.each(ways)("a card between answers that are %s is shown once, and ends without buttons", async (_, streaming) => {
  expect(await asksOnceAtEveryCrash(await open(streaming))).toBeGreaterThan(3);
});
