/** The questions of `remora init`, asked of a script instead of a person, with Slack, Discord and a model as doubles. */
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PassThrough } from "node:stream";
import { parseEnv } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { setupServices } from "../../src/cli/init-services.ts";
import { loadSettings } from "../../src/config/load.ts";
import { type Ask, SetupCancelled } from "../../src/setup/ask.ts";
import { askByFlags } from "../../src/setup/ask-by-flags.ts";
import { askOnTerminal } from "../../src/setup/ask-on-terminal.ts";
import { openConfigFile } from "../../src/setup/config-file.ts";
import { openEnvFile } from "../../src/setup/env-file.ts";
import type { Setup, SetupFlags, SetupServices } from "../../src/setup/services.ts";
import { runSetup } from "../../src/setup/setup.ts";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { freePort } from "../doubles/free-port.ts";
import { type ModelDouble, startModelDouble } from "../doubles/model.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";

const project = resolve(import.meta.dirname, "../..");
const key = "sk-ant-api03-0123456789abcdef";
let [slack, discord, model]: [SlackDouble?, DiscordDouble?, ModelDouble?] = [];
let home = "";

beforeAll(async () => {
  [slack, discord, model] = await Promise.all([
    createSlackDouble(),
    createDiscordDouble(),
    startModelDouble({ countsChecks: true }),
  ]);
  model.mock.onMessage(/./, { content: "ok" });
});
afterAll(() => Promise.all([slack?.stop(), discord?.stop(), model?.stop()]));
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "remora-setup-"));
  return () => rm(home, { recursive: true, force: true });
});

function environment(): Record<string, string> {
  return {
    REMORA_ENV_FILE: join(home, ".env"),
    REMORA_CONFIG: join(home, "remora.yaml"),
    REMORA_DATA: join(home, "data"),
    ANTHROPIC_BASE_URL: model?.url ?? "",
    SLACK_API_URL: slack?.apiUrl ?? "",
    DISCORD_API_URL: discord?.apiUrl ?? "",
  };
}

async function setupWith(ask: Ask, flags: SetupFlags = {}, changes: Partial<SetupServices> = {}): Promise<Setup> {
  const env = environment();
  const partial = {
    ...{ ask, flags, environment: env },
    envFile: await openEnvFile(env.REMORA_ENV_FILE ?? ""),
    config: await openConfigFile(env.REMORA_CONFIG ?? ""),
  };
  const services = await setupServices({ ...partial, root: project });
  // The machine's own port 4180 must not matter.
  const takenPort = async () => undefined;
  return { ...partial, services: { ...services, openLink: async () => {}, takenPort, ...changes } };
}

const run = async (ask: Ask, flags?: SetupFlags, changes?: Partial<SetupServices>) =>
  await runSetup(await setupWith(ask, flags, changes), {
    ...{ root: home, start: undefined, signal: new AbortController().signal },
  });

type Script = readonly (readonly [question: RegExp, ...answers: unknown[]])[];

/** Each answer of a question is used once, the last one again and again. Presses Ctrl+C at question number `cancelAt`. */
function scripted(script: Script, cancelAt = Number.POSITIVE_INFINITY) {
  const left = script.map(([question, ...answers]) => ({ question, answers }));
  const said: string[] = [];
  let asked = 0;
  async function answer<Value>({ message }: { message: string }): Promise<Value> {
    asked += 1;
    said.push(`? ${message}`);
    if (asked === cancelAt) throw new SetupCancelled();
    const entry = left.find(({ question }) => question.test(message));
    if (entry === undefined) throw new Error(`no answer for: ${message}`);
    return (entry.answers.length > 1 ? entry.answers.shift() : entry.answers[0]) as Value;
  }
  const say = (text: string) => void said.push(text);
  const ask: Ask = {
    isInteractive: true,
    ...{ select: answer, several: answer, text: answer, secret: answer, confirm: answer },
    ...{ title: say, say, done: say, warn: (text) => say(`! ${text}`), end: say },
    link: (label, url) => say(`${label} ${url}`),
    during: (_doing, work) => work(),
  };
  return { ask, said: () => said.join("\n"), asked: () => asked };
}

const newcomer = (): Script => [
  [/Which model should/, "anthropic"],
  [/Paste the API key/, key],
  [/Where will people/, "both"],
  [/Bot User OAuth Token/, ` ${slack?.botToken}\n`],
  [/app-level token/, slack?.appToken],
  [/bot's token/, discord?.token],
  [/Who can approve/, "people"],
  [/Who\? Choose/, [`user:slack:${slack?.ann.id}`]],
  [/Their ids/, slack?.ann.id],
  [/memory, files and skills/, "brain"],
  [/folder with more skills/, ""],
];

test("Ctrl+C at every step leaves valid files, and the next run goes on from there", async () => {
  const whole = scripted(newcomer());
  await run(whole.ask);
  const settings = await loadedSettings();
  const { approvers, owners } = settings.config.safety;
  expect([approvers, owners]).toEqual([[`user:slack:${slack?.ann.id}`], [`user:slack:${slack?.ann.id}`]]);
  expect(settings.discord?.token).toBe(discord?.token);
  expect((await stat(join(home, ".env"))).mode & 0o777).toBe(0o600);
  await rm(join(home, ".env"));
  await rm(join(home, "remora.yaml"));
  const again: Script = [[/Which model should/, "keep"], [/Who can approve/, "keep"], ...newcomer()];
  for (let step = 1; step <= whole.asked(); step++) {
    const known = parseEnv(await readFile(join(home, ".env"), "utf8").catch(() => ""));
    const script = known.ANTHROPIC_API_KEY === undefined ? newcomer() : [again[0] as Script[number], ...newcomer()];
    const interrupted = scripted(script, step);
    await run(interrupted.ask).catch((thrown: unknown) => expect(thrown).toBeInstanceOf(SetupCancelled));
    await loadedSettings();
  }
  const last = scripted(again);
  await run(last.ask);
  expect(last.said()).not.toContain(slack?.botToken);
  expect(last.said()).not.toMatch(/\? Paste/);
  expect((await loadedSettings()).slack?.botToken).toBe(slack?.botToken);
});

async function loadedSettings() {
  const loaded = loadSettings(environment(), project);
  if (loaded.type === "invalid") throw new Error(JSON.stringify(loaded.problems));
  return loaded.settings;
}

test("swapped tokens and a missing scope are explained, and can be put right on the spot", async () => {
  const token = slack?.tokens.get(slack.botToken);
  const scopes = token?.scopes ?? [];
  if (token !== undefined) token.scopes = scopes.filter((scope) => scope !== "files:read");
  const { ask, said } = scripted([
    [/Bot User OAuth Token/, slack?.appToken, slack?.botToken],
    [/What now/, "other", "again"],
    [/Where will people/, "slack"],
    [/Which model should/, "demo"],
    ...newcomer(),
  ]);
  const repairing: Ask = {
    ...ask,
    warn(text) {
      ask.warn(text);
      if (/lacks the scope files:read/.test(text) && token !== undefined) token.scopes = scopes;
    },
  };
  await run(repairing);
  expect(said()).toContain("! This is the app token (xapp-…), but the bot token (xoxb-…) is needed here.");
  expect(said()).toContain("! The bot token lacks the scope files:read.\nAdd it under");
  expect(said()).toContain("Both Slack tokens work.");
});

test("people who can't be listed are entered by id, named where they are known, and the first one is the owner", async () => {
  const byId: Script = [
    [/Which model should/, "demo"],
    [/Where will people/, "slack"],
    [/Their ids/, "U012AB3CD, S012AB3CD"],
    ...newcomer(),
  ];
  const unknown = scripted(byId);
  await run(unknown.ask);
  expect(unknown.said()).toContain("! Slack did not list your people (unknown_method). Enter their ids instead.");
  expect(unknown.said()).not.toContain("Who? Choose");
  const { safety } = (await loadedSettings()).config;
  expect([safety.approvers, safety.owners]).toEqual([
    ["user:slack:U012AB3CD", "role:slack:S012AB3CD"],
    ["user:slack:U012AB3CD"],
  ]);

  const ann = { id: "slack:U012ANN00", name: "Ann", hint: "" };
  const known = scripted([[/Who\? Choose/, ["user:slack:U012ANN00"]], ...byId]);
  await run(known.ask, {}, { listSlackPeople: async () => ({ people: [ann], problem: undefined }) });
  expect(known.said()).toContain("Can approve: Ann (user:slack:U012ANN00)");
  expect((await loadedSettings()).config.safety.owners).toEqual(["user:slack:U012AB3CD"]);
});

test("a key of another service is recognised before it is sent anywhere", async () => {
  const sent = model?.requests.length;
  const { ask, said } = scripted([
    [/Paste the API key/, slack?.botToken, "sk-proj-0123456789", ""],
    [/What now/, "other"],
    [/Continue without the key/, true],
    [/Where will people/, "page"],
    ...newcomer(),
  ]);
  await run(ask);
  expect(said()).toContain("! This is a Slack bot token (xoxb-…), not a key for this model. It was not sent.");
  expect(said()).toContain("! This is a key of OpenAI, not a key for this model.");
  const compatible = scripted([
    [/Which model should/, "compatible"],
    [/server's address/, `${model?.url}/v1`],
    [/Paste the key for/, slack?.appToken, ""],
    [/What now/, "skip"],
    [/Where will people/, "page"],
    [/Which of its models/, "gpt-4o"],
    ...newcomer(),
  ]);
  await run(compatible.ask);
  expect(compatible.said()).toContain("! This is a Slack app token (xapp-…)");
  const authorized = model?.requests.slice(sent).map(({ headers }) => String(headers.authorization ?? ""));
  expect(authorized?.filter((value) => value.includes("xapp-") || value.includes("xoxb-"))).toEqual([]);
});

test("a taken port is noticed before the start, and the place that was chosen is chosen again", async () => {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await writeFile(join(home, ".env"), `REMORA_PORT=${port}\n`);
  const chosen: unknown[] = [];
  const rehearsed = scripted([
    [/Which model should/, "demo"],
    [/Where will people/, "page"],
    [/Which port/, "0"],
    ...newcomer(),
  ]);
  const ask: Ask = {
    ...rehearsed.ask,
    select: (question) => {
      if (/Where will people/.test(question.message)) chosen.push(question.initial);
      return rehearsed.ask.select(question);
    },
    text: (question) => {
      if (/folders?/.test(question.message) && chosen.length === 1) throw new SetupCancelled();
      return rehearsed.ask.text(question);
    },
  };
  try {
    const { takenPort } = await setupServices({ ...(await setupWith(ask)), root: project });
    await expect(run(ask)).rejects.toBeInstanceOf(SetupCancelled);
    const before = await takenPort();
    expect(before).toBe(port);
    await run(ask, {}, { takenPort: async () => (rehearsed.said().includes("Which port") ? undefined : before) });
  } finally {
    server.close();
  }
  expect(chosen).toEqual(["slack", "page"]);
  expect(rehearsed.said()).toContain(`! Another program uses port ${port}, perhaps another Remora.`);
  const written = await readFile(join(home, ".env"), "utf8");
  expect(written).toContain("REMORA_PORT=0\n");
  expect(written).not.toContain("CHOSEN_PLACE");
});

test("Ollama elsewhere, and a server with OpenAI's protocol, which does not get OpenAI's key", async () => {
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  await writeFile(join(home, ".env"), `OLLAMA_HOST=${nowhere}\nOPENAI_API_KEY=sk-openai\n`);
  const page: Script = [[/Where will people/, "page"], ...newcomer()];
  const ollama = scripted([
    [/Which model should/, "ollama"],
    [/What now/, "nothing", "address"],
    [/server's address/, model?.url],
    [/Which of its models/, "gpt-4o"],
    ...page,
  ]);
  await run(ollama.ask);
  expect(ollama.said()).toContain(`! Ollama does not answer at ${nowhere}.\nStart it with: ollama serve`);
  expect(ollama.said()).toContain("Ollama: gpt-4o answered in");
  const { models } = (await loadedSettings()).config;
  expect([models.order[0], models.ollama]).toMatchObject(["ollama", { host: model?.url, model: "gpt-4o" }]);

  const compatible = scripted([
    [/Which model should/, "compatible"],
    [/server's address/, `${nowhere}/v1`, `${model?.url}/v1`],
    [/Paste the key for/, "", "sk-own"],
    [/model's name/, "mine"],
    [/What now/, "address"],
    [/Which of its models/, "gpt-4o"],
    ...page,
  ]);
  await run(compatible.ask);
  expect(compatible.said()).toMatch(/! openai\/mine does not answer: .*can't be reached.*\n/);
  expect(model?.requests.at(-1)?.headers.authorization).toBe("Bearer sk-own");
  await writeFile(join(home, ".env"), "OPENAI_API_KEY=sk-openai\n");
  const keyless = scripted([[/Which model should/, "compatible"], [/Paste the key for/, ""], ...page]);
  await run(keyless.ask, { modelUrl: `${model?.url}/v1`, model: "gpt-4o" });
  expect(model?.requests.at(-1)?.headers.authorization).not.toContain("sk-openai");
  expect(keyless.said()).toContain("! OPENAI_API_KEY was removed from");
  expect(parseEnv(await readFile(join(home, ".env"), "utf8")).OPENAI_API_KEY).toBeUndefined();
});

test("a model that does not answer can be exchanged for another one, and a wrong flag is named", async () => {
  const url = `${model?.url}/v1`;
  const body = JSON.stringify({ error: { message: "The model `gpt-9` does not exist", code: "model_not_found" } });
  const unknown = { type: "answer" as const, status: 404, body };
  const others = scripted([
    [/Which model should/, "compatible"],
    [/Paste the key/, "sk-own"],
    [/What now/, "model"],
    [/Which of its models/, "gpt-4o"],
    [/Where will people/, "page"],
    ...newcomer(),
  ]);
  model?.failNext(unknown);
  await run(others.ask, { modelUrl: url, model: "gpt-9" });
  expect(others.said()).toMatch(
    /! openai\/gpt-9 does not answer: there is no model gpt-9.*\nCheck the model's name and the address\./,
  );
  expect((await loadedSettings()).config.models.openai.model).toBe("gpt-4o");

  const noTools = JSON.stringify({ error: "gemma3:4b does not support tools" });
  model?.failNext({ type: "answer", status: 400, body: noTools });
  const ollama = scripted([
    [/Which model should/, "ollama"],
    [/What now/, "model"],
    [/Which of its models/, "gpt-4o"],
    [/Where will people/, "page"],
    ...newcomer(),
  ]);
  await run(ollama.ask, { modelUrl: model?.url ?? "", model: "gemma3:4b" });
  expect(ollama.said()).toMatch(/can't use tools.*\n.*\nGet one with: ollama pull qwen/);

  const byFlags = askByFlags({ output: new PassThrough(), isYes: true });
  await expect(run(byFlags, { provider: "compatible", modelUrl: url })).rejects.toThrow(
    /--model\] Name one of the models there: gpt-4/,
  );
  model?.failNext(unknown);
  await expect(run(byFlags, { provider: "compatible", modelUrl: url, model: "gpt-9" })).rejects.toThrow(
    /--model\] .*there is no model gpt-9/,
  );
});

test("without a terminal, the missing flag is named, and nothing half is in force", async () => {
  const output = new PassThrough();
  const file = async (name: string, text: string) => {
    await writeFile(join(home, name), text);
    return join(home, name);
  };
  await expect(run(askByFlags({ output, isYes: false }))).rejects.toThrow("Give --provider, or --yes");
  const yes = askByFlags({ output, isYes: true });
  await expect(run(yes, { provider: "anthropic" })).rejects.toThrow("Give --model-key-file");
  const lines = await file("key", "sk-SECRET1\nSECRET2");
  const several = "[--model-key-file] The key has several lines. It was not sent. Copy it again, and only the key.";
  await expect(run(yes, { provider: "openai", modelKeyFile: lines })).rejects.toThrow(several);
  await expect(
    run(yes, { provider: "compatible", modelUrl: `${model?.url}/v1`, model: "m", modelKeyFile: lines }),
  ).rejects.toThrow(several);
  const bot = await file("bot", slack?.botToken ?? "");
  await expect(run(yes, { slackBotTokenFile: bot })).rejects.toThrow("Give --slack-app-token-file");
  expect((await loadedSettings()).slack).toBeNull();
  await expect(run(yes, { slackBotTokenFile: await file("empty", " \n") })).rejects.toThrow("this file is empty");
  await expect(run(yes, { slackBotTokenFile: join(home, "none") })).rejects.toThrow("can't be read");
  await expect(run(yes, { port: "abc" })).rejects.toThrow("[--port abc] Enter a number up to 65535.");
  await expect(run(yes, { approver: ["ann"] })).rejects.toThrow("is not an id");
  await expect(run(yes, { skillsFolder: [join(home, "nowhere")] })).rejects.toThrow("There is no folder");
  model?.failNext({ type: "answer", status: 401, body: '{"error":{"type":"authentication_error"}}' });
  const wrong = { provider: "anthropic" as const, modelKeyFile: await file("key", key) };
  await expect(run(yes, wrong)).rejects.toThrow("does not accept this key");
  expect(await readFile(join(home, ".env"), "utf8")).not.toContain(key);
});

test("single lines of .env and of the shipped configuration change, and all others stay", async () => {
  const path = join(home, ".env");
  await writeFile(path, '# mine\nexport A="one # two"\nOPENAI_API_KEY="old\nkey"\nB=1');
  const file = await openEnvFile(path);
  await file.set({ OPENAI_API_KEY: "a'b c#d", NEW: "x" });
  const text = await readFile(path, "utf8");
  expect(text).toMatch(/^# mine\nexport A="one # two"\nB=1\n/);
  expect(parseEnv(text)).toMatchObject({ A: "one # two", B: "1", OPENAI_API_KEY: "a'b c#d", NEW: "x" });
  await expect(file.set({ X: "a\nb" })).rejects.toThrow("can't be kept in .env");

  const shipped = await readFile(join(project, "config/remora.yaml"), "utf8");
  await writeFile(join(home, "c.yaml"), shipped);
  const config = await openConfigFile(join(home, "c.yaml"));
  await config.set([[["safety", "approvers"], ["user:slack:U1"]]]);
  const before = shipped.split("\n");
  const changed = (await readFile(join(home, "c.yaml"), "utf8")).split("\n").filter((line, at) => line !== before[at]);
  expect(changed).toHaveLength(1);
  expect(config.get(["safety", "approvers"])).toEqual(["user:slack:U1"]);
  await writeFile(join(home, "broken.yaml"), "a: [");
  await expect(openConfigFile(join(home, "broken.yaml"))).rejects.toThrow("is not valid YAML");
});

test("on a terminal, Ctrl+C in a question cancels the setup, and keys answer it", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let printed = "";
  output.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const ask = askOnTerminal({ input, output });
  const press = (text: string) => setImmediate(() => input.write(text));
  press("\u0003");
  await expect(ask.secret({ message: "Token", flag: "--x" })).rejects.toBeInstanceOf(SetupCancelled);
  press("xoxb-1\r");
  expect(await ask.secret({ message: "Token", flag: "--x" })).toBe("xoxb-1");
  press("\t\r");
  const choices = [{ value: "ann", label: "Ann" }];
  expect(await ask.several({ message: "Who?", flag: "--x", choices, initial: [] })).toEqual(["ann"]);
  expect(printed).toContain("1 item selected");
  press("\r");
  expect(await ask.text({ message: "Folder", flag: "--x", initial: "workspace" })).toBe("workspace");
});
