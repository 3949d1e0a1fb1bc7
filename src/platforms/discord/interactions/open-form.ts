/** Opens what a click asks for: the menu More…, or a form. A form is Discord's first response, so its contents are looked up first. */
import {
  type APIMessageComponentInteraction,
  type APIModalInteractionResponseCallbackData,
  InteractionResponseType,
} from "discord.js";
import { messageOf } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import type { AnswerChoice, CommandReceipt } from "../../../ports/message.ts";
import type { FormContents } from "../../shared/form-contents.ts";
import { withTimeout } from "../../shared/with-timeout.ts";
import { type EphemeralReplies, privately } from "../outbound/ephemeral-reply.ts";
import { answerForm } from "./answer-form.ts";
import type { ButtonId, MoreChoice } from "./custom-id.ts";
import { editForm } from "./edit-form.ts";
import { fileForm } from "./file-form.ts";
import { handoverForm } from "./handover-form.ts";
import { allowForm, allowMenu, moreMenu, reasonForm } from "./more-menu.ts";

interface FormOpenerOptions {
  replies: EphemeralReplies;
  formContents: FormContents;
  log: Log;
}

/** Limits the lookup of a form's initial contents. The form itself must open within Discord's three seconds. */
export const maxLookUpMs = 1_500;

const notOpened = privately({ text: "I couldn't open the form: something failed on my side. Try again." });
/** Nobody may allow what they can't read. */
const notAllowed = privately({ text: "This can't be allowed in advance any more." });
const formChoices: readonly AnswerChoice[] = ["edit", "part", "handover", "allow"];

export function isForm({ meaning }: ButtonId): boolean {
  if (meaning.type === "answer") return formChoices.includes(meaning.choice);
  return meaning.type === "reason" || meaning.type === "write";
}

function isAllow({ meaning }: ButtonId): boolean {
  return meaning.type === "answer" && meaning.choice === "allow";
}

export function createFormOpener({ replies: { respond, withReceipt }, formContents, log }: FormOpenerOptions) {
  /** Its buttons name the card's message, because the menu is another message. */
  async function openMenu(
    interaction: APIMessageComponentInteraction,
    { id: approvalId, thread, firstMessage = interaction.message.id }: ButtonId,
    choices: readonly MoreChoice[],
  ): Promise<void> {
    const read = choices.includes("allow") ? formContents.grantText(approvalId) : Promise.resolve(undefined);
    const grantText = await withTimeout(maxLookUpMs, read).catch((thrown: unknown) => {
      log.error({ interaction: interaction.id, error: messageOf(thrown) }, "could not read what a card may allow");
      return undefined;
    });
    const data = moreMenu({ choices, approvalId, place: { thread, firstMessage }, grantText });
    const type = InteractionResponseType.ChannelMessageWithSource;
    await respond(interaction, { type, data }).catch(() => withReceipt(interaction, async () => notOpened));
  }

  /** `withoutForm` answers if there are no contents for one. */
  async function openForm(
    interaction: APIMessageComponentInteraction,
    button: ButtonId,
    withoutForm: () => Promise<CommandReceipt>,
  ): Promise<void> {
    let data: APIModalInteractionResponseCallbackData | undefined;
    try {
      const looked = await withTimeout(
        maxLookUpMs,
        formFor(button).then((found) => ({ found })),
      );
      if (looked === undefined) throw new Error(`it took longer than ${maxLookUpMs} ms`);
      data = looked.found;
    } catch (thrown) {
      log.error({ interaction: interaction.id, error: messageOf(thrown) }, "could not open a form");
      return await withReceipt(interaction, async () => notOpened);
    }
    if (data === undefined)
      return await withReceipt(interaction, async () => (isAllow(button) ? notAllowed : await withoutForm()));
    await respond(interaction, { type: InteractionResponseType.Modal, data }).catch(async () => {
      if (isAllow(button)) await showAllowed(interaction, button);
      else await withReceipt(interaction, async () => notOpened);
    });
  }

  /** No page of Discord says that a form may have no field. */
  async function showAllowed(interaction: APIMessageComponentInteraction, button: ButtonId): Promise<void> {
    const { id, meaning: _, ...place } = button;
    const grantText = await formContents.grantText(id);
    if (grantText === undefined) return;
    const type = InteractionResponseType.ChannelMessageWithSource;
    await respond(interaction, { type, data: allowMenu(id, place, grantText) }).catch(() => {});
  }

  async function formFor(button: ButtonId): Promise<APIModalInteractionResponseCallbackData | undefined> {
    const { meaning, id: approvalId, thread, firstMessage } = button;
    const place = firstMessage === undefined ? { thread } : { thread, firstMessage };
    if (meaning.type === "answer" && meaning.choice === "handover") return handoverForm(approvalId, place);
    if (meaning.type === "reason") return reasonForm(approvalId, place);
    if (meaning.type === "write") {
      const asked = await formContents.question(approvalId);
      return asked === undefined ? undefined : answerForm(approvalId, place, asked);
    }
    if (isAllow(button)) {
      const grantText = await formContents.grantText(approvalId);
      return grantText === undefined ? undefined : allowForm(approvalId, place, grantText);
    }
    if (meaning.type === "answer" && meaning.choice === "part") {
      const choice = await formContents.files(approvalId);
      return choice === undefined || choice.files.length === 0 ? undefined : fileForm(approvalId, place, choice);
    }
    const json = await formContents.arguments(approvalId);
    return json === undefined ? undefined : editForm(approvalId, place, json);
  }

  return { openMenu, openForm };
}
