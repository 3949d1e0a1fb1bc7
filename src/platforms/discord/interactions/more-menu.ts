/** What More… on a card opens: a message for one person with the rarer choices, and the forms of Allow and of a denial with a reason. */
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
  const buttons = offered.map((choice) =>
    button(meaningOf(choice), choiceLabel(choice, grantText === undefined ? {} : { grantText }), approvalId, place),
  );
  return ephemeral("What would you like to do?", buttons);
}

/** What Discord shows if it refuses the form: the same words, with a button that acts at once. */
export function allowMenu(id: string, place: ButtonPlace, grantText: string) {
  const label = choiceLabel("allow", { grantText }).replace("…", "");
  return ephemeral(allowedBy(grantText), [button({ type: "allowed" }, label, id, place)]);
}

function ephemeral(content: string, buttons: ReturnType<typeof button>[]) {
  const components: APIMessageTopLevelComponent[] = [{ type: ComponentType.TextDisplay, content }, ...rowsOf(buttons)];
  return { components, flags: MessageFlags.IsComponentsV2 | MessageFlags.Ephemeral, allowed_mentions: noMentions };
}

function meaningOf(choice: MoreChoice): ButtonMeaning {
  return choice === "reason" ? { type: "reason" } : { type: "answer", choice };
}

/** Has no field: what one click covers is read before it. */
export function allowForm(id: string, place: ButtonPlace, grantText: string) {
  return form({ meaning: { type: "allowed" }, ...place, id }, "Allow without asking", [allowedBy(grantText)]);
}

function allowedBy(grantText: string): string {
  const rule = escapePlain(shorten(grantText, maxGrantTextLength));
  return `${rule}\n\nThis also approves what is on the card. You can end it there at any time.`;
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
