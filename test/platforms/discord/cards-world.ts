/** Cards on the Discord double, and what people click on them. */
import type { ApprovalCard, CardItem } from "../../../src/ports/card.ts";
import type { InboundMessage } from "../../../src/ports/message.ts";
import { createCard } from "../../conformance/platform-world.ts";
import type { SeenMessage } from "../../doubles/discord/view.ts";
import { discord } from "./connected-bot.ts";

export function cards(): SeenMessage[] {
  const all = [discord.channel, ...discord.channel.threads()].flatMap((channel) => channel.messages());
  return all.filter(
    ({ author, embeds, components }) => author.id === discord.bot.id && (embeds.length > 0 || components?.length !== 0),
  );
}

export function item(message: InboundMessage, changes: Partial<CardItem>): CardItem {
  return { ...(createCard(message).items[0] as CardItem), ...changes };
}

export function cardOf(message: InboundMessage, count: number): ApprovalCard {
  const items = Array.from({ length: count }, (_, index) =>
    item(message, { approvalId: `approval-${index + 1}`, callText: `shell_exec\ncommand: "echo ${index + 1}"` }),
  );
  return { ...createCard(message), items };
}

export function settled(card: ApprovalCard): ApprovalCard {
  const items = card.items.map(
    (each): CardItem => ({ ...each, state: "denied", choices: [], outcome: "Denied by Ann" }),
  );
  return { ...card, items };
}

export async function clicked(message: SeenMessage, label: string, who = discord.ann) {
  const click = who.click(message, label);
  await discord.until(() => click.state() === "answered");
  return click;
}

/** Opens More… and presses a button of it. */
export async function chosen(message: SeenMessage, label: string, who = discord.ann) {
  const menu = await clicked(message, "More…", who);
  return who.click(menu.reply() as SeenMessage, label);
}
