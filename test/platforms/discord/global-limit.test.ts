/** Discord allows 50 requests a second, from the first one on, for all processes together. */
import { afterEach, expect, test } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createDiscordApi, type DiscordApi } from "../../../src/platforms/discord/api/api.ts";
import { createOwnBudget } from "../../../src/platforms/discord/api/shared-slots.ts";
import { createDiscordDouble, type DiscordDouble } from "../../doubles/discord/double.ts";

let discord: DiscordDouble;
const apis: DiscordApi[] = [];
afterEach(async () => {
  for (const api of apis.splice(0)) api.close();
  await discord.stop();
});

async function open(processes: number): Promise<DiscordApi[]> {
  discord = await createDiscordDouble({ limits: { default: "none" } });
  const { apiUrl, token } = discord;
  // Shared as by Redis.
  const budget = createOwnBudget();
  apis.push(...Array.from({ length: processes }, () => createDiscordApi({ token, apiUrl, log: silentLog, budget })));
  return apis;
}

const member = (api: DiscordApi, isBackground = false) =>
  api.request({ method: "GET", route: `/guilds/${discord.guild.id}/members/${discord.ann.id}`, isBackground });

/** The most requests in a second, wherever it begins. */
function busiestSecond(): number {
  const times = discord.requests.map(({ at }) => at);
  return Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
}

test("two processes that begin with many requests at once are refused none of them", async () => {
  const both = await open(2);
  await Promise.all(both.flatMap((api) => Array.from({ length: 35 }, () => member(api))));
  expect(discord.requests.filter(({ status }) => status !== 200)).toEqual([]);
  expect(busiestSecond()).toBeLessThanOrEqual(50);
});

test("what people wait for goes before what nobody waits for, and the answer to a click waits for neither", async () => {
  const [api] = (await open(1)) as [DiscordApi];
  const background = Array.from({ length: 40 }, () => member(api, true));
  const typing = api.request({ method: "POST", route: `/channels/${discord.channel.id}/typing`, retry: "once" });
  const click = api.request({ method: "POST", route: "/interactions/1/token/callback", body: {}, withoutToken: true });
  await Promise.all([typing, click.catch(() => undefined)]);
  const names = discord.requests.map(({ route }) => route);
  expect(names.indexOf("interactions.callback")).toBeLessThan(10);
  expect(names.indexOf("typing")).toBeLessThan(10);
  await Promise.all(background);
});
