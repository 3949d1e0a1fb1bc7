/** What More… on a card opens: a message for one person with the rarer choices, and the form for a denial with a reason. */
import { type APIMessageTopLevelComponent, ComponentType, MessageFlags, TextInputStyle } from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import { choiceLabel } from "../../shared/card-choices.ts";
import { button, rowsOf } from "../outbound/buttons.ts";
import { noMentions } from "../outbound/messages.ts";
import { escapePlain } from "../outbound/plain-text.ts";
import type { ButtonMeaning, ButtonPlace, MoreChoice } from "./custom-id.ts";
import { form, type Submitted, textsIn } from "./form.ts";

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
  const buttons = offered.map((choice) => button(meaningOf(choice), moreLabel(choice, grantText), approvalId, place));
  const rule = offered.includes("allow")
    ? `**${moreLabel("allow", grantText)}** ${escapePlain(shorten(grantText ?? "", maxGrantTextLength))}`
    : "";
  const components: APIMessageTopLevelComponent[] = [
    { type: ComponentType.TextDisplay, content: rule || "What would you like to do?" },
    ...rowsOf(buttons),
  ];
  return { components, flags: MessageFlags.IsComponentsV2 | MessageFlags.Ephemeral, allowed_mentions: noMentions };
}

/** The button acts at once, unlike the one that opens a dialog. */
export function moreLabel(choice: MoreChoice, grantText?: string): string {
  const label = choiceLabel(choice, grantText === undefined ? {} : { grantText });
  return choice === "allow" ? label.replace("…", "") : label;
}

function meaningOf(choice: MoreChoice): ButtonMeaning {
  return choice === "reason" ? { type: "reason" } : { type: "answer", choice };
}

export function reasonForm(id: string, place: ButtonPlace) {
  return form({ meaning: { type: "denied" }, ...place, id }, "Deny with reason", [
    {
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
  ]);
}

export function writtenReason(components: Submitted): string {
  return textsIn(components, reasonInput).join("").trim();
}
