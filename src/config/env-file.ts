/**
 * Reads `.env`: the settings and secrets of this installation. The values never enter the process's environment, so no
 * child process gets them. Variables of the real environment come first.
 */
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import { codeOf, messageOf } from "../lib/errors.ts";
import { type ConfigProblem, type Environment, readVariable } from "./environment.ts";

export interface EnvFile {
  path: string;
  /** The real environment, and what only the file sets. */
  env: Environment;
  /** `.env:3 NAME` for a variable that is in force because of the file, otherwise the name. */
  placeOf(name: string): string;
  problems: ConfigProblem[];
  warnings: string[];
}

const maxFileBytes = 1024 * 1024;
const accessOfOthers = 0o077;

/** A missing file counts as empty, unless REMORA_ENV_FILE names it. */
export function readEnvFile(variables: Environment, root: string): EnvFile {
  const named = readVariable(variables, "REMORA_ENV_FILE");
  const path = resolve(root, named ?? ".env");
  const nothing = { path, env: variables, placeOf: (name: string) => name, problems: [], warnings: [] };
  const failed = (message: string) => ({ ...nothing, problems: [{ place: path, key: "", message }] });
  try {
    const facts = statSync(path);
    if (facts.isDirectory()) return failed("is a folder. Put NAME=value lines into a file.");
    if (facts.size > maxFileBytes) return failed("has more than 1 MiB. Keep only NAME=value lines in it.");
    const text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
    const found = findLines(text);
    const values = Object.entries(parseEnv(text)).filter(
      ([name, value]) => value !== undefined && value !== "" && readVariable(variables, name) === undefined,
    );
    const isOpen = facts.isFile() && process.platform !== "win32" && (facts.mode & accessOfOthers) !== 0;
    const inForce = new Set(values.map(([name]) => name));
    return {
      path,
      placeOf: (name) => (inForce.has(name) ? `${path}:${found.lines.get(name) ?? 1} ${name}` : name),
      env: { ...variables, ...Object.fromEntries(values) },
      problems: found.wrong.map((line) => ({
        place: `${path}:${line}`,
        key: "",
        message: "is not a setting. Write NAME=value, or begin the line with # for a comment.",
      })),
      warnings: isOpen ? [`${path} can be read by other users of this machine. Run: chmod 600 ${path}`] : [],
    };
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" && named === undefined) return nothing;
    return failed(`can't be read: ${messageOf(thrown)}. Check the path and its permissions.`);
  }
}

/** `parseEnv` skips lines that it can't read, so a typing error would go unnoticed. */
function findLines(text: string): { lines: Map<string, number>; wrong: number[] } {
  const lines = new Map<string, number>();
  const wrong: number[] = [];
  let openQuote: string | undefined;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (openQuote !== undefined) {
      if (line.includes(openQuote)) openQuote = undefined;
      continue;
    }
    const [, name = "", value = ""] = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*)$/.exec(line) ?? [];
    if (name !== "") {
      lines.set(name, index + 1);
      const [quote = ""] = value;
      if ("\"'`".includes(quote) && quote !== "" && !value.slice(1).includes(quote)) openQuote = quote;
    } else if (!/^\s*(?:#|$)/.test(line)) wrong.push(index + 1);
  }
  return { lines, wrong };
}
