/**
 * Changes single variables of `.env` and keeps all other lines. The file is replaced in one step, and only its owner can
 * read it.
 *
 * A secret that is of no use alone, such as Slack's bot token without its app token, would make the settings invalid. It
 * is held in a comment until the other one is there.
 */
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { writeFileAtomic } from "../lib/atomic-write.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";

const heldMark = "# setup holds ";
const ownerOnly = 0o600;

export interface EnvFile {
  path: string;
  get(name: string): string | undefined;
  held(name: string): string | undefined;
  /** Undefined removes the variable. Whatever was held under the same name is dropped. */
  set(values: Readonly<Record<string, string | undefined>>): Promise<void>;
  hold(name: string, value: string): Promise<void>;
}

export async function openEnvFile(path: string): Promise<EnvFile> {
  let text = (await readText(path)).replace(/^\uFEFF/, "");

  async function change(values: Readonly<Record<string, string | undefined>>, prefix: string): Promise<void> {
    let next = text;
    for (const [name, value] of Object.entries(values)) {
      next = withoutLine(withoutLine(next, name), heldMark + name);
      if (value !== undefined)
        next = `${next}${next === "" || next.endsWith("\n") ? "" : "\n"}${prefix}${name}=${quoted(name, value)}\n`;
    }
    await save(path, next);
    text = next;
  }

  return {
    path,
    get: (name) => parseEnv(text)[name] || undefined,
    held: (name) => parseEnv(text.replaceAll(heldMark, ""))[name] || undefined,
    set: (values) => change(values, ""),
    hold: (name, value) => change({ [name]: value }, heldMark),
  };
}

/** A missing file counts as empty. */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return "";
    throw fileError(path, "can't be read", thrown);
  }
}

async function save(path: string, text: string): Promise<void> {
  try {
    await writeFileAtomic(path, text, ownerOnly);
  } catch (thrown) {
    throw fileError(path, "can't be written", thrown);
  }
}

export function fileError(path: string, what: string, thrown: unknown): RemoraError {
  const message = `${what}: ${messageOf(thrown)}. Check the folder's permissions and the disk, then run init again`;
  return new RemoraError({ code: "setup.file", place: path, message, cause: thrown });
}

/** Also removes `export NAME=…`. A value in quotes may have several lines. */
function withoutLine(text: string, name: string): string {
  const escaped = name.replaceAll(/[^\w]/g, "\\$&");
  const value = String.raw`[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|\`[^\`]*\`)?[^\n]*(?:\n|$)`;
  return text.replace(new RegExp(String.raw`^[ \t]*(?:export[ \t]+)?${escaped}${value}`, "gm"), "");
}

function quoted(name: string, value: string): string {
  if (/^[\w.:/@+=,~-]*$/.test(value)) return value;
  const quote = ["'", '"', "`"].find((mark) => !value.includes(mark) && (mark !== '"' || !value.includes("\\")));
  if (quote === undefined || /[\r\n\0]/.test(value))
    throw new RemoraError({
      code: "setup.value",
      place: name,
      message: "this value can't be kept in .env. Use one line without quotes",
    });
  return `${quote}${value}${quote}`;
}
