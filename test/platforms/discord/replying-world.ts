/** Replies on the Discord double: what people see of them. */
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Reply } from "../../../src/ports/platform.ts";
import type { ChannelHandle } from "../../doubles/discord/places.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { agent, discord } from "./connected-bot.ts";

export async function toldPrivately(): Promise<InboundMessage> {
  const said = discord.ann.say("hello", { in: "dm" });
  return await discord.until(() => agent.kept.find(({ id }) => id === said.id));
}

export function own(channel: ChannelHandle | undefined): SeenMessage[] {
  return (channel?.messages() ?? []).filter(
    ({ author, type }) => author.id === discord.bot.id && type !== 21 && type !== 18,
  );
}

/** Resolves when the first words are there. */
export async function begun(reply: Reply, text: string, where: () => ChannelHandle | undefined): Promise<void> {
  await reply.write(text);
  await discord.until(() => own(where()).length > 0);
}

export function threadOf(message: InboundMessage): ChannelHandle | undefined {
  return discord.channel.threads().find(({ id }) => id === message.id);
}

export function sent(method: string, route: string) {
  return discord.requests.filter((request) => request.method === method && request.route === route);
}
