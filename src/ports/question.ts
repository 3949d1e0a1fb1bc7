/**
 * A question that a plugin asks the person its call is for, who answers with one click, or in a form with words and files. An answer
 * approves nothing, so a question must not look like an approval: the plugin's name comes first, its words are in quotes, and no
 * button has one of them.
 */
import type { AnswerReceipt, Attachment, Author, InboundPick, ReplyTarget } from "./message.ts";

/** An answer in words: what may come with it. */
export interface WordsForm {
  /** 0 to 10. */
  maxFiles: number;
  /** At most 10 of `image`, `video`, `audio` and extensions such as `.pdf`. Absent: every kind. */
  fileTypes?: string[];
}

export interface AnswerInWords {
  /** Can be empty if there are files. */
  text: string;
  attachments: Attachment[];
}

export const maxAnswerFiles = 10;
export const maxAnswerCharacters = 2_000;
export const answerInWordsLabel = "Answer…";

/** The services that know groups of kinds mean these: https://docs.discord.com/developers/reference#file-type-filtering */
const kinds: Readonly<Record<string, readonly string[]>> = {
  image: [".png", ".gif", ".jpg", ".jpeg", ".jfif", ".webp", ".avif"],
  video: [".mp4", ".mov", ".qt", ".webm"],
  audio: [".mp3", ".m4a", ".wav", ".ogg", ".opus", ".flac"],
};

/** The extensions that the form takes, with their dots. Undefined: all. */
export function extensionsOf({ fileTypes }: WordsForm): string[] | undefined {
  return fileTypes?.flatMap((type) => kinds[type] ?? [type]);
}

export interface QuestionCard {
  /** 128 random bits, base64url. Gives no authority. */
  id: string;
  target: ReplyTarget;
  /** "The plugin NAME asks Ann:". The first line, in words of Remora alone. */
  head: string;
  /** The plugin's words: one line without invisible characters, at most 1,000. A platform shows it in quotes. */
  question: string;
  /** 1 to 5 lines of at most 75 characters in the plugin's words. A platform shows them numbered and in quotes. */
  options: string[];
  /** There are no options: a button opens a form. */
  words?: WordsForm;
  /** The last line: who can answer, or what became of the question. */
  note: string;
  isOpen: boolean;
}

/** The text of a button, which has no word of the plugin. `option` counts from 0. */
export function answerLabel(option: number): string {
  return `Answer ${option + 1}`;
}

export function optionLine(text: string, option: number): string {
  return `${option + 1}  “${text}”`;
}

export interface QuestionRecord {
  target: ReplyTarget;
  /** Of the call that asks: `<turnId>-<callId>`. Absent in records of earlier versions. */
  jobId?: string;
  /** How many questions the call has asked before. A call that runs again finds its questions by it. */
  number?: number;
  requester: Author;
  tool: string;
  /** Whose plugin asks. Absent in records of earlier versions. */
  skill?: string;
  question: string;
  options: string[];
  words?: WordsForm;
  /** Set if it could not be shown where it belongs: where it is instead, and the end of "I can't write there: ". */
  elsewhere?: { target: ReplyTarget; why: string };
  picked?: number;
  said?: AnswerInWords;
  pickedBy?: Author;
}

export interface QuestionRequest {
  target: ReplyTarget;
  jobId: string;
  number: number;
  requester: Author;
  tool: string;
  skill: string;
  question: string;
  /** Options, or a form. */
  answers: readonly string[] | WordsForm;
}

/** The option, as it was given, or what was said in the form, by the message that its files belong to. */
export type QuestionAnswer = string | (AnswerInWords & { messageId: string });

export interface Questions {
  /**
   * While the service accepts nothing, tries again until the abort. Rejects if the question can't be asked, or with the
   * signal's reason after an abort.
   */
  ask(request: QuestionRequest, signal: AbortSignal): Promise<QuestionAnswer>;
  answer(pick: InboundPick): Promise<AnswerReceipt>;
  /** Withdraws questions that nobody waits for and retries failed card updates. */
  sweep(now: number): Promise<void>;
}
