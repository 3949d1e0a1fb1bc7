/** Finds code that flows between commands: `curl … | sudo bash` and `eval "$(curl …)"` become `curl … | bash`. */
import { type Command, forEachChild, type Pipeline, type Function as ShellFunction, type SyntaxNode } from "unbash";
import { codeSourceOf } from "./code.ts";
import { type Layer, layersOf, lineOf, readCommand } from "./command.ts";
import { baseName } from "./flags.ts";
import { addForm, type SimpleCommand, type Walk } from "./reading.ts";
import type { Variables } from "./words.ts";

/** Limits the commands of one stage, and the stages of one pipeline. */
const maxPaired = 12;

interface Stage {
  commands: SimpleCommand[];
  layers: Layer[];
}

export function readPipeline(node: Pipeline, walk: Walk, readScript: (text: string, walk: Walk) => void): void {
  const { reading, variables } = walk;
  // Look ahead with a copy, because the walk sets the variables only when it visits the commands.
  const stages = node.commands.slice(0, maxPaired).map((stage) => stageOf(stage, new Map(variables)));
  addForm(reading, stages.map(({ commands }) => lineOf(commands[0]?.words ?? [])).join(" | "));
  for (const [index, stage] of stages.entries()) {
    const reader = index === 0 ? undefined : readerIn(stage);
    if (reader === undefined) continue;
    reading.tags.add("#shell:pipe-to-interpreter");
    for (const earlier of stages.slice(0, index)) {
      for (const { words } of earlier.layers) addForm(reading, `${lineOf(words)} | ${reader.name}`);
    }
    const written = textWrittenBy(stages[index - 1]);
    if (reader.isShell && written !== undefined) readScript(written, { ...walk, depth: walk.depth + 1 });
  }
  if (node.commands.length > maxPaired) reading.tags.add("#shell:parse-error");
}

function stageOf(node: SyntaxNode, variables: Variables): Stage {
  const commands = commandsIn(node).map((command) => readCommand(command, variables));
  return { commands, layers: commands.flatMap(({ words }) => layersOf(words) ?? []) };
}

function readerIn({ commands, layers }: Stage): { name: string; isShell: boolean } | undefined {
  for (const { words } of layers) {
    const code = codeSourceOf(words);
    const hasOwnInput = commands.some(({ input, redirects }) => input !== undefined || redirects.some(isInput));
    if (code?.type === "stdin" && !hasOwnInput) {
      return { name: baseName(words[0]?.value ?? ""), isShell: code.isShell };
    }
  }
  return undefined;
}

function isInput({ operator }: { operator: string }): boolean {
  return operator === "<";
}

/** Returns what a stage prints, if the command contains it: `echo 'rm x'`, `cat <<EOF`. */
function textWrittenBy(stage: Stage | undefined): string | undefined {
  const [command, ...more] = stage?.commands ?? [];
  if (command === undefined || more.length > 0) return undefined;
  const [name, ...words] = command.words.map(({ value }) => value);
  if (name === "cat" && words.length === 0) return command.input?.text;
  if (name !== "echo" && name !== "printf") return undefined;
  return words.filter((word) => !/^-[neE]+$/.test(word)).join(" ");
}

export function substitutedInto(node: Command, command: SimpleCommand, variables: Variables): string[] {
  if (!command.words.some(({ hasExpansion }) => hasExpansion) && command.redirects.length === 0) return [];
  const runner = (layersOf(command.words) ?? []).find(({ words, scripts }) => {
    return codeSourceOf(words) !== undefined || scripts.length > 0;
  });
  if (runner === undefined) return [];
  const name = baseName(runner.words[0]?.value ?? "");
  const shown = /^(?:eval|source|\.)$/.test(name) ? "bash" : name;
  return commandsIn(node)
    .filter((inner) => inner !== node)
    .flatMap((inner) => layersOf(readCommand(inner, new Map(variables)).words) ?? [])
    .map(({ words }) => `${lineOf(words)} | ${shown}`);
}

/** Detects a function that pipes itself into itself, whatever its name. */
export function isForkBomb(node: ShellFunction): boolean {
  const name = node.name.value;
  let isFound = false;
  const look = (inner: SyntaxNode) => {
    if (inner.type === "Pipeline") {
      const own = inner.commands.filter((stage) => stage.type === "Command" && stage.name?.value === name);
      if (own.length > 1) isFound = true;
    }
    if (!isFound) forEachChild(inner, look);
  };
  look(node.body);
  return isFound;
}

function commandsIn(node: SyntaxNode): Command[] {
  const found: Command[] = [];
  const look = (inner: SyntaxNode) => {
    if (inner.type === "Command") found.push(inner);
    if (found.length < maxPaired) forEachChild(inner, look);
  };
  look(node);
  return found;
}
