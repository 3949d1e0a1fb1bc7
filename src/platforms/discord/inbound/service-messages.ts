/** Messages that the service writes in somebody's name: who joined, what was pinned. One line says what Discord shows. */
import { MessageType as Type } from "discord.js";
import { type Fields, fieldsOf, listOf, nameOf, textOf } from "./fields.ts";

/** Of people and apps. */
const written: readonly number[] = [Type.Default, Type.Reply, Type.ChatInputCommand, Type.ContextMenuCommand];

/** `%` is the message's content, `&` names those whom it mentions. */
const lines: Readonly<Record<number, string>> = {
  [Type.RecipientAdd]: "added &",
  [Type.RecipientRemove]: "removed &",
  [Type.ChannelNameChange]: "changed the channel's name: %",
  [Type.ChannelIconChange]: "changed the channel's icon",
  [Type.ChannelPinnedMessage]: "pinned a message to this channel",
  [Type.UserJoin]: "joined the server",
  [Type.GuildBoost]: "boosted the server %",
  [Type.GuildBoostTier1]: "boosted the server, which is on level 1 now",
  [Type.GuildBoostTier2]: "boosted the server, which is on level 2 now",
  [Type.GuildBoostTier3]: "boosted the server, which is on level 3 now",
  [Type.ChannelFollowAdd]: "follows %: its most important updates will be shown here",
  [Type.GuildDiscoveryDisqualified]: "this server was removed from Server Discovery",
  [Type.GuildDiscoveryRequalified]: "this server is in Server Discovery again",
  [Type.GuildDiscoveryGracePeriodInitialWarning]: "this server has not met Discovery's requirements for a week",
  [Type.GuildDiscoveryGracePeriodFinalWarning]: "this server has not met Discovery's requirements for three weeks",
  [Type.ThreadCreated]: "started a thread: %",
  [Type.ThreadStarterMessage]: "the first message of this thread is in its channel",
  [Type.GuildInviteReminder]: "a reminder to invite people",
  [Type.AutoModerationAction]: "AutoMod acted on a message",
  [Type.InteractionPremiumUpsell]: "a premium feature was asked for",
  [Type.StageStart]: "started the stage: %",
  [Type.StageEnd]: "ended the stage: %",
  [Type.StageSpeaker]: "is now a speaker",
  [Type.StageRaiseHand]: "raised a hand to speak",
  [Type.StageTopic]: "changed the stage's topic: %",
  [Type.GuildIncidentAlertModeEnabled]: "turned security actions on until %",
  [Type.GuildIncidentAlertModeDisabled]: "turned security actions off",
  [Type.GuildIncidentReportRaid]: "reported a raid",
  [Type.GuildIncidentReportFalseAlarm]: "reported a false alarm",
  // Its embed says all.
  [Type.PollResult]: "",
};

/** Many servers have hundreds of these a day, and nobody reads them before a question. */
const quiet: readonly number[] = [
  ...[Type.RecipientAdd, Type.RecipientRemove, Type.UserJoin, Type.ThreadStarterMessage, Type.GuildInviteReminder],
  ...[Type.GuildBoost, Type.GuildBoostTier1, Type.GuildBoostTier2, Type.GuildBoostTier3],
];

/** Of a type that Discord's reference does not have, somebody may well have written it. */
function typeOf({ type }: Fields): number | undefined {
  return /^\d+$/.test(textOf(type)) ? Number(type) : undefined;
}

export function isServiceMessage(message: Fields): boolean {
  const type = typeOf(message);
  return type !== undefined && !written.includes(type) && (type in lines || type in special);
}

/** False for what says nothing before a question: who joined, and the mark at the beginning of a thread. */
export function isTelling(message: Fields): boolean {
  return !quiet.includes(typeOf(message) ?? Type.Default);
}

const special: Readonly<Record<number, (message: Fields) => string>> = {
  [Type.Call]: ({ call }) =>
    textOf(fieldsOf(call)?.ended_timestamp) === "" ? "started a call" : "a call, which has ended",
  [Type.RoleSubscriptionPurchase](message) {
    const {
      tier_name: tier,
      total_months_subscribed: months,
      is_renewal: isRenewal,
    } = fieldsOf(message.role_subscription_data) ?? {};
    return `${isRenewal === true ? "renewed" : "joined"} ${nameOf(tier)}, subscribed for ${nameOf(months)} months`;
  },
  [Type.GuildApplicationPremiumSubscription]: ({ application }) =>
    `upgraded ${nameOf(fieldsOf(application)?.name) || "an app"} to premium for this server`,
  [Type.PurchaseNotification](message) {
    const bought = fieldsOf(fieldsOf(message.purchase_notification)?.guild_product_purchase);
    return `bought ${nameOf(bought?.product_name) || "something"} in the server's shop`;
  },
};

/** Empty for what somebody has written. What a line leaves out of the content follows it. */
export function serviceLine(message: Fields): { line: string; hasContent: boolean } {
  const type = typeOf(message);
  const content = textOf(message.content);
  if (type === undefined) return { line: "", hasContent: false };
  const own = special[type]?.(message);
  if (own !== undefined) return { line: `[${own}]`, hasContent: false };
  if (written.includes(type)) return { line: "", hasContent: false };
  const pattern = lines[type];
  if (pattern === undefined) return { line: `[a message of type ${type}]`, hasContent: false };
  const people = listOf(message.mentions).map((value) => `<@${nameOf(fieldsOf(value)?.id)}>`);
  const text = pattern.replace("&", () => people.join(", ")).replace("%", () => content);
  return { line: text === "" ? "" : `[${text.replace(/:? *$/, "")}]`, hasContent: pattern.includes("%") };
}
