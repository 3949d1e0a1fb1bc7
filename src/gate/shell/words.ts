/** Converts shell words to the arguments that the program receives. Expands only what the script itself resolves: `$IFS`, `$(echo rm)`. */
import type { DoubleQuotedChild, ParameterExpansionPart, ParsedScript, Word, WordPart } from "unbash";

export interface ShellWord {
  value: string;
  /** True for `$…`, a substitution, or braces with more than plain text. Then `value` may be a guess. */
  hasExpansion: boolean;
  /** True for an unquoted pattern that the shell replaces with file names. */
  hasGlob: boolean;
}

export type Variables = Map<string, string>;

/** A word with more alternatives is not expanded. */
const maxAlternatives = 64;
/** Substitutions longer than this are not resolved, because they nest and would take too much time. */
const maxEchoCharacters = 200;
/** Marks where an unquoted expansion splits a word. No program argument can contain NUL. */
const split = "\0";

interface Reading {
  alternatives: string[];
  hasExpansion: boolean;
  hasGlob: boolean;
}

export function literalWord(value: string): ShellWord {
  return { value, hasExpansion: false, hasGlob: false };
}

export function readWord(word: Word, variables: Variables): ShellWord[] {
  if (word.parts === undefined) return [literalWord(word.value)];
  const reading: Reading = { alternatives: [""], hasExpansion: false, hasGlob: false };
  for (const part of word.parts) readPart(part, reading, variables);
  const { hasExpansion, hasGlob } = reading;
  return reading.alternatives.flatMap((alternative) => {
    const values = alternative.includes(split)
      ? alternative.split(split).filter((value) => value !== "")
      : [alternative];
    return values.map((value) => ({ value, hasExpansion, hasGlob }));
  });
}

function readPart(part: WordPart, reading: Reading, variables: Variables): void {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      append(reading, [part.value]);
      break;
    case "DoubleQuoted":
    case "LocaleString":
      for (const child of part.parts) readQuoted(child, reading, variables);
      break;
    case "Glob":
    case "ExtendedGlob":
      reading.hasGlob = true;
      append(reading, [part.text]);
      break;
    case "BraceExpansion": {
      const alternatives = expandBraces(part.text);
      if (alternatives === undefined || /[^\w{},./+:=@-]/.test(part.text)) reading.hasExpansion = true;
      append(reading, alternatives ?? [part.text]);
      break;
    }
    default: {
      reading.hasExpansion = true;
      const known = knownValue(part, variables);
      append(reading, [known === undefined ? part.text : known.replace(/\s+/g, split)]);
    }
  }
}

function readQuoted(part: DoubleQuotedChild, reading: Reading, variables: Variables): void {
  if (part.type !== "Literal") reading.hasExpansion = true;
  append(reading, [part.type === "Literal" ? part.value : (knownValue(part, variables) ?? part.text)]);
}

function append(reading: Reading, endings: string[]): void {
  const isTooMany = reading.alternatives.length * endings.length > maxAlternatives;
  if (isTooMany) reading.hasExpansion = true;
  const used = isTooMany ? endings.slice(0, 1) : endings;
  reading.alternatives = reading.alternatives.flatMap((start) => used.map((end) => start + end));
}

/** Returns the value of an expansion if the script itself contains that value. */
function knownValue(part: WordPart | DoubleQuotedChild, variables: Variables): string | undefined {
  if (part.type === "SimpleExpansion") return variableValue(part.text.slice(1), variables);
  if (part.type === "ParameterExpansion") return parameterValue(part, variables);
  if (part.type === "CommandExpansion" && part.text.length <= maxEchoCharacters)
    return echoedValue(part.script, variables);
  return undefined;
}

function variableValue(name: string, variables: Variables): string | undefined {
  return variables.get(name) ?? (name === "IFS" ? " " : undefined);
}

function parameterValue(part: ParameterExpansionPart, variables: Variables): string | undefined {
  const { operation } = part;
  if (part.prefix !== undefined || part.index !== undefined) return undefined;
  const value = variableValue(part.parameter, variables);
  if (operation === undefined || part.parameter === "IFS") return value;
  if (operation.type === "Default" && value === undefined && /[-=]$/.test(operation.operator)) {
    return operation.operand.value;
  }
  return undefined;
}

/** `$(echo rm)`, `$(printf rm)` and `$(which rm)` stand for their words. */
function echoedValue(script: ParsedScript | undefined, variables: Variables): string | undefined {
  const [statement, ...more] = script?.commands ?? [];
  const command = statement?.command;
  if (command?.type !== "Command" || more.length > 0) return undefined;
  if (!["echo", "printf", "which"].includes(command.name?.value ?? "")) return undefined;
  const words = command.args.flatMap((word) => (word.type === "Word" ? readWord(word, variables) : []));
  return words
    .map(({ value }) => value)
    .filter((value) => !/^-[neE]+$/.test(value))
    .join(" ");
}

/** Returns the alternatives of `{a,b{c,d}}`, or undefined for a range or too many alternatives. */
function expandBraces(text: string): string[] | undefined {
  const inner = text.slice(1, -1);
  const choices: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index <= inner.length; index += 1) {
    const character = inner.charAt(index);
    if (character === "\\") index += 1;
    else if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    else if ((character === "," || character === "") && depth === 0) {
      choices.push(inner.slice(start, index));
      start = index + 1;
    }
  }
  if (choices.length < 2 || choices.length > maxAlternatives) return undefined;
  const expanded = choices.flatMap((choice) => {
    const nested = /^([^{}]*)(\{.*\})([^{}]*)$/s.exec(choice);
    const middle = nested?.[2] === undefined ? undefined : expandBraces(nested[2]);
    return middle?.map((text) => `${nested?.[1] ?? ""}${text}${nested?.[3] ?? ""}`) ?? [choice];
  });
  return expanded.length > maxAlternatives ? undefined : expanded.map((choice) => choice.replace(/["'\\]/g, ""));
}
