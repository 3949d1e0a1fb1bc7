/** A voice note is the author's own words, so its transcript becomes text of the message, as if it had been written. */
import type { Attachment, InboundMessage } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import { transcriptionIsOff } from "../../ports/turn-files.ts";

/**
 * Puts the file in place of the attachment. A transcript that would make the message too long stays in the attachment, which
 * the prompt's budget may cut.
 */
export function placeFile(message: InboundMessage, index: number, file: Attachment, maxCharacters: number): void {
  const { text, ...rest } = file;
  message.attachments[index] = file;
  if (file.voice === undefined || text === undefined) return;
  const said = `[voice note${lengthOf(file.voice.seconds)}, transcribed]\n${text}`;
  const whole = message.text.trim() === "" ? said : `${message.text}\n\n${said}`;
  if (whole.length > maxCharacters) return;
  message.text = whole;
  message.attachments[index] = rest;
}

/** For the person, below the answer: the model may not mention it. */
export function unheardNote({ messages }: TurnRecord, said: string): string {
  const isUnheard = messages.some(({ attachments }) =>
    attachments.some(({ voice, problem }) => voice !== undefined && problem === transcriptionIsOff),
  );
  return isUnheard && !said.includes("transcription") ? `*(${transcriptionIsOff})*` : "";
}

function lengthOf(seconds: number): string {
  const whole = Math.round(seconds);
  return whole === 0 ? "" : `, ${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
