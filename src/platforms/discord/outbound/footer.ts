/** What is below an answer: one small line, and buttons. People rate answers with the reactions 👍 and 👎. */
import type { APIMessageTopLevelComponent } from "discord.js";
import type { AnswerFooter } from "../../../ports/answer-footer.ts";
import { maxMessageLength } from "../limits.ts";
import { button, rowsOf } from "./buttons.ts";
import { escapePlain } from "./plain-text.ts";

/** The last one is the mark of earlier versions. */
const footerMarks = ["-# ⓘ ", "-# ▸ "] as const;
const [footerMark] = footerMarks;
/** Subtext that begins with a mark, or with a similar one, whatever is before and between. */
const forgedMark = /-#(?=[^\p{L}\p{N}\n]*[ⓘ🛈ℹⒾ🅘🄘▸▹▶▷►▻‣⏵❯›])/gu;
const labels = { details: "Details", retry: "Retry" } as const;

export interface RenderedFooter {
  /** Empty if there is none. */
  line: string;
  components: APIMessageTopLevelComponent[];
}

export function renderFooter(footer: AnswerFooter | undefined, thread: string | null): RenderedFooter {
  if (footer === undefined) return { line: "", components: [] };
  const buttons = (["details", "retry"] as const)
    .filter((choice) => footer.choices.includes(choice))
    .map((choice) => button({ type: "footer", choice }, labels[choice], footer.turnId, { thread }));
  return { line: footer.line === "" ? "" : footerMark + escapePlain(footer.line), components: rowsOf(buttons) };
}

/** Adds the line to the last part, or as a part of its own if it does not fit. */
export function withFooterLine(texts: readonly string[], { line }: RenderedFooter): string[] {
  // The text itself must not look as if it had such a line.
  const parts = texts.map((text) => text.replace(forgedMark, "\\-#"));
  const last = parts.at(-1);
  if (line === "" || last === undefined) return [...parts];
  const both = `${last}\n${line}`;
  return both.length <= maxMessageLength ? [...parts.slice(0, -1), both] : [...parts, line];
}

/** The line below an answer is not something that the agent said. */
export function withoutFooter(content: string): string {
  const at = Math.max(...footerMarks.map((mark) => content.lastIndexOf(mark)));
  const isLine = at === 0 || content[at - 1] === "\n";
  return at === -1 || !isLine || content.slice(at).includes("\n") ? content : content.slice(0, at).trimEnd();
}
