/** Somebody sets the machine's clock back or forward by hours, while Discord's goes on. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createDiscordApi, type DiscordApi } from "../../../src/platforms/discord/api/api.ts";
import { createAttempts } from "../../../src/platforms/discord/outbound/attempts.ts";
import { createPosts } from "../../conformance/platform-world.ts";
import { createDiscordDouble, type DiscordDouble } from "../../doubles/discord/double.ts";

const threeHoursMs = 3 * 3_600_000;
const tenMinutesMs = 600_000;
const trueTime = () => Math.round(performance.timeOrigin + performance.now());

let discord: DiscordDouble;
let api: DiscordApi;

beforeEach(async () => {
  const limits = { global: "none", "messages.create": { requests: 1, windowMs: 300 } } as const;
  discord = await createDiscordDouble({ now: () => trueTime() - tenMinutesMs, limits });
  api = createDiscordApi({ token: discord.token, apiUrl: discord.apiUrl, log: silentLog });
});
afterEach(async () => {
  vi.restoreAllMocks();
  api.close();
  await discord.stop();
});

function setClock(changeMs: number): void {
  vi.spyOn(Date, "now").mockImplementation(() => trueTime() + changeMs);
}
const setBack = () => setClock(-threeHoursMs);

const post = (content: string) =>
  api.request({ method: "POST", route: `/channels/${discord.channel.id}/messages`, body: { content } });
const texts = () => discord.channel.messages().map(({ content }) => content);
const get = () => api.request({ method: "GET", route: `/users/${discord.ann.id}` });

test("a route's used-up limit ends when Discord says so", async () => {
  // The client learns the limit's bucket from the first answer.
  for (const text of ["one", "two"]) await post(text);
  setBack();
  await post("three");
  expect(texts()).toEqual(["one", "two", "three"]);
});

test("so does a request that waits for it at that moment", async () => {
  for (const text of ["one", "two"]) await post(text);
  const waiting = post("three");
  setBack();
  await waiting;
  await post("four");
  expect(texts()).toEqual(["one", "two", "three", "four"]);
});

test("the limit of all routes is not reckoned until the old time comes again", async () => {
  // From now on, the client counts its requests.
  discord.fail({ route: "users.get" }, { type: "rate-limit", retryAfterSeconds: 1, scope: "global" });
  await get();
  setBack();
  await Promise.all(Array.from({ length: 120 }, get));
});

test.each([-threeHoursMs, threeHoursMs])(
  "a message that was posted before a crash is found with a clock that is wrong by %i ms",
  async (wrongMs) => {
    for (let count = 0; count < 600; count++) discord.ann.say(`earlier ${count}`, { in: discord.channel });
    discord.clock.advance(tenMinutesMs);
    setClock(wrongMs);
    await get();
    const options = { api, posts: createPosts(), ownId: async () => discord.bot.id };
    await createAttempts(options).begin("text:1", { content: "once" });
    const { id } = (await post("once")) as { id: string };
    vi.restoreAllMocks();
    expect(await createAttempts(options).find("text:1", discord.channel.id)).toBe(id);
  },
);
