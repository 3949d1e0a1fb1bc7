/**
 * The custom id of a button (at most 100 characters), which grants no authority:
 *
 *   approve|<thread>|<message>|<approval or card>
 *
 * `thread` names the conversation even if no thread could be created. `message` is the first message of a longer card.
 */
import { type AnswerChoice, answerChoices } from "../../../ports/message.ts";

export type ButtonMeaning =
  | { type: "answer"; choice: AnswerChoice }
  | { type: "edited" }
  | { type: "chosen" }
  | { type: "handed" }
  | { type: "allowed" }
  /** Opens the form of a question; `written` submits it. */
  | { type: "write" }
  | { type: "written" }
  /** Opens the form for a denial with a reason; `denied` submits it. */
  | { type: "reason" }
  | { type: "denied" }
  /** Shows further choices to the person alone. */
  | { type: "more"; choices: MoreChoice[] }
  | { type: "pick"; option: number }
  | { type: "footer"; choice: "details" | "retry" };

export type MoreChoice = "edit" | "allow" | "reason" | "handover" | "why";

export interface ButtonPlace {
  /** The conversation's thread; null outside threads and in DMs. */
  thread: string | null;
  /** The card's first message, if the button is on a later one. */
  firstMessage?: string;
}

/** Letters keep the id short. */
const moreLetters: readonly (readonly [string, MoreChoice])[] = [
  ["e", "edit"],
  ["a", "allow"],
  ["r", "reason"],
  ["h", "handover"],
  ["w", "why"],
];

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
    case "handed":
    case "allowed":
    case "write":
    case "written":
    case "reason":
    case "denied":
      return meaning.type;
    case "more":
      return `more-${moreLetters.flatMap(([letter, choice]) => (meaning.choices.includes(choice) ? [letter] : [])).join("")}`;
    case "pick":
      return `pick${meaning.option}`;
    case "footer":
      return meaning.choice;
    default:
      return meaning satisfies never;
  }
}

export function parseButtonId(text: string): ButtonId | undefined {
  const [word = "", thread = "", firstMessage = "", ...rest] = text.split("|");
  const id = rest.join("|");
  const meaning = meaningOf(word);
  if (meaning === undefined || id === "") return undefined;
  return { meaning, thread: thread === "" ? null : thread, ...(firstMessage === "" ? {} : { firstMessage }), id };
}

const formWords = ["edited", "chosen", "handed", "allowed", "write", "written", "reason", "denied"] as const;

function meaningOf(word: string): ButtonMeaning | undefined {
  const choice = answerChoices.find((each) => each === word);
  if (choice !== undefined) return { type: "answer", choice };
  if (word === "details" || word === "retry") return { type: "footer", choice: word };
  const form = formWords.find((each) => each === word);
  if (form !== undefined) return { type: form };
  const [, letters] = /^more-([a-z]{1,9})$/.exec(word) ?? [];
  if (letters !== undefined) {
    return { type: "more", choices: moreLetters.flatMap(([letter, more]) => (letters.includes(letter) ? [more] : [])) };
  }
  return /^pick\d$/.test(word) ? { type: "pick", option: Number(word.slice(4)) } : undefined;
}
