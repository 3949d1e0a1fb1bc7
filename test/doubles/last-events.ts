/** What the agents of a test did last, for a failure that says only that something did not happen. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The workspaces of the agents of this process. */
export const workspacesInUse = new Set<string>();

const maxEvents = 25;
const maxLineCharacters = 400;
const chainFields = /^\{"chain".*?(?="at":)/;

/** Newest last. Empty if there is no agent. */
export async function lastEvents(): Promise<string> {
  const texts = await Promise.all([...workspacesInUse].map(eventsIn));
  return texts.join("");
}

async function eventsIn(workspace: string): Promise<string> {
  const folder = join(workspace, "brain/corpus");
  const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".jsonl")).sort();
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8").catch(() => "")));
  const lines = texts.join("").trimEnd().split("\n").slice(-maxEvents);
  return `The last events in ${workspace}:\n${lines.map((line) => `  ${line.replace(chainFields, "").slice(0, maxLineCharacters)}\n`).join("")}`;
}
