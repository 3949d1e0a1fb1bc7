/** What doctor says, and that the manifest asks for exactly what the code uses. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { readManifest } from "../../../src/platforms/slack/api/manifest.ts";
import { checkSlack } from "../../../src/platforms/slack/doctor.ts";
import { createSlackDouble, type SlackDouble } from "../../doubles/slack/double.ts";
import { methodRules, scopeFor, scopeForEvent } from "../../doubles/slack/method-rules.ts";

describe("the manifest", () => {
  const sources = join(import.meta.dirname, "../../../src/platforms/slack");
  const code = readdirSync(sources, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"))
    .join("\n");
  const methods = Object.keys(methodRules).filter((method) => code.includes(`"${method}"`));
  const kinds = ["channel", "group", "im", "mpim"] as const;

  /** Which scopes each call needs: one of a list is enough, so lists are asked last. */
  function neededScopes(events: string[]): Set<string> {
    const needed = new Set<string>(["commands"]);
    const lists: string[][] = [];
    for (const method of methods) {
      const { token, scopes } = methodRules[method] ?? { token: "app", scopes: [] };
      if (token === "bot" && scopes.length > 0) lists.push(scopes);
    }
    const families = (action: "read" | "history") => kinds.map((kind) => scopeFor(kind, action));
    if (methods.includes("conversations.history")) for (const scope of families("history")) needed.add(scope);
    if (methods.includes("conversations.list")) for (const scope of families("read")) needed.add(scope);
    for (const event of events) {
      const [type, kind] = event.split(".");
      const channelType = kind === "channels" ? "channel" : kind === "groups" ? "group" : kind;
      const scope = event.startsWith("subteam")
        ? "usergroups:read"
        : scopeForEvent({ type, channel_type: channelType });
      if (scope !== undefined) needed.add(scope);
    }
    for (const [only, ...others] of lists) if (only !== undefined && others.length === 0) needed.add(only);
    // Of a person's DM, which is all that is opened.
    if (methods.includes("conversations.open")) needed.add("im:write");
    return needed;
  }

  test("the methods are found where they are called", () => {
    for (const method of [
      "chat.postMessage",
      "chat.startStream",
      "users.info",
      "conversations.replies",
      "views.open",
    ]) {
      expect(methods).toContain(method);
    }
  });

  test("has exactly the scopes that the methods and events need", async () => {
    const { botScopes, botEvents } = await readManifest();
    expect(botScopes.toSorted()).toEqual([...neededScopes(botEvents)].toSorted());
    expect(new Set(botScopes).size).toBe(botScopes.length);
  });

  test("its suggestions have the form that Slack's schema of manifests takes", () => {
    const { agent_view: view } = parse(readFileSync(join(sources, "../../../slack/manifest.yaml"), "utf8")).features;
    // https://github.com/slackapi/manifest-schema/blob/main/schemas/manifest.schema.2.0.0.json
    const prompt = z.strictObject({ title: z.string().min(1), message: z.string().min(1) });
    const schema = z.strictObject({
      agent_description: z.string().max(300),
      suggested_prompts: z.array(prompt).max(4),
    });
    expect(schema.safeParse(view).error?.issues).toBeUndefined();
  });

  test("subscribes to exactly the events that are listened to", async () => {
    const { botEvents } = await readManifest();
    const listeners = readFileSync(join(sources, "inbound/listeners.ts"), "utf8");
    const patterns = [...listeners.matchAll(/app\.event\((?:"([^"]+)"|\/(.+?)\/)/g)].map(([, name, pattern]) =>
      name === undefined ? new RegExp(pattern ?? "") : new RegExp(`^${name}$`),
    );
    const types = botEvents.map((event) => event.split(".")[0] ?? "");
    for (const type of types) expect(patterns.some((pattern) => pattern.test(type))).toBe(true);
    // The pane of older apps can't be had by new ones, so their manifest does not ask for it.
    const unused = patterns.filter((pattern) => !types.some((type) => pattern.test(type)));
    expect(unused.map(String)).toEqual(["/^assistant_thread_started$/"]);
  });
});

describe("docs/slack.md", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/slack.md"), "utf8");

  test("its manifest for HTTP changes keys that the manifest has", async () => {
    const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    const manifest = parse(readFileSync(join(import.meta.dirname, "../../../slack/manifest.yaml"), "utf8"));
    const changed = parse(yaml);
    expect(changed.features.slash_commands[0].command).toBe(manifest.features.slash_commands[0].command);
    expect(Object.keys(manifest.settings)).toEqual(expect.arrayContaining(Object.keys(changed.settings)));
    expect(manifest.settings.socket_mode_enabled).toBe(true);
  });
});

describe("doctor", () => {
  let slack: SlackDouble;
  beforeEach(async () => {
    slack = await createSlackDouble();
  });
  afterEach(() => slack.stop());

  const isError = ({ level }: { level: string }) => level === "error";

  async function check(
    changes: {
      botToken?: string;
      appToken?: string;
      signingSecret?: string;
      userToken?: string;
      guests?: boolean;
    } = {},
  ) {
    const { userToken, guests } = changes;
    const { signingSecret, appToken = slack.appToken, botToken = slack.botToken } = changes;
    const transport =
      signingSecret === undefined ? { type: "socket" as const, appToken } : { type: "http" as const, signingSecret };
    const search = userToken === undefined ? {} : { userToken };
    const access = { botToken, apiUrl: slack.apiUrl, transport, ...search };
    return await checkSlack(access, new AbortController().signal, guests);
  }

  test("a setting that lets guests in is a warning, because Slack keeps guests from the direct messages of agents", async () => {
    const aboutGuests = async () => (await check({ guests: true })).filter(({ text }) => text.includes("guests"));
    expect(await aboutGuests()).toMatchObject([
      {
        level: "warning",
        text: expect.stringMatching(/^slack\.access\.guests is true, but .*direct messages.*not document/),
      },
    ]);
    const token = slack.tokens.get(slack.botToken);
    if (token !== undefined) token.scopes = token.scopes.filter((scope) => scope !== "assistant:write");
    expect(await aboutGuests()).toEqual([]);
  });

  test("a user token is checked by a search, and a bad one is only a warning", async () => {
    const isAboutSearch = ({ text }: { text: string }) => text.includes("SLACK_USER_TOKEN");
    expect((await check()).filter(isAboutSearch)).toEqual([]);
    const found = await check({ userToken: slack.userToken(slack.ann) });
    expect(found.filter(isAboutSearch)).toMatchObject([{ level: "ok" }]);
    for (const userToken of [slack.userToken(slack.ann, []), slack.botToken, "xoxp-wrong"]) {
      const [finding, ...rest] = (await check({ userToken })).filter(isAboutSearch);
      expect(rest).toEqual([]);
      expect(finding).toMatchObject({ level: "warning", text: expect.stringContaining("search:read") });
    }
  });

  test("when Slack can't be reached, nothing is said about scopes", async () => {
    const transport = { type: "socket" as const, appToken: slack.appToken };
    const tokens = { botToken: slack.botToken, userToken: slack.userToken(slack.ann), transport };
    const stopped = { ...tokens, apiUrl: "http://127.0.0.1:1/api/" };
    const texts = (await checkSlack(stopped, new AbortController().signal)).map(({ text }) => text);
    expect(texts).toHaveLength(3);
    for (const text of texts) expect(text).toMatch(/^SLACK_\w+_TOKEN: .*Can't reach Slack/);
    expect(texts.join("\n")).not.toMatch(/scope|search:read|connections:write/);
  }, 30_000);

  test("all is well", async () => {
    const findings = await check();
    expect(findings.map((finding) => finding.level)).toEqual(["ok", "ok", "ok", "ok"]);
    expect(findings[0]?.text).toContain("@remora in Remora testers");
    expect((await check({ signingSecret: slack.signingSecret })).every((finding) => finding.level === "ok")).toBe(true);
  });

  test("Slack's limit for apps that are distributed outside the Marketplace is found, if a channel has enough messages", async () => {
    const limited = async () => (await check()).filter(({ text }) => text.includes("15 messages"));
    slack.limits.isDistributed = true;
    expect(await limited()).toEqual([]);
    slack.clock.advance(60_000);
    for (let index = 0; index < 16; index++)
      slack.people.say({ as: slack.ann, in: slack.general, text: `line ${index}` });
    expect(await limited()).toMatchObject([{ level: "warning", text: expect.stringContaining("docs/slack.md") }]);
    // The second check in a minute is refused, which says the same.
    expect(await limited()).toHaveLength(1);
    slack.limits.isDistributed = false;
    expect(await limited()).toEqual([]);
  });

  test("scopes that are missing are named one by one, with the place to add them", async () => {
    const token = slack.tokens.get(slack.botToken);
    if (token !== undefined)
      token.scopes = token.scopes.filter((scope) => !["files:write", "im:history"].includes(scope));
    const [, scopes] = await check();
    expect(scopes).toMatchObject({ level: "error" });
    for (const part of ["im:history, files:write", "OAuth & Permissions", "slack/manifest.yaml"])
      expect(scopes?.text).toContain(part);
  });

  test("a token that is refused is named with its variable and what to do", async () => {
    const token = slack.tokens.get(slack.botToken);
    if (token !== undefined) token.state = "revoked";
    expect((await check())[0]).toMatchObject({
      level: "error",
      text: expect.stringMatching(/SLACK_BOT_TOKEN.*token_revoked.*Install/),
    });
    if (token !== undefined) token.state = "active";
    expect((await check({ botToken: "xoxp-1" }))[0]).toMatchObject({
      level: "error",
      text: expect.stringContaining("xoxb-"),
    });
    expect((await check({ appToken: "xapp-wrong" })).find(isError)).toMatchObject({
      level: "error",
      text: expect.stringContaining("SLACK_APP_TOKEN"),
    });
    expect((await check({ appToken: "xoxb-wrong" })).find(isError)?.text).toContain("xapp-");
    expect((await check({ signingSecret: "secret" })).find((finding) => finding.level === "warning")?.text).toContain(
      "SLACK_SIGNING_SECRET",
    );
  });

  test("Slack out of reach is said, and takes no longer than it should", async () => {
    await slack.stop();
    const findings = await check();
    expect(findings[0]).toMatchObject({ level: "error", text: expect.stringContaining("Can't reach Slack") });
    slack = await createSlackDouble();
  });
});
