/** Cloudflare bans an address after too many refused requests. */
import { REST, RESTEvents } from "discord.js";
import { afterEach, expect, test, vi } from "vitest";
import { messageOf } from "../../../src/lib/errors.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { createDiscordApi, type DiscordApi, isAway } from "../../../src/platforms/discord/api/api.ts";
import { createInvalidRequests } from "../../../src/platforms/discord/api/invalid-requests.ts";
import { createDiscordDouble, type DiscordDouble } from "../../doubles/discord/double.ts";
import type { RouteLimits } from "../../doubles/discord/rate-limits.ts";

let close = async () => {};
afterEach(async () => {
  vi.useRealTimers();
  await close();
});

async function open(limits: RouteLimits = {}): Promise<{ discord: DiscordDouble; api: DiscordApi }> {
  const discord = await createDiscordDouble({ limits: { default: "none", ...limits } });
  const api = createDiscordApi({ token: discord.token, apiUrl: discord.apiUrl, log: silentLog });
  close = async () => {
    api.close();
    await discord.stop();
  };
  return { discord, api };
}

const read = (api: DiscordApi, { id }: { id: string }) =>
  api.request({ method: "GET", route: `/channels/${id}`, retry: "once" }).then(
    () => "read",
    (thrown: { code?: unknown }) => thrown.code,
  );

test("a place that refuses again and again rests, the others don't, and a change of rights ends the rest", async () => {
  const { discord, api } = await open();
  const hidden = discord.guild.addChannel("board", { isPrivate: true });
  for (let time = 0; time < 30; time += 1) expect(await read(api, hidden)).toBe(50001);
  expect(discord.requests).toHaveLength(10);
  expect(await read(api, discord.channel)).toBe("read");
  hidden.permit(discord.guild.everyone, {});
  api.rightsChanged();
  expect(await read(api, hidden)).toBe("read");
});

test("a refusal that does not say how long to wait is not asked again at once", async () => {
  const { discord, api } = await open();
  const body = { message: "You are being rate limited.", global: false };
  const fault = discord.fail({ route: "channels.get", times: 1_000 }, { type: "answer", status: 429, body });
  await read(api, discord.channel);
  expect(fault.hits).toHaveLength(1);
});

test("a ban is waited for without another request, Health says so, and nobody reads a web page", async () => {
  const { discord, api } = await open({ invalid: { requests: 3, windowMs: 1_000 } });
  const hidden = Array.from({ length: 5 }, (_, index) => discord.guild.addChannel(`c${index}`, { isPrivate: true }));
  for (const channel of hidden) await read(api, channel);
  const count = discord.requests.length;
  const thrown: unknown = await api
    .request({ method: "GET", route: "/users/@me", retry: "once" })
    .catch((error) => error);
  expect(isAway(thrown)).toBe(true);
  expect(messageOf(thrown)).toMatch(/^Discord blocks this machine's address for another \d s, because/);
  expect(api.problem()).toBe(messageOf(thrown));
  expect(discord.requests).toHaveLength(count);
  await expect.poll(() => read(api, discord.channel), { timeout: 5_000 }).toBe("read");
  expect(api.problem()).toBeUndefined();
});

test("long before a ban, first what nobody waits for rests, then everything, until the refusals are ten minutes old", () => {
  vi.useFakeTimers();
  const rest = new REST();
  const invalid = createInvalidRequests([rest], silentLog);
  const answer = { status: 429, headers: new Headers({ "content-type": "application/json" }) };
  const refuse = (times: number, given = answer) => {
    for (let time = 0; time < times; time += 1) rest.emit(RESTEvents.Response, {} as never, given as never);
  };
  const mayAsk = (isBackground: boolean) => {
    try {
      invalid.check("GET", "/users/@me", isBackground);
      return true;
    } catch (thrown) {
      return isAway(thrown) ? false : thrown;
    }
  };
  refuse(10_000, { status: 429, headers: new Headers({ ...json, "x-ratelimit-scope": "shared" }) });
  refuse(999);
  expect([invalid.report(), mayAsk(true)]).toEqual([undefined, true]);
  refuse(1_501);
  expect([mayAsk(false), mayAsk(true)]).toEqual([true, false]);
  expect(invalid.report()).toContain("Discord refused 2,500 requests within ten minutes");
  refuse(2_500);
  expect([mayAsk(false), mayAsk(true)]).toEqual([false, false]);
  expect(invalid.report()).toContain("I pause");
  vi.advanceTimersByTime(11 * 60_000);
  expect([mayAsk(false), mayAsk(true), invalid.report()]).toEqual([true, true, undefined]);
});

const json = { "content-type": "application/json" };
