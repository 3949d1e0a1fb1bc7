/** A voice note is the author's own words, so its transcript is added to the message's text. */
import type { Attachment, InboundMessage } from "../../ports/message.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import { transcriptionIsOff } from "../../ports/turn-files.ts";

/**
 * Replaces the attachment with the fetched file. A transcript that would make the message too long stays in the
 * attachment, where the prompt's budget may cut it.
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

/** A note for below the answer if transcription is off, because the model may not mention that. */
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
