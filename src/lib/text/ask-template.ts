/**
 * Reads the text of `ask:` in a SKILL.md, such as `Post to {channel|this channel}: {text}`. A placeholder names an
 * argument, or one inside another (`{options.name}`); after `|` come the words for a missing argument. Backticks mark
 * code.
 */
export type AskPiece = { type: "words"; text: string } | { type: "value"; path: string[]; words: string | undefined };

export type AskTemplate = { type: "template"; pieces: AskPiece[] } | { type: "problem"; problem: string };

const maxAskCharacters = 200;

const placeholder = /\{([^{}]*)\}/g;
const argumentPath = /^[\p{L}\p{N}_$-]+(?:\.[\p{L}\p{N}_$-]+)*$/u;

export function parseAskTemplate(written: string): AskTemplate {
  const text = written.trim().replace(/\s+/g, " ");
  if (text === "") return problem("is empty");
  if (text.length > maxAskCharacters) return problem(`is longer than ${maxAskCharacters} characters`);
  const pieces: AskPiece[] = [];
  let end = 0;
  for (const match of text.matchAll(placeholder)) {
    const [whole, inside = ""] = match;
    const bar = inside.indexOf("|");
    const name = (bar === -1 ? inside : inside.slice(0, bar)).trim();
    if (!argumentPath.test(name)) return problem(`has a placeholder that names no argument: ${whole}`);
    if (match.index > end) pieces.push({ type: "words", text: text.slice(end, match.index) });
    const words = bar === -1 ? undefined : inside.slice(bar + 1).trim();
    pieces.push({ type: "value", path: name.split("."), words });
    end = match.index + whole.length;
  }
  if (end < text.length) pieces.push({ type: "words", text: text.slice(end) });
  const words = pieces.map((piece) => (piece.type === "words" ? piece.text : (piece.words ?? "")));
  if (words.some((part) => /[{}]/.test(part))) return problem("has a brace without its partner");
  const ticks = pieces.reduce((sum, piece) => sum + (piece.type === "words" ? countTicks(piece.text) : 0), 0);
  if (ticks % 2 === 1 || pieces.some((piece) => piece.type === "value" && countTicks(piece.words ?? "") > 0))
    return problem("has a backtick without its partner");
  return { type: "template", pieces };
}

function problem(text: string): AskTemplate {
  return { type: "problem", problem: text };
}

function countTicks(text: string): number {
  return text.split("`").length - 1;
}
