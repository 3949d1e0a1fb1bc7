/** What More… on a card opens: a message for one person with the rarer choices, and the form for a denial with a reason. */
import {
  type APIButtonComponentWithCustomId,
  type APIMessageTopLevelComponent,
  type APIModalInteractionResponseCallbackData,
  type APIModalSubmissionComponent,
  ButtonStyle,
  ComponentType,
  MessageFlags,
  TextInputStyle,
} from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import { allowLabel } from "../../../ports/card.ts";
import { noMentions } from "../outbound/messages.ts";
import { escapePlain } from "../outbound/plain-text.ts";
import { type ButtonMeaning, type ButtonPlace, formatButtonId, type MoreChoice } from "./custom-id.ts";

const labels: Record<Exclude<MoreChoice, "allow">, string> = {
  edit: "Edit…",
  reason: "Deny with reason…",
  handover: "Hand over…",
  why: "Why this asks",
};
const maxGrantTextLength = 1_500;
const maxReasonLength = 2_000;
const reasonInput = "reason";

interface MenuOf {
  choices: readonly MoreChoice[];
  approvalId: string;
  place: ButtonPlace;
  /** Without it, Allow is not offered: nobody may allow what they can't read. */
  grantText: string | undefined;
}

export function moreMenu({ choices, approvalId, place, grantText }: MenuOf) {
  const offered = choices.filter((choice) => choice !== "allow" || grantText !== undefined);
  const buttons = offered.map(
    (choice): APIButtonComponentWithCustomId => ({
      type: ComponentType.Button,
      style: ButtonStyle.Secondary,
      label: moreLabel(choice, grantText),
      custom_id: formatButtonId({ meaning: meaningOf(choice), ...place, id: approvalId }),
    }),
  );
  const rule = offered.includes("allow")
    ? `**${moreLabel("allow", grantText)}** ${escapePlain(shorten(grantText ?? "", maxGrantTextLength))}`
    : "";
  const components: APIMessageTopLevelComponent[] = [
    { type: ComponentType.TextDisplay, content: rule || "What would you like to do?" },
    { type: ComponentType.ActionRow, components: buttons },
  ];
  return { components, flags: MessageFlags.IsComponentsV2 | MessageFlags.Ephemeral, allowed_mentions: noMentions };
}

/** The button acts at once, unlike the one that opens a dialog. */
export function moreLabel(choice: MoreChoice, grantText?: string): string {
  return choice === "allow" ? allowLabel(grantText).replace("…", "") : labels[choice];
}

function meaningOf(choice: MoreChoice): ButtonMeaning {
  return choice === "reason" ? { type: "reason" } : { type: "answer", choice };
}

export function reasonForm(approvalId: string, place: ButtonPlace): APIModalInteractionResponseCallbackData {
  return {
    custom_id: formatButtonId({ meaning: { type: "denied" }, ...place, id: approvalId }),
    title: "Deny with reason",
    components: [
      {
        type: ComponentType.Label,
        label: "Why not?",
        description: "Remora reads this and can try something else.",
        component: {
          type: ComponentType.TextInput,
          custom_id: reasonInput,
          style: TextInputStyle.Paragraph,
          max_length: maxReasonLength,
          required: true,
        },
      },
    ],
  };
}

export function writtenReason(components: readonly APIModalSubmissionComponent[]): string {
  const texts = components.flatMap((part) => {
    const input = part.type === ComponentType.Label ? part.component : undefined;
    return input?.type === ComponentType.TextInput && input.custom_id === reasonInput ? [input.value] : [];
  });
  return texts.join("").trim();
}
