/**
 * Shows a diff only to the person who clicked. Opens a modal immediately, because its trigger expires after three
 * seconds. A diff that does not fit is sent as a file by direct message, never in a channel. Without a modal, sends an
 * ephemeral message.
 */
import { messageOf } from "../../../lib/errors.ts";
import { formatNumber } from "../../../lib/text/format-number.ts";
import type { AnswerReceipt } from "../../../ports/message.ts";
import { isSlackError } from "../api/api-problems.ts";
import { openView, updateView, type View } from "../api/views.ts";
import type { Recipient } from "../outbound/ephemeral-reply.ts";
import { createPrivateFiles } from "../outbound/private-files.ts";
import { beginningModal, diffModal, noteModal, waitingModal } from "./diff-modal.ts";
import type { Handling } from "./handling.ts";

export interface DiffRequest {
  recipient: Recipient;
  trigger: string | undefined;
  /** Must not reject. */
  answer(): Promise<AnswerReceipt>;
}

type DiffFile = NonNullable<AnswerReceipt["file"]>;

export function createShowDiff({ api, ephemeral, log }: Handling): (request: DiffRequest) => Promise<void> {
  const sendPrivately = createPrivateFiles({ api, log });

  async function open(trigger: string | undefined): Promise<string | undefined> {
    return await openView(api, trigger, waitingModal()).catch((thrown: unknown) => {
      log.warn({ error: messageOf(thrown) }, "could not open a diff in a modal");
      return undefined;
    });
  }

  async function update(viewId: string, view: View): Promise<boolean> {
    try {
      await updateView(api, viewId, view);
      return true;
    } catch (thrown) {
      // The person has already closed the modal.
      if (isSlackError(thrown, "not_found")) return true;
      log.warn({ error: messageOf(thrown) }, "could not show a diff in its modal");
      return false;
    }
  }

  async function sendFile(recipient: Recipient, file: DiffFile): Promise<string> {
    return `The diff has ${formatNumber(file.text.length)} characters. ${await sendPrivately(recipient, file)}`;
  }

  async function show(viewId: string | undefined, recipient: Recipient, receipt: AnswerReceipt): Promise<void> {
    const { text, file } = receipt;
    if (file === undefined) {
      if (viewId === undefined || !(await update(viewId, noteModal(text)))) await ephemeral.plain(recipient, text);
      return;
    }
    const whole = diffModal({ ...receipt, file });
    if (viewId !== undefined && whole !== undefined && (await update(viewId, whole)))
      return await file.delivered?.(true);
    const note = await sendFile(recipient, file);
    const isShown = viewId !== undefined && (await update(viewId, beginningModal(note, file.text)));
    if (!isShown) await ephemeral.plain(recipient, note);
  }

  return async ({ recipient, trigger, answer }) => {
    const viewId = await open(trigger);
    await show(viewId, recipient, await answer());
  };
}
