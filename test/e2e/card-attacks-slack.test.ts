/**
 * Attacks on what a card shows, through Slack with the real process: text behind markers of a secret, a call that is too long
 * for a message, a failing upload of its file, and a configured secret.
 */
import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import type { Said } from "../doubles/slack/people.ts";
import type { SeenMessage } from "../doubles/slack/see.ts";

const cloudKey = `cloud${randomBytes(12).toString("hex")}`;
let home: RemoraHome;
let remora: RunningRemora;
let slack: SlackDouble;

beforeAll(async () => {
  [slack, home] = await Promise.all([createSlackDouble(), createHome()]);
  const config = join(dirname(home.data), "remora.yaml");
  const safety = { shell: "ask", owners: [`user:slack:${slack.ben.id}`] };
  await writeFile(config, JSON.stringify({ safety, skills: { settings: { cloud: { apiKey: cloudKey } } } }));
  const tokens = { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl };
  remora = await startRemora(home, { REMORA_CONFIG: config, ...tokens });
});
afterAll(async () => {
  await remora.stop();
  await Promise.all([slack.stop(), home.remove()]);
});

function mention(text: string): Said {
  return slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${text}` });
}

function agentsIn({ channel, ts }: Said): SeenMessage[] {
  return slack.see({ in: channel, thread: ts }).filter((message) => message.isAgents);
}

function seen(said: Said, fits: (message: SeenMessage) => boolean): Promise<SeenMessage> {
  return slack.until(() => agentsIn(said).find(fits), 20_000);
}

const labels = ({ buttons }: SeenMessage) => buttons.map(({ label }) => label);

function press(card: SeenMessage, button: string, as = slack.ann) {
  return slack.interactions.click({ as, on: { channel: slack.general, ts: card.ts }, button }).acknowledged();
}

const settled = (said: Said, card: SeenMessage, words: string) =>
  seen(said, ({ ts, readable, buttons }) => ts === card.ts && buttons.length === 0 && readable.includes(words));

test("text between PEM markers or after sk- is on the card", async () => {
  const command =
    "echo -----BEGIN RSA PRIVATE KEY-----; echo hidden; echo -----END RSA PRIVATE KEY----- sk-ant-api03-0123456789abcdefghij";
  const said = mention(`run ${command}`);
  const card = await seen(said, (message) => labels(message).includes("Approve"));
  expect(card.readable).toContain(command);
  await press(card, "Deny");
  await settled(said, card, "Ann denied");
});

test("a 40 KB call is uploaded before it can be approved; if that fails, only Deny is offered", async () => {
  const command = `echo ${"long ".repeat(8_000)}-----BEGIN PRIVATE KEY----- tail`;
  slack.failNext("upload", { type: "http", status: 500 });
  const refused = mention(`run ${command} one`);
  const withoutFile = await seen(refused, (message) => labels(message).includes("Deny"));
  expect(labels(withoutFile)).toEqual(["Deny"]);
  expect(withoutFile.readable).toContain("couldn't upload the file with the full call, so this can't be approved here");
  await press(withoutFile, "Deny");
  await settled(refused, withoutFile, "Ann denied");

  const said = mention(`run ${command} two`);
  const card = await seen(said, (message) => labels(message).includes("Approve"));
  const files = agentsIn(said).flatMap((message) => message.files);
  expect(files.map(({ content }) => content)).toEqual([expect.stringContaining(`${command} two`)]);
  await press(card, "Deny");
  await settled(said, card, "Ann denied");
});

test("a configured secret is shown by name, and only an owner can approve the call", async () => {
  const said = mention(`run echo ${cloudKey} >> secret.txt`);
  const card = await seen(said, (message) => labels(message).includes("Approve"));
  expect(card.readable).toContain(`echo [skills.settings.cloud.apiKey, ${cloudKey.length} characters]`);
  expect(card.readable).toContain("Only an owner can approve");
  expect(labels(card)).toEqual(["Approve", "Deny"]);
  await press(card, "Approve");
  await slack.until(() =>
    slack.see({ in: slack.general, thread: said.ts, as: slack.ann }).find((message) => message.isEphemeral),
  );
  const folder = join(home.workspace, "files", `channel:${slack.general.id}`);
  expect(await readdir(folder).catch(() => [])).not.toContain("secret.txt");
  await press(card, "Approve", slack.ben);
  await settled(said, card, "Ben approved");
  await seen(said, (message) => labels(message).includes("Undo"));
  expect(await readFile(join(folder, "secret.txt"), "utf8")).toBe(`${cloudKey}\n`);
  expect(JSON.stringify(agentsIn(said))).not.toContain(cloudKey);
});
