/** From a fresh folder, `remora init` with flags alone leads to an agent that answers on Slack and on Discord. */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { createDiscordDouble } from "../doubles/discord/double.ts";
import { startModelDouble } from "../doubles/model.ts";
import { createSlackDouble } from "../doubles/slack/double.ts";

const project = resolve(import.meta.dirname, "../..");
const patienceMs = 90_000;

test("init writes the settings, starts, and ends its wait when the first mention is answered", {
  timeout: patienceMs * 2,
}, async () => {
  const [slack, discord, model] = await Promise.all([
    createSlackDouble(),
    createDiscordDouble(),
    startModelDouble({ countsChecks: true }),
  ]);
  model.mock.onMessage(/./, { content: "Hello Ann." });
  const folder = await mkdtemp(join(tmpdir(), "remora-init-"));
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), `${text}\n`);
    return join(folder, name);
  };
  const flags = [
    ...["--provider", "anthropic", "--model-key-file", await file("key", "sk-ant-api03-0123456789abcdef")],
    ...["--slack-bot-token-file", await file("bot", slack.botToken)],
    ...["--slack-app-token-file", await file("app", slack.appToken)],
    ...["--discord-token-file", await file("discord", discord.token)],
    ...["--approver", "first", "--workspace", join(folder, "brain"), "--yes"],
  ];
  const child = spawn(process.execPath, [join(project, "src/remora.mjs"), "init", ...flags], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: process.env.HOME ?? "",
      REMORA_CONFIG: join(folder, "remora.yaml"),
      REMORA_ENV_FILE: join(folder, ".env"),
      REMORA_DATA: join(folder, "data"),
      REMORA_PORT: "0",
      OLLAMA_HOST: "http://127.0.0.1:1",
      ANTHROPIC_BASE_URL: model.url,
      SLACK_API_URL: slack.apiUrl,
      DISCORD_API_URL: discord.apiUrl,
    },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  const exited = new Promise<number | null>((done) => child.once("exit", done));
  const until = async (text: string) => {
    await expect.poll(() => said.includes(text) || child.exitCode !== null, { timeout: patienceMs }).toBe(true);
    expect(said).toContain(text);
  };
  try {
    await until("Mention me now.");
    slack.people.say({ as: slack.ann, in: slack.general, text: "@Remora hello" });
    await until("Ann mentioned me, and I answered in");
    await until(`Can approve: Ann (user:slack:${slack.ann.id})`);
    await until("Remora is running.");
    expect(slack.see({ in: slack.general, as: slack.ann }).length).toBeGreaterThan(0);

    discord.ben.say(`${discord.bot.mention} hello`, { in: discord.channel });
    // Checks of the model are not counted, only the two mentions.
    await discord.until(() => model.requests.length >= 2 || undefined);

    const written = await readFile(join(folder, ".env"), "utf8");
    expect((await stat(join(folder, ".env"))).mode & 0o777).toBe(0o600);
    expect(written).toContain(`SLACK_APP_TOKEN=${slack.appToken}`);
    expect(written).toContain("ANTHROPIC_API_KEY=sk-ant-api03-0123456789abcdef");
    expect(await readFile(join(folder, "remora.yaml"), "utf8")).toContain(`user:slack:${slack.ann.id}`);
    for (const secret of [slack.botToken, slack.appToken, discord.token, "sk-ant-api03"])
      expect(said).not.toContain(secret);

    child.kill("SIGTERM");
    expect(await exited, said).toBe(0);
  } finally {
    child.kill("SIGKILL");
    await Promise.all([slack.stop(), discord.stop(), model.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
});
