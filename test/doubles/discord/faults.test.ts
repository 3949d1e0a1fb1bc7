/** Rate limits and faults: waits, broken connections, and requests that took effect anyway. */
import { type Client, DiscordAPIError, type TextChannel } from "discord.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { call, connect } from "./client.ts";
import { createDiscordDouble, type DiscordDouble } from "./double.ts";

let discord: DiscordDouble;
let client: Client<true>;

beforeEach(async () => {
  discord = await createDiscordDouble();
  client = await connect(discord);
});

afterEach(async () => {
  await client.destroy();
  await discord.stop();
});

const general = () => client.channels.cache.get(discord.channel.id) as TextChannel;
const post = (content: string) => call(discord, "POST", `/channels/${discord.channel.id}/messages`, { content });
const texts = () => discord.channel.messages().map(({ content }) => content);

test("the sixth message within five seconds gets a 429 with all of Discord's fields", async () => {
  const answers = [];
  for (const n of [1, 2, 3, 4, 5, 6]) answers.push(await post(`m${n}`));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
  const remaining = answers.map(({ headers }) => headers.get("x-ratelimit-remaining"));
  expect(remaining).toEqual(["4", "3", "2", "1", "0", "0"]);
  const [first, last] = [answers[0], answers[5]];
  expect(last?.body).toMatchObject({ message: "You are being rate limited.", global: false });
  expect(last?.body.retry_after).toBeGreaterThan(0);
  expect(last?.body.retry_after).toBeLessThanOrEqual(5);
  expect(Number(last?.headers.get("retry-after"))).toBe(Math.ceil(last?.body.retry_after ?? 0));
  expect(last?.headers.get("x-ratelimit-scope")).toBe("user");
  expect(first?.headers.get("x-ratelimit-bucket")).toBe(last?.headers.get("x-ratelimit-bucket"));
  expect(Number(first?.headers.get("x-ratelimit-reset-after"))).toBeLessThanOrEqual(5);
  expect(texts()).toEqual(["m1", "m2", "m3", "m4", "m5"]);
  discord.clock.advance(5000);
  expect((await post("m7")).status).toBe(200);
});

test("each channel has its own limit, and edits have another", async () => {
  const other = discord.guild.addChannel("other");
  for (const n of [1, 2, 3, 4, 5]) await post(`m${n}`);
  expect((await post("m6")).status).toBe(429);
  expect((await call(discord, "POST", `/channels/${other.id}/messages`, { content: "here" })).status).toBe(200);
  const [message] = discord.channel.messages();
  const edit = () =>
    call(discord, "PATCH", `/channels/${message?.channelId}/messages/${message?.id}`, { content: "e" });
  const statuses = [];
  for (let n = 0; n < 6; n += 1) statuses.push((await edit()).status);
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
});

test("the client waits for a full bucket and loses nothing", async () => {
  discord.limits.set("messages.create", { requests: 2, windowMs: 300 });
  await Promise.all(["a", "b", "c", "d", "e"].map((text) => general().send(text)));
  expect(texts()).toEqual(["a", "b", "c", "d", "e"]);
  expect(discord.requests.filter(({ status }) => status === 429)).toEqual([]);
});

test("the client waits after an unexpected 429", async () => {
  const rule = { route: "messages.create" };
  const fault = discord.fail(rule, { type: "rate-limit", retryAfterSeconds: 0.2, scope: "shared" });
  await general().send("patience");
  expect(fault.hits).toHaveLength(1);
  expect(discord.requests.slice(-2).map(({ status }) => status)).toEqual([429, 200]);
  expect(texts()).toEqual(["patience"]);
});

test("all routes share a limit, except interactions", async () => {
  discord.limits.set("global", { requests: 3, windowMs: 60_000 });
  discord.clock.advance(1000);
  const get = () => call(discord, "GET", `/channels/${discord.channel.id}`);
  const answers = [await get(), await get(), await get(), await get()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(answers[3]?.headers.get("x-ratelimit-global")).toBe("true");
  expect(answers[3]?.body.global).toBe(true);
  expect((await call(discord, "POST", "/interactions/1/t/callback", { type: 4 })).body.code).toBe(10062);
});

test("a connection that breaks during the response has performed the request", async () => {
  discord.fail({ route: "messages.create" }, { type: "cut", when: "during" });
  await expect(general().send("sent, and never heard of")).rejects.toThrow();
  expect(texts()).toEqual(["sent, and never heard of"]);
});

test("a connection that breaks before the request has no effect", async () => {
  discord.fail({ route: "messages.create" }, { type: "cut", when: "before" });
  await expect(general().send("lost")).rejects.toThrow();
  expect(texts()).toEqual([]);
  discord.fail({ route: "messages.create" }, { type: "cut", when: "before", isReset: true });
  await general().send("tried again by the client");
  expect(texts()).toEqual(["tried again by the client"]);
});

test("the client retries a 502, and a custom response can hide a performed request", async () => {
  discord.fail({ method: "POST", path: /\/messages$/, times: 2 }, { type: "answer", status: 502 });
  await general().send("third time");
  discord.fail({ route: "messages.create" }, { type: "answer", status: 502, isDone: true });
  await general().send("twice");
  expect(texts()).toEqual(["third time", "twice", "twice"]);
});

test("any refusal can be set up, from a given request on and for any number of requests", async () => {
  const body = { message: "Missing Access", code: 50001 };
  const rule = { route: "messages.create", after: 1, times: Number.POSITIVE_INFINITY };
  const fault = discord.fail(rule, { type: "answer", status: 403, body });
  await general().send("goes");
  await expect(general().send("does not")).rejects.toBeInstanceOf(DiscordAPIError);
  await expect(general().send("nor this")).rejects.toMatchObject({ code: 50001 });
  fault.remove();
  await general().send("goes again");
  expect(texts()).toEqual(["goes", "goes again"]);
});

test("a response can be late or missing", async () => {
  discord.fail({ route: "messages.create" }, { type: "delay", milliseconds: 50 });
  const slow = general().send("slow");
  await discord.until(() => texts().includes("slow"));
  await slow;
  discord.fail({ route: "messages.create" }, { type: "hang" });
  client.rest.options.timeout = 50;
  client.rest.options.retries = 0;
  await expect(general().send("unanswered")).rejects.toThrow(/abort/i);
  expect(texts()).toEqual(["slow"]);
});

test("a new token invalidates the old one", async () => {
  discord.resetToken();
  await expect(general().send("x")).rejects.toMatchObject({ status: 401 });
});

test("ids grow whether the service's clock runs or not", async () => {
  const frozen = await createDiscordDouble({ now: () => 1_700_000_000_000, limits: "none" });
  const ids = ["a", "b", "c"].map((text) => BigInt(frozen.ann.say(text, { in: frozen.channel }).id));
  expect(ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0n))).toBe(true);
  expect(new Set(ids.map((id) => Number((id >> 22n) + 1_420_070_400_000n)))).toEqual(new Set([1_700_000_000_000]));
  await frozen.stop();
});
