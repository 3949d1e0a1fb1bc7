/** Edits and deletions before a new session, of messages that still wait for a turn. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { DiscordDouble } from "../../doubles/discord/double.ts";
import { type DiscordBot, openDiscordBot } from "./discord-bot.ts";
import { createRecordingAgent, type RecordingAgent } from "./recording-agent.ts";

let bot: DiscordBot;
let agent: RecordingAgent;
let discord: DiscordDouble;

beforeEach(async () => {
  bot = await openDiscordBot();
  discord = bot.discord;
  agent = createRecordingAgent();
  await connect();
});
afterEach(() => bot.close());

const connect = () => bot.platform.connect(agent.handlers, new AbortController().signal);

async function say(text: string, where: "channel" | "dm" = "channel") {
  const isDirect = where === "dm";
  const said = discord.ann.say(isDirect ? text : `${discord.bot.mention} ${text}`, {
    in: isDirect ? "dm" : discord.channel,
  });
  await discord.until(() => agent.kept.find(({ id }) => id === said.id));
  return said;
}

test("are found, in channels and in direct messages, and the other messages stay", async () => {
  const [edited, deleted] = [await say("one"), await say("two")];
  await say("three");
  const [editedDm, deletedDm] = [await say("four", "dm"), await say("five", "dm")];
  agent.unanswered = agent.kept;
  await bot.platform.close();
  discord.ann.edit(edited, `${discord.bot.mention} one, edited`);
  discord.ann.delete(deleted);
  discord.ann.edit(editedDm, "four, edited");
  discord.ann.delete(deletedDm);
  await bot.restart();
  discord.gateway.forgetSessions();
  await connect();
  await discord.until(() => agent.edited.length + agent.deleted.length >= 4);
  expect(agent.edited).toEqual([
    { id: edited.id, text: "one, edited" },
    { id: editedDm.id, text: "four, edited" },
  ]);
  expect(agent.deleted).toEqual([deleted.id, deletedDm.id]);
});
