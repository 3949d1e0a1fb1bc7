/** Messages that the service writes in somebody's name: who joined, what was pinned. One line says what Discord shows. */
import { MessageType } from "discord.js";
import { type Fields, fieldsOf, listOf, nameOf, textOf } from "./fields.ts";

/** Of people and apps. */
const written: readonly number[] = [
  MessageType.Default,
  MessageType.Reply,
  MessageType.ChatInputCommand,
  MessageType.ContextMenuCommand,
];

/** `%` is the message's content, `&` names those whom it mentions. */
const lines: Readonly<Record<number, string>> = {
  [MessageType.RecipientAdd]: "added &",
  [MessageType.RecipientRemove]: "removed &",
  [MessageType.ChannelNameChange]: "changed the channel's name: %",
  [MessageType.ChannelIconChange]: "changed the channel's icon",
  [MessageType.ChannelPinnedMessage]: "pinned a message to this channel",
  [MessageType.UserJoin]: "joined the server",
  [MessageType.GuildBoost]: "boosted the server %",
  [MessageType.GuildBoostTier1]: "boosted the server, which is on level 1 now",
  [MessageType.GuildBoostTier2]: "boosted the server, which is on level 2 now",
  [MessageType.GuildBoostTier3]: "boosted the server, which is on level 3 now",
  [MessageType.ChannelFollowAdd]: "follows %: its most important updates will be shown here",
  [MessageType.GuildDiscoveryDisqualified]: "this server was removed from Server Discovery",
  [MessageType.GuildDiscoveryRequalified]: "this server is in Server Discovery again",
  [MessageType.GuildDiscoveryGracePeriodInitialWarning]: "this server has not met Discovery's requirements for a week",
  [MessageType.GuildDiscoveryGracePeriodFinalWarning]:
    "this server has not met Discovery's requirements for three weeks",
  [MessageType.ThreadCreated]: "started a thread: %",
  [MessageType.ThreadStarterMessage]: "the first message of this thread is in its channel",
  [MessageType.GuildInviteReminder]: "a reminder to invite people",
  [MessageType.AutoModerationAction]: "AutoMod acted on a message",
  [MessageType.InteractionPremiumUpsell]: "a premium feature was asked for",
  [MessageType.StageStart]: "started the stage: %",
  [MessageType.StageEnd]: "ended the stage: %",
  [MessageType.StageSpeaker]: "is now a speaker",
  [MessageType.StageRaiseHand]: "raised a hand to speak",
  [MessageType.StageTopic]: "changed the stage's topic: %",
  [MessageType.GuildIncidentAlertModeEnabled]: "turned security actions on until %",
  [MessageType.GuildIncidentAlertModeDisabled]: "turned security actions off",
  [MessageType.GuildIncidentReportRaid]: "reported a raid",
  [MessageType.GuildIncidentReportFalseAlarm]: "reported a false alarm",
  // Its embed says all.
  [MessageType.PollResult]: "",
};

/** Many servers have hundreds of these a day, and nobody reads them before a question. */
const quiet: readonly number[] = [
  ...[
    MessageType.RecipientAdd,
    MessageType.RecipientRemove,
    MessageType.UserJoin,
    MessageType.ThreadStarterMessage,
    MessageType.GuildInviteReminder,
  ],
  ...[MessageType.GuildBoost, MessageType.GuildBoostTier1, MessageType.GuildBoostTier2, MessageType.GuildBoostTier3],
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
  return !quiet.includes(typeOf(message) ?? MessageType.Default);
}

const special: Readonly<Record<number, (message: Fields) => string>> = {
  [MessageType.Call]: ({ call }) =>
    textOf(fieldsOf(call)?.ended_timestamp) === "" ? "started a call" : "a call, which has ended",
  [MessageType.RoleSubscriptionPurchase](message) {
    const {
      tier_name: tier,
      total_months_subscribed: months,
      is_renewal: isRenewal,
    } = fieldsOf(message.role_subscription_data) ?? {};
    return `${isRenewal === true ? "renewed" : "joined"} ${nameOf(tier)}, subscribed for ${nameOf(months)} months`;
  },
  [MessageType.GuildApplicationPremiumSubscription]: ({ application }) =>
    `upgraded ${nameOf(fieldsOf(application)?.name) || "an app"} to premium for this server`,
  [MessageType.PurchaseNotification](message) {
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
