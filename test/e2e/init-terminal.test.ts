/** `remora init` on a terminal, as a newcomer meets it: each mistake is explained and put right, and Ctrl+C loses nothing. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createDiscordDouble } from "../doubles/discord/double.ts";
import { startModelDouble } from "../doubles/model.ts";
import { createSlackDouble } from "../doubles/slack/double.ts";
import { keys, openTerminal } from "../doubles/terminal.ts";

const project = resolve(import.meta.dirname, "../..");
const patienceMs = 120_000;
const { enter, down, ctrlC } = keys;

async function newcomer() {
  const [slack, discord, model] = await Promise.all([
    createSlackDouble(),
    createDiscordDouble(),
    startModelDouble({ countsChecks: true }),
  ]);
  model.mock.onMessage(/./, { content: "Hello Ann." });
  const folder = await mkdtemp(join(tmpdir(), "remora-init-"));
  onTestFinished(async () => {
    await Promise.all([slack.stop(), discord.stop(), model.stop()]);
    await rm(folder, { recursive: true, force: true });
  });
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: process.env.HOME ?? "",
    REMORA_CONFIG: join(folder, "remora.yaml"),
    REMORA_ENV_FILE: join(folder, ".env"),
    REMORA_DATA: join(folder, "data"),
    OLLAMA_HOST: "http://127.0.0.1:1",
    ANTHROPIC_BASE_URL: model.url,
    SLACK_API_URL: slack.apiUrl,
    DISCORD_API_URL: discord.apiUrl,
  };
  const init = () => {
    const words = [process.execPath, join(project, "src/remora.mjs"), "init"];
    const terminal = openTerminal(words, { cwd: folder, env, timeoutMs: patienceMs });
    onTestFinished(() => terminal.kill());
    return terminal;
  };
  return { slack, discord, model, folder, init };
}

/** A port that another program uses. */
async function takenPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("a newcomer's mistakes on the way to the first answer", { timeout: patienceMs * 4 }, async () => {
  const { slack, discord, model, folder, init } = await newcomer();
  const port = await takenPort();
  await writeFile(join(folder, ".env"), `REMORA_PORT=${port}\n`);
  const token = slack.tokens.get(slack.botToken);
  const scopes = token?.scopes ?? [];
  if (token === undefined) throw new Error("the double has no bot token");

  const first = init();
  await first.shows("Which model should answer?");
  first.press(enter);
  await first.shows("Paste the API key for Anthropic");
  model.refuseKey();
  first.press("sk-ant-wrong", enter);
  await first.shows("does not accept this key for anthropic/claude-sonnet-5-5 (401).");
  await first.shows("What now?");
  model.refuseKey(false);
  first.press(enter);
  await first.shows("Paste the API key for Anthropic");
  first.press("sk-ant-api03-0123456789abcdef", enter);
  await first.shows("claude-sonnet-5-5 answered in");

  await first.shows("Where will people talk to Remora?");
  first.press(down, down, enter);
  await first.shows("Open this link to create the Slack app.");
  await first.shows("Paste the Bot User OAuth Token");
  first.press(slack.appToken, enter);
  await first.shows("This is the app token (xapp-…), but the bot token (xoxb-…) is needed here.");
  await first.shows("What now?");
  token.scopes = scopes.filter((scope) => scope !== "files:read");
  first.press(enter);
  await first.shows("Paste the Bot User OAuth Token");
  first.press(slack.botToken, enter);
  await first.shows("The bot token lacks the scope files:read.");
  await first.shows("● Check again");
  token.scopes = scopes;
  first.press(enter);
  await first.shows("The bot token works");
  await first.shows("Paste the app-level token");
  first.press(slack.appToken, enter);
  await first.shows("Both Slack tokens work.");

  await first.shows("Open this link and click New Application:");
  await first.shows("Paste the bot's token");
  first.press(slack.botToken, enter);
  await first.shows("This is a Slack token, not a Discord token.");
  await first.shows("What now?");
  discord.portal.messageContent = false;
  first.press(enter);
  await first.shows("Paste the bot's token");
  first.press(discord.token, enter);
  await first.shows("The Message Content Intent of Remora is off, so Discord refuses its connection.");
  await first.shows("● Check again");
  discord.portal.messageContent = true;
  discord.guild.removeBot();
  first.press(enter);
  await first.shows("Open this link to add me to your server.");
  await first.shows("Have you added me to a server?");
  first.press(enter);
  await first.shows("I am in no server yet.");
  await first.shows("Have you added me to a server?");
  discord.addGuild("Quayside");
  first.press(enter);
  await first.shows("I am in the server Quayside.");

  await first.shows("Who can approve risky actions?");
  first.press(enter);
  await first.shows("memory, files and skills");
  first.press("/dev/null/brain", enter);
  await first.shows("I can't write in /dev/null/brain (ENOTDIR");
  await first.shows("memory, files and skills");
  first.press(join(folder, "brain"), enter);
  await first.shows("a folder with more skills?");
  first.press(enter);
  await first.shows(`Another program uses port ${port}, perhaps another Remora.`);
  await first.shows("Which port instead?");
  // Once the agent runs, the second one is stopped in the same way.
  first.press(ctrlC);
  await first.shows("Stopped. Your answers are saved.");
  expect(await first.exited).toBe(130);

  const second = init();
  await second.shows("Keep Anthropic (Claude), key sk-ant-…cdef");
  second.press(enter);
  await second.shows("● Slack and Discord");
  second.press(enter);
  await second.shows("Both Slack tokens work.");
  await second.shows("I am in the server");
  await second.shows("Who can approve risky actions?");
  second.press(enter);
  await second.shows("memory, files and skills");
  second.press(enter);
  await second.shows("a folder with more skills?");
  second.press(enter);
  await second.shows("Which port instead?");
  second.press("0", enter);
  await second.shows("Mention me now.");
  slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" });
  await second.shows("Make Ann the approver?");
  second.press(enter);
  await second.shows(`Can approve: Ann (user:slack:${slack.ann.id})`);
  await second.shows(`Owner: Ann (user:slack:${slack.ann.id})`);
  await second.shows("Nobody can approve on Discord yet.");
  await second.shows("Remora is running.");
  second.press(ctrlC);
  await second.shows("Stopped. npm start starts it again.");
  expect(await second.exited).toBe(0);

  expect(second.printed()).not.toMatch(/Paste /);
  expect(await readFile(join(folder, "remora.yaml"), "utf8")).toContain(`user:slack:${slack.ann.id}`);
  for (const secret of [slack.botToken, slack.appToken, discord.token, "sk-ant-api03"])
    expect(first.printed() + second.printed()).not.toContain(secret);
});
