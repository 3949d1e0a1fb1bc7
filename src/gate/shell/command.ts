/** Reads one simple command: its words as the program gets them, its redirects, what it wraps, and texts to match. */
import type { Assignment, Command, Redirection, Word } from "unbash";
import { baseName, evenPath, spellingsOf } from "./flags.ts";
import type { ShellRedirect, SimpleCommand } from "./reading.ts";
import { literalWord, readWord, type ShellWord, type Variables } from "./words.ts";
import { type Wrapped, wrappedIn } from "./wrappers.ts";

export const maxNesting = 6;

export interface Layer {
  words: ShellWord[];
  outer: string[];
  scripts: Extract<Wrapped, { type: "script" }>[];
}

const declares = /^(?:export|declare|typeset|local|readonly)$/;

/** Also updates `variables` with the command's assignments of plain text. */
export function readCommand(node: Command, variables: Variables): SimpleCommand {
  const parts = node.name === undefined ? node.args : [node.name, ...node.args];
  const words = parts.flatMap((part) => (part.type === "Word" ? readWord(part, variables) : [assignmentWord(part)]));
  const assigned = node.prefix.filter((part) => part.type === "Assignment");
  if (words.length === 0) for (const assignment of assigned) assign(assignment, variables);
  if (declares.test(words[0]?.value ?? "")) {
    for (const part of node.args) if (part.type === "Assignment") assign(part, variables);
  }
  return { words, ...readRedirections(node.redirects, variables) };
}

function assignmentWord({ text }: Assignment): ShellWord {
  return { ...literalWord(text), hasExpansion: /[$`]/.test(text) };
}

function assign({ name, value, append }: Assignment, variables: Variables): void {
  const words = value.type === "Word" ? readWord(value, variables) : [];
  const known = words.map((word) => word.value).join(" ");
  const isKnown = value.type === "Word" && !/[$`]/.test(known);
  if (isKnown) variables.set(name, (append === true ? (variables.get(name) ?? "") : "") + known);
  else variables.delete(name);
}

export function readRedirections(
  redirections: readonly Redirection[],
  variables: Variables,
): Pick<SimpleCommand, "redirects" | "input"> {
  const redirects: ShellRedirect[] = [];
  let input: SimpleCommand["input"];
  for (const redirection of redirections) {
    if (redirection.type === "HereDoc") {
      const { text, parts } = redirection.body;
      // Unless the heredoc's end is unambiguous, its text might include later commands.
      const isClear =
        redirection.closing !== undefined && /^(?:\w+|'\w+'|"\w+")$/.test(redirection.delimiter?.text ?? "");
      input = { text, isDynamic: !isClear || (parts?.some(({ type }) => type !== "Literal") ?? false) };
    } else if (redirection.type === "HereString") {
      const words = redirection.target === undefined ? [] : readWord(redirection.target, variables);
      input = { text: words.map(({ value }) => value).join(" "), isDynamic: words.some((word) => word.hasExpansion) };
    } else if (redirection.target !== undefined) {
      const operator = operatorOf(redirection.operator, redirection.target);
      const [target] = readWord(redirection.target, variables);
      if (operator !== undefined && target !== undefined) redirects.push({ operator, target });
    }
  }
  return input === undefined ? { redirects } : { redirects, input };
}

/** Returns undefined if a descriptor is only duplicated or closed. */
function operatorOf(written: string, target: Word): ShellRedirect["operator"] | undefined {
  if (written === "<") return "<";
  if (written === "<&") return undefined;
  if (written === ">&" && /^(?:\d+-?|-)$/.test(target.value)) return undefined;
  return written.endsWith(">>") ? ">>" : ">";
}

/** Returns the command, what it wraps, what that wraps, and so on. Returns undefined if the nesting is too deep. */
export function layersOf(words: ShellWord[]): Layer[] | undefined {
  const layers: Layer[] = [];
  const open: Pick<Layer, "words" | "outer">[] = [{ words, outer: [] }];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (next.outer.length > maxNesting) return undefined;
    const wrapped = wrappedIn(next.words);
    layers.push({ ...next, scripts: wrapped.filter((one) => one.type === "script") });
    const outer = [...next.outer, baseName(next.words[0]?.value ?? "")];
    for (const inner of wrapped) if (inner.type === "command") open.push({ words: inner.words, outer });
  }
  return layers;
}

/** Renders one layer with its redirects: on its own, and after each command name that wraps it. */
export function layerVariants({ words, outer }: Layer, redirects: readonly ShellRedirect[]): string[] {
  const spellings = spellingsOf(words.map(({ value }) => value));
  const written = redirects.map(({ operator, target }) => `${operator} ${target.value}`);
  const even = redirects.map(({ operator, target }) => `${operator} ${evenPath(target.value)}`);
  if (spellings.length === 0) return [written.join(" "), even.join(" ")];
  const forms = spellings.map((spelling) => [spelling, ...even].join(" "));
  const wrapped = outer.flatMap((name) => spellings.map((spelling) => `${name} ${spelling}`));
  return [[spellings[0], ...written].join(" "), ...forms, ...wrapped];
}

export function lineOf(words: readonly ShellWord[]): string {
  const [name, ...rest] = words.map(({ value }) => value);
  return [baseName(name ?? ""), ...rest].join(" ");
}
