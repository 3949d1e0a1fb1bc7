/**
 * The real process is killed while requests wait for a free slot, and people edit and delete them before the next start. The
 * new texts are answered, and what was deleted is not, also where a turn can begin at once.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDiscordDouble, type DiscordDouble } from "../doubles/discord/double.ts";
import { createSlackDouble, type SlackDouble } from "../doubles/slack/double.ts";
import {
  createDurabilityWorld,
  type DurabilityWorld,
  eventually,
  expectNothingOpen,
  newId,
} from "./durability-world.ts";

let world: DurabilityWorld;
let slack: SlackDouble;
let discord: DiscordDouble;
beforeAll(async () => {
  [slack, discord, world] = await Promise.all([
    createSlackDouble(),
    createDiscordDouble(),
    createDurabilityWorld({ config: { turns: { concurrency: 1 } } }),
  ]);
});
afterAll(async () => {
  await world.close();
  await Promise.all([slack.stop(), discord.stop()]);
});

test("what was edited or deleted while no process ran is what the next one answers", async () => {
  const env = {
    ...{ SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl },
  };
  const first = await world.start([], { env });
  const [held, slackOld, slackGone, discordOld, discordGone, slackNew, discordNew] = Array.from({ length: 7 }, newId);
  world.model.hold(held ?? "", "before");
  await world.person.say(held ?? "", `plain ${held}`);
  await eventually(() => expect(world.model.held()).toBe(1));
  const onSlack = (id = "") => slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora plain ${id}` });
  const onDiscord = (id = "") => discord.ann.say(`${discord.bot.mention} plain ${id}`, { in: discord.channel });
  const [editedThere, goneThere] = [onSlack(slackOld), onSlack(slackGone)];
  const [editedHere, goneHere] = [onDiscord(discordOld), onDiscord(discordGone)];
  const ledger = await world.ledger();
  await eventually(async () => expect(await ledger.list("message", { states: ["queued"] })).toHaveLength(4));
  await first.kill();
  slack.redelivery.isEnabled = false;
  slack.people.edit(editedThere, `@Remora plain ${slackNew}`);
  slack.people.remove(goneThere);
  discord.ann.edit(editedHere, `${discord.bot.mention} plain ${discordNew}`);
  discord.ann.delete(goneHere);
  await world.configure({});
  await world.start([], { env });
  world.model.open();
  await expectNothingOpen(ledger);
  const requests = world.model.requests.join("\n");
  for (const id of [slackNew, discordNew]) expect(requests).toContain(id);
  for (const id of [slackOld, slackGone, discordOld, discordGone]) expect(requests).not.toContain(id);
});
