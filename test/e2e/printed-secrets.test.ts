/**
 * What failing servers and plugins print, through Slack, Discord and the page, with one process: members read that something
 * fails, owners also what it said, and nobody reads a secret, in chat, on the page, in the log or in any file.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startCallingModel } from "../doubles/calling-model.ts";
import { type ChatClient, createChatClient } from "../doubles/chat-client.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { type HttpTestServer, startHttpServer } from "../doubles/mcp-server-http.ts";
import { createHome, type RemoraHome, type RemoraProcess, startRemora } from "../doubles/remora-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

/** Without a name or form that says what they are. */
const configured = {
  variable: "correct horse battery",
  header: "Quiet-Otter-77",
  password: "pl4in&w0rd",
  query: "q-Elk-5521",
};
const unknown = "v7Qm2Zx9Lk4Tn8Rb";
const github = "ghp_R4nd0mR4nd0mR4nd0mR4nd0mR4nd0mR4nd";
const basic = Buffer.from(`ada:${configured.variable}`).toString("base64");

/** Written in two pieces, broken over lines and by colours, encoded, and several in a line. */
const printed = [
  `starting with ${configured.variable} and ${encodeURIComponent(configured.variable)}`,
  `half of it: ${configured.variable.slice(0, 12)}`,
  `\u001b[31m${configured.variable.slice(0, 8)}\u001b[0m${configured.variable.slice(8)} ${github}`,
  `Authorization: Basic ${basic}`,
  `postgres://root:hunter2@db:5432/shop ${unknown.slice(0, 8)}`,
  `${unknown.slice(8)} is refused`,
  "the database is not there",
];
const script = `
const text = ${JSON.stringify(`${printed.join("\n")}\n`)};
process.stderr.write(text.slice(0, 30));
setTimeout(() => process.stderr.write(text.slice(30), () => process.exit(3)), 20);
`;
const secrets = [
  ...[
    "correct horse",
    "horse battery",
    "correct%20horse",
    basic,
    github,
    "hunter2",
    unknown.slice(0, 8),
    unknown.slice(8),
  ],
  ...[configured.header, configured.password, encodeURIComponent(configured.password), configured.query],
];

let [slack, discord]: [SlackDouble, DiscordDouble] = [] as never;
/** The server that answers at first. */
let isDown = false;
let home: RemoraHome;
let remora: RemoraProcess;
let failing: HttpTestServer;
let refusing: HttpTestServer;
let model: Awaited<ReturnType<typeof startCallingModel>>;
let [ann, ben]: [ChatClient, ChatClient] = [] as never;

beforeAll(async () => {
  const said = `no: ${configured.header}, ${configured.query}, ${unknown}, Bearer ${github}`;
  [slack, discord, home, model, failing, refusing] = await Promise.all([
    createSlackDouble(),
    createDiscordDouble(),
    createHome(),
    startCallingModel(),
    startHttpServer({
      instead: (_request, response) => {
        if (isDown) response.writeHead(500).end(said);
        return isDown;
      },
    }),
    startHttpServer({ instead: (_request, response) => response.writeHead(403).end(said) !== undefined }),
  ]);
  const headers = { "x-team": configured.header };
  const servers = {
    broken: { command: process.execPath, args: ["-e", script], env: { GREETING: configured.variable } },
    failing: { url: `${failing.url}?team=${configured.query}`, headers, trust: ["echo"] },
    refusing: { url: `${refusing.url}?team=${configured.query}`, headers },
    // fetch refuses such an address, and names it.
    user: { url: refusing.url.replace("//", `//ada:${encodeURIComponent(configured.password)}@`) },
  };
  const owners = [`user:slack:${slack.ann.id}`, `user:discord:${discord.ann.id}`, "user:local:ann"];
  const config = join(home.workspace, "..", "remora.yaml");
  await writeFile(config, JSON.stringify({ safety: { owners }, skills: { settings: { mcp: { servers } } } }));
  remora = await startRemora(home, {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl, REMORA_CONFIG: config, LOG_LEVEL: "debug" },
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: model.url },
  });
  [ann, ben] = await Promise.all([
    createChatClient(remora.url, remora.token),
    createChatClient(remora.url, remora.token, "ben"),
  ]);
  await vi.waitFor(async () => expect((await ben.command("skills")).text).toMatch(/broken is not.*user is not/s), {
    ...{ timeout: 20_000, interval: 200 },
  });
});
afterAll(async () => {
  for (const client of [ann, ben]) client.close();
  await remora.kill();
  await Promise.all([slack.stop(), discord.stop(), model.close(), failing.close(), refusing.close()]);
  await home.remove();
});

function expectNoSecret(text: string): void {
  // Slack and Discord escape characters, and the page's answers are JSON.
  const plain = text.replaceAll("\\", "").replaceAll("&amp;", "&");
  expect(secrets.filter((secret) => plain.includes(secret))).toEqual([]);
}

async function onSlack(person: "ann" | "ben"): Promise<string> {
  const as = slack[person];
  slack.interactions.command({ as, in: slack.general, command: "/remora", text: "skills" });
  const receipt = () => slack.see({ in: slack.general, as }).find(({ isEphemeral }) => isEphemeral)?.readable;
  return await slack.until(receipt, 20_000);
}

async function onDiscord(person: "ann" | "ben"): Promise<string> {
  const interaction = discord[person].slash("remora skills", { in: discord.channel });
  await discord.until(() => interaction.state() === "answered", 20_000);
  return interaction.reply()?.content ?? "";
}

const places = {
  Slack: onSlack,
  Discord: onDiscord,
  "the page": async (person: "ann" | "ben") => (await { ann, ben }[person].command("skills")).text,
};

describe("what failing servers print", () => {
  test.each(Object.entries(places))("is shown to owners without secrets, and to no member, on %s", async (_, read) => {
    const [owner, member] = [await read("ann"), await read("ben")];
    for (const text of [owner, member]) {
      expectNoSecret(text);
      expect(text).toContain("broken is not connected");
      expect(text).toContain("HTTP 403");
    }
    expect(member).not.toMatch(/database|redacted|starting with/);
    expect(owner).toContain("the database is not there");
    expect(owner).toContain("redacted");
  });

  test("what a failing server prints is on the dashboard's page of skills, without secrets", async () => {
    const text = await (await ann.request("GET", "/dashboard/data/skills")).text();
    expectNoSecret(text);
    expect(text).toContain("the database is not there");
  });

  test("reaches the model and the chat without secrets, when a call fails", async () => {
    isDown = true;
    const said = await ben.say('@remora call failing_echo {"text":"hi"}');
    const { text } = await ben.answerTo(said);
    expect(text).toContain("[redacted]");
    expectNoSecret(text);
    expectNoSecret(model.requests.join("\n"));
  });

  test("what a failing server prints stands without secrets in the log, and in every file", async () => {
    await expect.poll(() => remora.stderr()).toContain("the database is not there");
    expectNoSecret(remora.stderr());
    for (const folder of [home.workspace, home.data]) {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      // A file that is being replaced may be gone by now.
      for (const entry of entries.filter((each) => each.isFile()))
        expectNoSecret(await readFile(join(entry.parentPath, entry.name), "latin1").catch(() => ""));
    }
  });
});
