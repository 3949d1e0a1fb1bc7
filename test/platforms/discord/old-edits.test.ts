/** Discord takes few edits of messages older than an hour: cards that are answered after lunch, footers, receipts. */
import { afterEach, expect, test, vi } from "vitest";
import { createOldEdits } from "../../../src/platforms/discord/outbound/old-edits.ts";
import type { ApprovalCard } from "../../../src/ports/card.ts";
import type { Reply } from "../../../src/ports/platform.ts";
import { createCard } from "../../conformance/platform-world.ts";
import { cards, settled } from "./cards-world.ts";
import { bot, discord, mentioned, replyTo, useConnectedBot } from "./connected-bot.ts";
import { rendered } from "./rendering.ts";

useConnectedBot({ replyIn: "channel" });
afterEach(() => void vi.useRealTimers());

async function cardsFromBeforeLunch(count: number): Promise<{ reply: Reply; card: ApprovalCard }[]> {
  const asked: { reply: Reply; card: ApprovalCard }[] = [];
  for (let number = 1; number <= count; number += 1) {
    const message = await mentioned(`deploy ${number}`);
    const reply = replyTo(message);
    const card = { ...createCard(message), id: `card-${number}` };
    await reply.ask(card);
    asked.push({ reply, card });
  }
  discord.clock.advance(2 * 3_600_000);
  // Until Discord answers something, the bot goes by its own clock.
  await bot.platform.probe?.(new AbortController().signal);
  return asked;
}

const edits = () => discord.requests.filter(({ route }) => route === "messages.edit");
const texts = () => cards().map((card) => rendered(card).text);

test("old cards are settled at Discord's pace, without a refusal, and hold up no newer message of their channel", async () => {
  const asked = await cardsFromBeforeLunch(4);
  const work = asked.map(({ reply, card }) => reply.settle(settled(card)).catch(() => "stopped"));
  await Promise.all(work.slice(0, 3));
  const fresh = replyTo(await mentioned("hello"));
  fresh.write("Hel");
  await discord.until(() => discord.channel.messages().find(({ content }) => content === "Hel"));
  await fresh.finish("Hello!", []);
  expect(discord.channel.messages().at(-1)?.content).toBe("Hello!");
  expect(texts().filter((text) => text === "❌ Denied by Ann")).toHaveLength(3);
  expect(edits().map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test("when Discord refuses the edit of an old message, it is shown as soon as Discord takes it, in its newest state", async () => {
  const [one] = await cardsFromBeforeLunch(1);
  if (one === undefined) throw new Error("there is no card");
  const refused = discord.fail(
    { route: "messages.edit" },
    {
      ...{ type: "answer", status: 429, headers: { "retry-after": "1", "x-ratelimit-scope": "user" } },
      body: { message: "Maximum number of edits", code: 30046, retry_after: 1, global: false },
    },
  );
  const first = one.reply.settle(one.card);
  await discord.until(() => refused.hits.length === 1);
  await Promise.all([first, one.reply.settle(settled(one.card))]);
  expect(texts()).toEqual(["❌ Denied by Ann"]);
  expect(edits()).toHaveLength(2);
});

test("no twenty seconds have more than three edits in a channel, a waiting one shows the newest state, and other channels don't wait", async () => {
  vi.useFakeTimers();
  const edits = createOldEdits();
  const sent: string[] = [];
  const show = (message: string, state: string, channel = "1") =>
    edits.edit(channel, message, async () => void sent.push(`${message} ${state}`));
  const work = ["a", "b", "c", "d", "e"].map((message) => show(message, "1"));
  work.push(show("d", "2"), show("d", "3"), show("z", "1", "2"));
  await vi.advanceTimersByTimeAsync(19_999);
  expect(sent.toSorted()).toEqual(["a 1", "b 1", "c 1", "z 1"]);
  await vi.advanceTimersByTimeAsync(1);
  await Promise.all(work);
  expect(sent.slice(4)).toEqual(["d 3", "e 1"]);
  await show("f", "1");
  const late = show("g", "1").catch((thrown: Error) => thrown.name);
  edits.close();
  expect(await late).toBe("AbortError");
});
