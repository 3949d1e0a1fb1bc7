import { readFile } from "node:fs/promises";
import { PermissionFlagsBits } from "discord.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inviteUrl, neededPermissions } from "../../../src/platforms/discord/api/permissions.ts";
import { checkDiscord } from "../../../src/platforms/discord/doctor.ts";
import { createDiscordDouble, type DiscordDouble } from "../../doubles/discord/double.ts";

let discord: DiscordDouble;
const signal = new AbortController().signal;

beforeEach(async () => {
  discord = await createDiscordDouble();
});
afterEach(() => discord.stop());

function check(token = discord.token) {
  return checkDiscord({ token, apiUrl: discord.apiUrl }, signal);
}

test("a good set-up is called good, line by line, with the link that invites it", async () => {
  const findings = await check();
  expect(findings.map(({ level }) => level)).toEqual(["ok", "ok", "ok", "ok"]);
  const link = new URL(/https:\S+/.exec(findings.at(-1)?.text ?? "")?.[0] ?? "");
  expect(link.searchParams.get("client_id")).toBe(discord.bot.id);
  expect(link.searchParams.get("scope")).toBe("bot applications.commands");
  const { ViewChannel, SendMessages, CreatePublicThreads, SendMessagesInThreads } = PermissionFlagsBits;
  const { EmbedLinks, AttachFiles, ReadMessageHistory, AddReactions } = PermissionFlagsBits;
  const needed =
    ViewChannel |
    SendMessages |
    CreatePublicThreads |
    SendMessagesInThreads |
    EmbedLinks |
    AttachFiles |
    ReadMessageHistory |
    AddReactions;
  expect(BigInt(link.searchParams.get("permissions") ?? 0)).toBe(needed);
});

test("the link in the documentation has the same permissions", async () => {
  const page = await readFile(new URL("../../../docs/discord.md", import.meta.url), "utf8");
  const link = new URL(inviteUrl("APPLICATION_ID"));
  expect(page).toContain(decodeURIComponent(link.href));
  for (const [, name] of neededPermissions) expect(page).toContain(name);
});

test("a wrong token is an error that names the page where there is a new one", async () => {
  const [finding, ...more] = await check("not.a.token");
  expect(more).toEqual([]);
  expect(finding).toMatchObject({ level: "error", text: expect.stringContaining("Reset Token") });
});

test("an intent that is off is an error that names its switch", async () => {
  discord.portal.messageContent = false;
  expect(await check()).toContainEqual({
    level: "error",
    text: expect.stringMatching(/Message Content Intent is off/),
  });
});

test("how close the bot is to Discord's review of the intent is said, and that the review returns each year", async () => {
  const said = async () => (await check()).find(({ text }) => text.startsWith("The Message Content Intent"));
  expect(await said()).toMatchObject({ level: "ok", text: expect.stringContaining("From 10,000 people on") });
  discord.guild.setMembersElsewhere(5_000);
  discord.addGuild("another").setMembersElsewhere(4_000);
  const near = await said();
  expect(near).toMatchObject({ level: "warning", text: expect.stringContaining("about 9,006 members") });
  for (const part of ["again each year", "90 days", "will write to the owner"]) expect(near?.text).toContain(part);
  discord.guild.setMembersElsewhere(12_000);
  expect(await said()).toMatchObject({ level: "warning", text: expect.stringContaining("It writes to the owner") });
  discord.portal.isReviewed = true;
  expect(await said()).toMatchObject({ level: "ok", text: expect.stringMatching(/approved it.*again each year/) });
});

test("a bot in no server is told where to go", async () => {
  discord.guild.removeBot();
  expect(await check()).toContainEqual({ level: "warning", text: expect.stringContaining("not in any server yet") });
});

test("missing permissions are named with their channels, hidden channels are not", async () => {
  const { guild, channel } = discord;
  channel.permit(discord.bot, { deny: ["CreatePublicThreads", "AttachFiles"] });
  guild.addChannel("hidden", { isPrivate: true });
  const findings = await check();
  const [warning, ...more] = findings.filter(({ level }) => level === "warning");
  expect(more).toEqual([]);
  expect(warning?.text).toMatch(/Harbour: in #general I'm missing Create Public Threads, Attach Files\./);
  expect(warning?.text).not.toContain("hidden");
});

test("one server that can't be looked into is a warning, and the rest is checked all the same", async () => {
  const away = discord.addGuild("Away");
  away.addBot();
  const refusal = { status: 403, body: { code: 50001, message: "Missing Access" } };
  discord.fail({ path: new RegExp(`^/guilds/${away.id}`), times: 10 }, { type: "answer", ...refusal });
  const findings = await check();
  expect(findings.map(({ level }) => level)).toEqual(["ok", "ok", "ok", "warning", "ok"]);
  expect(findings[3]?.text).toContain("Away: I can't check this server (Missing Access)");
});

test("a server that can't be reached is an error with its address", async () => {
  const [finding] = await checkDiscord({ token: "x", apiUrl: "http://127.0.0.1:1/api" }, signal);
  expect(finding).toMatchObject({ level: "error", text: expect.stringMatching(/ECONNREFUSED.*DISCORD_API_URL/) });
});
