/** Somebody sets the machine's clock back by hours, while Discord's goes on. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { silentLog } from "../../../src/lib/log.ts";
import { createDiscordApi, type DiscordApi } from "../../../src/platforms/discord/api/api.ts";
import { createDiscordDouble, type DiscordDouble } from "../../doubles/discord/double.ts";

const threeHoursMs = 3 * 3_600_000;
const trueTime = () => Math.round(performance.timeOrigin + performance.now());

let discord: DiscordDouble;
let api: DiscordApi;

beforeEach(async () => {
  const limits = { global: "none", "messages.create": { requests: 1, windowMs: 300 } } as const;
  discord = await createDiscordDouble({ now: trueTime, limits });
  api = createDiscordApi({ token: discord.token, apiUrl: discord.apiUrl, log: silentLog });
});
afterEach(async () => {
  vi.restoreAllMocks();
  api.close();
  await discord.stop();
});

function setBack(): void {
  vi.spyOn(Date, "now").mockImplementation(() => trueTime() - threeHoursMs);
}

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
