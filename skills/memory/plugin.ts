/** The memory tools read and write notes that outlive conversations, in the scope of the call. */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { failure } from "../../src/plugin-sdk/failure.ts";
import type {
  JsonObject,
  Plugin,
  PluginContext,
  PluginMemory,
  PluginResult,
  RecalledNote,
} from "../../src/plugin-sdk/plugin.ts";
import { textIn } from "../../src/plugin-sdk/text-in.ts";

const shown = { text: 1_500, title: 60 };
const defaultLimit = 6;

const answers: readonly string[] = ["memory.not-owner", "memory.kept"];

async function execute(tool: string, input: JsonObject, { memory, isTainted }: PluginContext): Promise<PluginResult> {
  if (memory === undefined) return failure("Memory is not available here.");
  try {
    return await run(tool, input, memory, isTainted);
  } catch (thrown) {
    // Return a refusal as an answer, because a retry would change nothing. Throw other failures, such as a full disk.
    if (thrown instanceof RemoraError && answers.includes(thrown.code)) return failure(thrown.message);
    throw thrown;
  }
}

async function run(tool: string, input: JsonObject, memory: PluginMemory, isTainted: boolean): Promise<PluginResult> {
  switch (tool) {
    case "remember":
      return await remember(memory, input, isTainted && input.replace !== true);
    case "recall":
      return await recall(memory, textIn(input.query), typeof input.limit === "number" ? input.limit : defaultLimit);
    case "forget_note":
      return await forget(memory, textIn(input.title), input.shared === true);
    default:
      return failure(`The memory skill has no tool ${tool}.`);
  }
}

async function remember(memory: PluginMemory, input: JsonObject, isNew: boolean): Promise<PluginResult> {
  const text = textIn(input.text).trim();
  const title = textIn(input.title).trim() || firstWords(text);
  if (title === "") return failure("That note has no readable words: say what to save.");
  const save = (isShared: boolean) => memory.remember(title, text, isShared, isNew);
  let where = input.shared === true ? "for every conversation" : "for this DM or channel";
  const before = await save(input.shared === true).catch((thrown: unknown) => {
    if (!(thrown instanceof RemoraError) || thrown.code !== "memory.not-owner") throw thrown;
    // Fewer people read it, and models often share what nobody wanted to share.
    where = "for this DM or channel only, because only owners may share notes with every conversation,";
    return save(false);
  });
  return before === undefined
    ? `Saved ${where} under the title "${title}".`
    : `Saved ${where} under the title "${title}". It replaced:\n\n${shortened(before)}`;
}

async function recall(memory: PluginMemory, query: string, limit: number): Promise<PluginResult> {
  const notes = await memory.recall(query, limit);
  if (notes.length === 0) return `Memory has nothing about "${query}". Other words may find more.`;
  return notes.map(noteText).join("\n\n");
}

async function forget(memory: PluginMemory, title: string, isShared: boolean): Promise<PluginResult> {
  return (await memory.forget(title, isShared))
    ? `Deleted the note "${title}".`
    : failure(`There is no ${isShared ? "shared " : ""}note "${title}". recall finds notes with their titles.`);
}

function noteText({ heading, at, isShared, source, text }: RecalledNote): string {
  if (source !== undefined) return `## ${source}\n${shortened(text)}`;
  const facts = [at.slice(0, 16).replace("T", " "), isShared ? "shared" : ""].filter((fact) => fact !== "");
  // The heading of an earlier conversation begins with the same time.
  const time = `${at.slice(11, 16)} — `;
  const title = heading.startsWith(time) ? heading.slice(time.length) : heading;
  return `## ${title}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}\n${shortened(text)}`;
}

function firstWords(text: string): string {
  const line = text.split(/[\r\n]+/).find((candidate) => /[\p{L}\p{N}]/u.test(candidate)) ?? "";
  const clean = line
    .replace(/^[\s#>*+-]+/, "")
    .trimEnd()
    .slice(0, shown.title + 1);
  return clean.length <= shown.title ? clean : clean.slice(0, Math.max(clean.lastIndexOf(" "), 20)).trim();
}

function shortened(text: string): string {
  const clean = text.trim();
  return clean.length <= shown.text ? clean : `${clean.slice(0, shown.text).toWellFormed()} […]`;
}

const plugin: Plugin = { execute };

export default plugin;
