/**
 * The commands in the documentation are real. All of them are read by the command line itself, and those of the first pages
 * run as they are written. The commands are taken from the pages, so a new one is tested, too.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { commandLine } from "../scripts/command-line.ts";
import { environmentOf, temporaryFolder } from "./cli/remora-command.ts";
import { writeFiles } from "./skill-runtime/folders.ts";

const root = resolve(import.meta.dirname, "..");
const run = promisify(execFile);
const pages = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const textOf = (page: string) => readFileSync(join(root, page), "utf8");
const blocksOf = (page: string) => [...textOf(page).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);

/** Lines of code, and code within sentences, without comments and without the explanation after two spaces. */
function codeOf(page: string): { line: string; isInline: boolean }[] {
  const text = textOf(page).replaceAll(/\\\n\s*/g, "");
  const indented = [...text.matchAll(/^ {4}(\S.*)$/gm)].map(([, line = ""]) => line);
  const inline = [...text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  const fenced = blocksOf(page).flatMap((block) => block.replaceAll(/\\\n\s*/g, "").split("\n"));
  const plain = (line: string) => line.split(/ {2,}|\s#\s/)[0]?.trim() ?? "";
  return [
    ...[...indented, ...fenced].map((line) => ({ line: plain(line), isInline: false })),
    ...inline.map((line) => ({ line: plain(line), isInline: true })),
  ];
}

/** The arguments of `remora` in a line; `a|b` stands for two commands. */
function argumentsIn(line: string): string[][] {
  const [, rest] = /(?:^|\s)(?:npm run -s remora --|(?<=^)remora)(?=\s|$)(.*)$/.exec(line) ?? [];
  if (rest === undefined) return [];
  const [command = ""] = rest.split(" | ");
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? "",
  );
  const choices = words.map((word) => (/^[a-z]+(?:\|[a-z]+)+$/.test(word) ? word.split("|") : [word]));
  return choices.reduce<string[][]>(
    (lines, words) => lines.flatMap((start) => words.map((word) => [...start, word])),
    [[]],
  );
}

/** What the command line says against these arguments. Runs nothing. */
async function complaintOf(program: Command, words: string[]): Promise<string> {
  let said = "";
  const prepare = (command: Command) => {
    command.exitOverride().configureOutput({ writeErr: (text) => (said += text), writeOut: () => {} });
    // `config` is a group that can also be called alone.
    if (command.commands.length === 0 || command.options.length > 0) command.action(() => {});
    for (const child of command.commands) prepare(child);
  };
  prepare(program);
  await program.parseAsync(["node", "remora", ...words]).catch((thrown: Error) => (said ||= thrown.message));
  return /outputHelp|\(--version\)/.test(said) ? "" : said;
}

test("every command in the documentation is one that the command line knows", async () => {
  const program = await commandLine();
  const found = pages.flatMap((page) =>
    codeOf(page).flatMap(({ line, isInline }) => argumentsIn(line).map((words) => ({ page, words, isInline }))),
  );
  expect(found.length).toBeGreaterThan(60);
  const wrong: string[] = [];
  for (const { page, words, isInline } of found) {
    const complaint = await complaintOf(program, words);
    // A sentence may name a command without its arguments.
    const isName = isInline && /^Usage:|missing required argument/.test(complaint);
    if (complaint !== "" && !isName) wrong.push(`${page}: ${words.join(" ")}: ${complaint.trim()}`);
  }
  expect(wrong).toEqual([]);
});

test("scripts of npm and files for node that the documentation runs are there", () => {
  const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
  const lines = pages.flatMap(codeOf).map(({ line }) => line);
  const named = lines.flatMap((line) => /^(?:[A-Z_]+=\S+ )*npm (?:run (?:-s )?)?([a-z]+)/.exec(line)?.[1] ?? []);
  expect(named.filter((name) => !(name in scripts) && !["ci", "install", "pack", "exec"].includes(name))).toEqual([]);
  const files = lines.flatMap((line) => /^node ((?:scripts|bench|src)\/\S+)/.exec(line)?.[1] ?? []);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

test("commands in chat are in the list of commands", () => {
  const known = new Set([...textOf("docs/commands.md").matchAll(/`\/remora ([a-z]+)/g)].map(([, name]) => name));
  const used = pages.flatMap((page) => [...textOf(page).matchAll(/`\/remora ([a-z]+)/g)].map(([, name]) => name));
  expect(used.filter((name) => name !== "help" && !known.has(name))).toEqual([]);
});

test("docs/commands.md lists every command and option; otherwise run scripts/command-page.ts", async () => {
  const { stdout } = await run(process.execPath, ["scripts/command-page.ts", "--print"], { cwd: root });
  expect(textOf("docs/commands.md")).toBe(stdout);
});

/** Runs blocks of a page in one folder, in their order, with the checkout's code. */
async function runBlocks(home: string, blocks: string[]): Promise<string> {
  const npm = 'npm() { shift 4; "$NODE" "$CODE" "$@"; }';
  const env = { ...environmentOf(home), NODE: process.execPath, CODE: join(root, "src/remora.mjs") };
  const { stdout } = await run("sh", ["-ec", [npm, ...blocks].join("\n")], { cwd: home, env });
  return stdout;
}

test("the commands of docs/first-skill.md run as they are written", { timeout: 300_000 }, async () => {
  const home = await temporaryFolder();
  const page = textOf("docs/first-skill.md");
  const files = [...page.matchAll(/^`([^`]+)`:\n\n```\w+\n([\s\S]*?)^```$/gm)].map(([, path = "", text = ""]) => [
    path,
    text,
  ]);
  const blocks = blocksOf("docs/first-skill.md");
  expect([files.length, blocks.length]).toEqual([2, 4]);
  const written = await runBlocks(home, blocks.slice(0, 2));
  expect(written).toContain("Created workspace/skills/release-notes");
  expect(written).toMatch(/^ok +release-notes /m);
  expect(written).toMatch(/^release-notes 0\.1\.0 — How we write release notes/m);
  await writeFiles(home, Object.fromEntries(files));
  const lived = await runBlocks(home, blocks.slice(2));
  expect(lived).toMatch(/^ok +notice-board /m);
  expect(lived).toMatch(/^board_wipe asks: notice-board:\d+ /m);
  expect(lived).toContain("notice-board is off for everybody.");
  expect(lived).toContain("notice-board is on.");
  expect(existsSync(join(home, "workspace/skills/notice-board"))).toBe(false);
});

test("what the quickstart says to run afterwards runs", async () => {
  const home = await temporaryFolder();
  await mkdir(join(home, "data"));
  const lines = blocksOf("docs/quickstart.md").flatMap((block) => block.trim().split("\n"));
  expect(lines.filter((line) => !/start|init|service|doctor|backup/.test(line))).toEqual([]);
  const backup = lines.filter((line) => line.includes("backup"));
  expect(await runBlocks(home, [...blocksOf("docs/recipes.md"), ...backup])).toMatch(
    /no problems[\s\S]*Saved .*backups\/remora-.*\.tar\.gz/,
  );
});
