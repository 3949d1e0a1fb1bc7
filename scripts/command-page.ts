/**
 * Writes the part of docs/commands.md about the command line, from the commands themselves:
 *
 *   node scripts/command-page.ts           rewrites the page
 *   node scripts/command-page.ts --print   prints it
 */
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { commandLine } from "./command-line.ts";

const page = resolve(import.meta.dirname, "../docs/commands.md");
const begin = "<!-- The rest is written by scripts/command-page.ts. -->\n";

function entriesOf(command: Command, path: string): string[] {
  const children = command.commands.flatMap((child) => entriesOf(child, `${path} ${child.name()}`));
  const isOnlyGroup = command.commands.length > 0 && (command.parent === null || command.options.length === 0);
  return isOnlyGroup ? children : [entryOf(command, path), ...children];
}

function entryOf(command: Command, path: string): string {
  const help = command.createHelp();
  const words = command.registeredArguments.map((argument) => {
    const word = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return argument.required ? ` <${word}>` : ` [${word}]`;
  });
  const details = [
    ...command.registeredArguments
      .filter((argument) => argument.description !== "")
      .map((argument) => [help.argumentTerm(argument), help.argumentDescription(argument)]),
    ...help
      .visibleOptions(command)
      .filter(({ long }) => long !== "--help")
      .map((option) => [option.flags, help.optionDescription(option)]),
  ];
  const sentence = `${command.description().charAt(0).toUpperCase()}${command.description().slice(1)}.`;
  const lines = details.map(([term, description]) => `- \`${term}\` — ${description}`);
  return `### ${path}${words.join("")}\n\n${sentence}\n${lines.length === 0 ? "" : `\n${lines.join("\n")}\n`}`;
}

export async function commandPage(): Promise<string> {
  const program = await commandLine();
  const [head = ""] = readFileSync(page, "utf8").split(begin);
  const text = entriesOf(program, "remora").join("\n");
  return `${head}${begin}\n${text}`;
}

if (import.meta.main) {
  const text = await commandPage();
  if (process.argv.includes("--print")) process.stdout.write(text);
  else writeFileSync(page, text);
}
