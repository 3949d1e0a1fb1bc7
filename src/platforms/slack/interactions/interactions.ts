/** Acknowledges each click and submitted form immediately, then passes it to the handlers, which check the id and choice. */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { AnswerChoice, AnswerReceipt } from "../../../ports/message.ts";
import type { FormContents } from "../../shared/form-contents.ts";
import { withTimeout } from "../../shared/with-timeout.ts";
import { openView } from "../api/views.ts";
import { formatConversationId, formatMessageId, threadOf } from "../conversation-id.ts";
import { type SlackFiles, shownFiles } from "../inbound/attachments.ts";
import { maxAnswerMs } from "../limits.ts";
import { isFirstPart } from "../outbound/cards/card.ts";
import { choiceOf, moreAction, readMore } from "../outbound/cards/card-buttons.ts";
import type { Recipient } from "../outbound/ephemeral-reply.ts";
import { threadOfMoved } from "../outbound/message-sender.ts";
import { pickAction, wordsAction } from "../outbound/question.ts";
import { type FormChoice, openedForm, readSubmission, type Submission } from "./card-forms.ts";
import type { CardPlace } from "./card-place.ts";
import { createFooterClicks } from "./footer-clicks.ts";
import type { Handling } from "./handling.ts";
import { createShowDiff } from "./show-diff.ts";
import { wordsCallback } from "./words-modal.ts";

export interface InteractionsOptions extends Handling {
  formContents: FormContents;
  describeFiles: SlackFiles["describe"];
}

export interface Interactions {
  click(body: unknown): Promise<void>;
  /** Resolves to the acknowledgement of the modal; undefined closes the modal. */
  submit(body: unknown): Promise<Record<string, unknown> | undefined>;
}

const clickSchema = z.object({
  user: z.object({ id: z.string() }),
  trigger_id: z.string().optional(),
  response_url: z.string().optional(),
  channel: z.object({ id: z.string() }),
  container: z.object({ message_ts: z.string(), thread_ts: z.string().optional() }),
  message: z.object({ thread_ts: z.string().optional(), metadata: z.unknown() }).optional(),
  actions: z
    .array(
      z.object({
        action_id: z.string(),
        block_id: z.string().default(""),
        value: z.string().default(""),
        selected_option: z.object({ value: z.string() }).optional(),
      }),
    )
    .min(1),
});
type Click = z.infer<typeof clickSchema>;

const submissionSchema = z.object({
  user: z.object({ id: z.string() }),
  view: z.object({
    callback_id: z.string(),
    private_metadata: z.string(),
    state: z.object({ values: z.unknown() }),
  }),
});

const notTaken = "That didn't work, so nothing changed. Try again in a moment.";
const takesLonger = "Got it. This is taking longer than usual; I'll tell you the result.";
const noForm: Record<FormChoice, string> = {
  edit: "This call can't be edited any more.",
  part: "You can't choose files on this card any more.",
  handover: "You can't hand this card over any more.",
  allow: "This can't be allowed in advance any more.",
  reason: "This can't be denied any more.",
  answer: "This question is no longer open.",
};
const unknownButton = "This button no longer works, so nothing changed.";

interface ActionMeaning {
  choice?: AnswerChoice;
  id: string;
  form?: FormChoice;
}

/** From the menu, Allow opens a form first: the card does not say what it would allow. */
function meaningOf({ action_id, value, selected_option: selected }: Click["actions"][number]): ActionMeaning {
  if (action_id === moreAction) {
    const { choice, approvalId } = readMore(selected?.value ?? "") ?? { approvalId: "" };
    if (choice === "edit" || choice === "allow" || choice === "reason" || choice === "handover")
      return { form: choice, id: approvalId };
    return choice === undefined ? { id: approvalId } : { choice, id: approvalId };
  }
  if (action_id === wordsAction) return { form: "answer", id: value };
  const choice = choiceOf(action_id);
  if (choice === "edit" || choice === "part" || choice === "handover") return { form: choice, id: value };
  return choice === undefined ? { id: value } : { choice, id: value };
}

export function createInteractions(options: InteractionsOptions): Interactions {
  const { handlers, api, identity, people, threads, formContents, ephemeral, log } = options;
  const showDiff = createShowDiff(options);
  const footerClicks = createFooterClicks(options);

  async function clickPlace(click: Click) {
    const { teamId: team } = await identity();
    const { channel, container, message } = click;
    const ts = container.message_ts;
    // A card that could not be shown in its thread still belongs to it. The message says so from its first moment on.
    const said = threadOfMoved(message?.metadata);
    const moved = said === undefined ? await threads.ofMoved(channel.id, ts) : said;
    const thread = moved === undefined ? threadOf(ts, container.thread_ts ?? message?.thread_ts) : moved;
    const isCard = isFirstPart(click.actions[0]?.block_id ?? "");
    return {
      thread,
      conversationId: formatConversationId({ team, channel: channel.id, thread }),
      ...(isCard ? { messageId: formatMessageId({ channel: channel.id, ts }) } : {}),
    };
  }

  async function handIn(click: Click): Promise<AnswerReceipt | undefined> {
    const [action] = click.actions;
    if (action === undefined) return undefined;
    const { thread, ...place } = await clickPlace(click);
    const at = Date.now();
    const { choice, id, form } = meaningOf(action);
    if (form !== undefined)
      return await openForm(form, click, { ...place, approvalId: id, channel: click.channel.id, thread });
    const by = await people.author(click.user.id);
    if (choice !== undefined) {
      return await handlers.onAnswer({ platform: "slack", ...place, cardOrApprovalId: id, choice, by, at });
    }
    const option = Number(action.action_id.slice(pickAction.length));
    if (!action.action_id.startsWith(pickAction) || !Number.isInteger(option))
      return { accepted: false, text: unknownButton };
    const { conversationId } = place;
    return await handlers.onPick({ platform: "slack", conversationId, questionId: action.value, option, by, at });
  }

  function handInSafely(click: Click): Promise<AnswerReceipt | undefined> {
    return handIn(click).catch((thrown: unknown) => {
      log.error({ person: click.user.id, error: messageOf(thrown) }, "could not handle a click");
      return { accepted: false, text: notTaken };
    });
  }

  /** The trigger expires after three seconds, so the modal opens before anything else is requested. */
  async function openForm(choice: FormChoice, click: Click, place: CardPlace): Promise<AnswerReceipt | undefined> {
    const view = await openedForm(choice, place, formContents);
    if (view === undefined) return { accepted: false, text: noForm[choice] };
    await openView(api, click.trigger_id, view);
    return undefined;
  }

  async function takeForm({ place, answer }: Submission, userId: string): Promise<AnswerReceipt> {
    const { conversationId, messageId, approvalId } = place;
    try {
      const by = await people.author(userId);
      const common = { platform: "slack", conversationId, by, at: Date.now() };
      if ("said" in answer) {
        const { text, files } = answer.said;
        const attachments = await options.describeFiles(shownFiles(files), userId);
        return await handlers.onPick({ ...common, questionId: approvalId, said: { text, attachments } });
      }
      return await handlers.onAnswer({
        ...common,
        ...(messageId === undefined ? {} : { messageId }),
        cardOrApprovalId: approvalId,
        ...answer,
      });
    } catch (thrown) {
      log.error(
        { choice: "said" in answer ? "answer" : answer.choice, error: messageOf(thrown) },
        "could not handle a form",
      );
      return { accepted: false, text: notTaken };
    }
  }

  function sendQuietly(recipient: Recipient, text: string): Promise<void> {
    return ephemeral.plain(recipient, text).catch((thrown: unknown) => {
      log.warn(
        { person: recipient.userId, error: messageOf(thrown) },
        "could not tell a person the result of their click",
      );
    });
  }

  return {
    async click(body) {
      const parsed = clickSchema.safeParse(body);
      if (!parsed.success) return;
      const click = parsed.data;
      const { user, channel, container, response_url: responseUrl } = click;
      const thread = container.thread_ts ?? click.message?.thread_ts ?? null;
      const recipient = {
        userId: user.id,
        channel: channel.id,
        thread,
        ...(responseUrl === undefined ? {} : { responseUrl }),
      };
      if (choiceOf(click.actions[0]?.action_id) === "diff") {
        const answer = async () => (await handInSafely(click)) ?? { accepted: false, text: notTaken };
        return await showDiff({ recipient, trigger: click.trigger_id, answer }).catch((thrown: unknown) =>
          log.warn({ person: user.id, error: messageOf(thrown) }, "could not show a person a diff"),
        );
      }
      if (await footerClicks.take(click, recipient)) return;
      const handed = handInSafely(click);
      const isInTime = await withTimeout(
        maxAnswerMs,
        handed.then(() => true),
      );
      if (isInTime !== true) await sendQuietly(recipient, takesLonger);
      const receipt = await handed;
      if (receipt !== undefined) await sendQuietly(recipient, receipt.text);
    },
    async submit(body) {
      const parsed = submissionSchema.safeParse(body);
      if (!parsed.success) return undefined;
      const { view, user } = parsed.data;
      if (view.callback_id === wordsCallback) {
        void footerClicks.submit(user.id, view.private_metadata, view.state.values);
        return undefined;
      }
      const submission = readSubmission(view.callback_id, view.private_metadata, view.state.values);
      if (submission === undefined) return undefined;
      const { place, problem, refused } = submission;
      if (problem !== undefined) return refused(problem);
      const answered = takeForm(submission, user.id);
      const inTime = await withTimeout(maxAnswerMs, answered);
      if (inTime?.accepted === false) return refused(inTime.text);
      const { channel, thread } = place;
      void answered.then((receipt) => sendQuietly({ userId: user.id, channel, thread }, receipt.text));
      return undefined;
    },
  };
}
