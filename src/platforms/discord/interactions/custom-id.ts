/**
 * What a button carries, at most 100 characters: what it means, where it stands, and the id that locates what it is for. None of
 * it is authority.
 *
 *   approve|<thread>|<message>|<approval or card>
 *
 * - `thread`: where a conversation's thread could not be made, its card stands in the channel, and only this tells whose it is.
 * - `message`: a card of several messages is known by its first one.
 */
import type { AnswerChoice } from "../../../ports/message.ts";

export type ButtonMeaning =
  | { type: "answer"; choice: AnswerChoice }
  /** The form that Edit opens. */
  | { type: "edited" }
  /** The form that Choose files opens. */
  | { type: "chosen" }
  | { type: "pick"; option: number };

export interface ButtonPlace {
  /** Of the conversation; null outside threads and in DMs. */
  thread: string | null;
  /** The card's first message, where that is another one. */
  firstMessage?: string;
}

const choices: readonly AnswerChoice[] = ["approve", "deny", "edit", "allow", "part", "diff", "undo", "again"];

export interface ButtonId extends ButtonPlace {
  meaning: ButtonMeaning;
  id: string;
}

export function formatButtonId({ meaning, thread, firstMessage = "", id }: ButtonId): string {
  return [wordOf(meaning), thread ?? "", firstMessage, id].join("|");
}

function wordOf(meaning: ButtonMeaning): string {
  switch (meaning.type) {
    case "answer":
      return meaning.choice;
    case "edited":
    case "chosen":
      return meaning.type;
    case "pick":
      return `pick${meaning.option}`;
    default:
      return meaning satisfies never;
  }
}

/** Undefined for anything that `formatButtonId` does not make. */
export function parseButtonId(text: string): ButtonId | undefined {
  const [word = "", thread = "", firstMessage = "", ...rest] = text.split("|");
  const id = rest.join("|");
  const meaning = meaningOf(word);
  if (meaning === undefined || id === "") return undefined;
  return { meaning, thread: thread === "" ? null : thread, ...(firstMessage === "" ? {} : { firstMessage }), id };
}

function meaningOf(word: string): ButtonMeaning | undefined {
  const choice = choices.find((each) => each === word);
  if (choice !== undefined) return { type: "answer", choice };
  if (word === "edited" || word === "chosen") return { type: word };
  return /^pick\d$/.test(word) ? { type: "pick", option: Number(word.slice(4)) } : undefined;
}
