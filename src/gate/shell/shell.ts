/**
 * Reads a shell command for the gate. Walks every statement, substitution and function body, collects each command with
 * what it wraps and which scripts it runs, and joins the stages of pipelines (pipes.ts). Must never fail. The tag
 * `#shell:parse-error` marks a command that can't be parsed, is nested deeper than 6 or exceeds a limit. Earlier
 * findings are kept.
 */
import { type Command, forEachChild, parse, type SyntaxNode } from "unbash";
import type { Deadline } from "../deadline.ts";
import { foldCharacters } from "../fold.ts";
import { runWithin } from "../time-limit.ts";
import { codeSourceOf } from "./code.ts";
import { layersOf, layerVariants, maxNesting, readCommand, readRedirections } from "./command.ts";
import { baseName } from "./flags.ts";
import { isForkBomb, readPipeline, substitutedInto } from "./pipes.ts";
import { addForm, countCommand, createReading, type ShellReading, type SimpleCommand, type Walk } from "./reading.ts";
import { wordsOf } from "./wrappers.ts";

const maxScriptCharacters = 65_536;
/** Texts up to this length are read quickly. Longer texts are read under a time limit. */
const maxUntimedScript = 512;
const readingLimitMs = 40;
const deleters = /^(?:rm|unlink|shred|rmdir)$/i;

/** `value` is a command line or an argument vector. Anything else is tagged as unreadable. */
export function readShell(value: unknown, deadline: Deadline): ShellReading {
  const reading = createReading();
  const isVector = Array.isArray(value) && value.every((element) => typeof element === "string");
  const text = isVector ? value.join(" ") : value;
  try {
    if (typeof text !== "string" || text.length > maxScriptCharacters) reading.tags.add("#shell:parse-error");
    else readInTime(text, isVector ? value : undefined, reading, deadline);
  } catch {
    // A hostile text may make the parser fail. This tag lets a person decide.
    reading.tags.add("#shell:parse-error");
  }
  return reading;
}

/** Nested constructs make the parser read a text repeatedly, so long texts get a time limit. */
function readInTime(text: string, vector: string[] | undefined, reading: ShellReading, deadline: Deadline): void {
  const read = () => {
    readText(text, reading, deadline);
    if (vector !== undefined) readVector(vector, reading);
  };
  if (text.length <= maxUntimedScript) read();
  else if (runWithin(Math.min(readingLimitMs, deadline.left()), read) === undefined) {
    reading.tags.add("#shell:parse-error");
  }
}

function readText(text: string, reading: ShellReading, deadline: Deadline): void {
  readScript(text, { reading, variables: new Map(), depth: 0 });
  const folded = foldCharacters(text, deadline);
  if (folded === undefined) reading.tags.add("#shell:parse-error");
  else if (folded !== text) readScript(folded, { reading, variables: new Map(), depth: 0 });
}

/** Reads the vector both ways, because a tool may start it directly or join it for a shell. */
function readVector(values: string[], reading: ShellReading): void {
  judge({ words: wordsOf(values), redirects: [] }, { reading, variables: new Map(), depth: 0 });
}

function readScript(text: string, walk: Walk): void {
  if (walk.depth > maxNesting || text.length > maxScriptCharacters) walk.reading.tags.add("#shell:parse-error");
  else visit(parse(text), walk);
}

function visit(node: SyntaxNode, walk: Walk): void {
  const { reading, variables } = walk;
  const visitChildren = (next: Walk) => forEachChild(node, (child) => visit(child, next));
  switch (node.type) {
    case "Script":
      if (node.errors !== undefined && node.errors.length > 0) reading.tags.add("#shell:parse-error");
      break;
    case "Command":
      if (!countCommand(reading)) return;
      visitCommand(node, walk);
      break;
    case "Redirected":
      judge({ words: [], ...readRedirections(node.redirects, variables) }, walk);
      break;
    case "Pipeline":
      readPipeline(node, walk, readScript);
      break;
    case "Function":
      if (isForkBomb(node)) addForm(reading, ":(){ :|:& };:");
      break;
    case "ParameterExpansion":
      if (node.operation?.type === "Transform" && /P/.test(node.operation.operand.value)) {
        reading.tags.add("#shell:prompt-expansion");
      }
      break;
    case "CommandExpansion":
    case "ProcessSubstitution":
      if (walk.depth < maxNesting) visitChildren({ ...walk, depth: walk.depth + 1 });
      else reading.tags.add("#shell:parse-error");
      return;
  }
  visitChildren(walk);
}

function visitCommand(node: Command, walk: Walk): void {
  const command = readCommand(node, walk.variables);
  judge(command, walk);
  for (const form of substitutedInto(node, command, walk.variables)) addForm(walk.reading, form);
}

function judge(command: SimpleCommand, walk: Walk): void {
  const { reading } = walk;
  const layers = layersOf(command.words);
  if (layers === undefined) reading.tags.add("#shell:parse-error");
  for (const layer of layers ?? []) {
    reading.commands.push({ words: layer.words, redirects: command.redirects });
    for (const form of layerVariants(layer, command.redirects)) addForm(reading, form);
    const [name] = layer.words;
    if (name?.hasExpansion === true) reading.tags.add("#shell:dynamic-command");
    if (name?.hasGlob === true && name.value !== "[") reading.tags.add("#shell:glob-command");
    if (isFindDelete(layer.words.map(({ value }) => value))) reading.tags.add("#shell:find-delete");
    if (layer.outer.includes("find") && deleters.test(baseName(name?.value ?? ""))) {
      reading.tags.add("#shell:find-delete");
    }
    for (const script of layer.scripts) runScript(script, walk);
    judgeCode(command, layer.words, walk);
  }
}

function judgeCode(command: SimpleCommand, words: SimpleCommand["words"], walk: Walk): void {
  const { tags } = walk.reading;
  const code = codeSourceOf(words);
  if (code === undefined) return;
  if (code.type === "script") runScript(code, walk);
  else if (code.type === "inline") tags.add("#shell:inline-code");
  else if (code.type === "made") tags.add("#shell:dynamic-script");
  else if (command.input !== undefined) {
    if (code.isShell) runScript(command.input, walk);
    else tags.add("#shell:inline-code");
  } else if (command.redirects.some(({ operator }) => operator === "<")) tags.add("#shell:dynamic-script");
}

function runScript(script: { text: string; isDynamic: boolean }, walk: Walk): void {
  if (script.isDynamic) walk.reading.tags.add("#shell:dynamic-script");
  readScript(script.text, { ...walk, depth: walk.depth + 1 });
}

function isFindDelete(values: readonly string[]): boolean {
  return baseName(values[0] ?? "").toLowerCase() === "find" && values.includes("-delete");
}
