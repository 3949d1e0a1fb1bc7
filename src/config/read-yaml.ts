/** Reads the configuration file: YAML with line numbers, and `${NAME}` or `${NAME:-default}` in values. */
import { readFileSync } from "node:fs";
import { isMap, isNode, LineCounter, parseDocument, type YAMLParseError } from "yaml";
import { codeOf, messageOf } from "../lib/errors.ts";
import { type ConfigProblem, type Environment, readVariable } from "./environment.ts";

/** A missing file counts as empty, unless REMORA_CONFIG names it (`isNamed`). */
export function readSource(file: string, isNamed: boolean): string | ConfigProblem {
  try {
    return readFileSync(file, "utf8");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT" && !isNamed) return "";
    return {
      place: file,
      key: "",
      message: `can't be read: ${messageOf(thrown)}. Check REMORA_CONFIG and the file's permissions.`,
    };
  }
}

type ReadYaml = { value: unknown; placeOf(path: readonly PropertyKey[]): string } | { problems: ConfigProblem[] };

export function readYaml(source: string, file: string): ReadYaml {
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, uniqueKeys: true });
  const problemAt = (line: number, message: string): ConfigProblem => ({ place: `${file}:${line}`, key: "", message });
  if (document.errors.length > 0) {
    return { problems: document.errors.map((error) => problemAt(error.linePos?.[0].line ?? 1, textOf(error, source))) };
  }
  try {
    return { value: document.toJS(), placeOf: (path) => `${file}${lineSuffix(document, lines, path)}` };
  } catch (thrown) {
    // Missing anchors and too many aliases are detected only here.
    return { problems: [problemAt(1, invalidText(messageOf(thrown)))] };
  }
}

/** The parser's message ends with the position and an excerpt, which may hold a secret. */
function textOf({ code, message, pos }: YAMLParseError, source: string): string {
  if (code !== "DUPLICATE_KEY") return invalidText(message.replace(/ at line \d+, column \d+:?[\s\S]*$/, ""));
  const [key = ""] = /^[^:\n]*/.exec(source.slice(pos[0])) ?? [];
  return `"${key.trim()}" is written twice. Join the two, or delete one.`;
}

function invalidText(message: string): string {
  return `not valid YAML: ${message.split("\n")[0]}. Correct the line; indent by two spaces.`;
}

function lineSuffix(
  document: ReturnType<typeof parseDocument>,
  lines: LineCounter,
  path: readonly PropertyKey[],
): string {
  for (let length = path.length; length > 0; length--) {
    const [last] = path.slice(length - 1, length);
    const parent = document.getIn(path.slice(0, length - 1), true);
    const pair = isMap(parent) ? parent.items.find((item) => String(item.key) === String(last)) : undefined;
    const node = pair?.key ?? document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return `:${lines.linePos(node.range[0]).line}`;
  }
  return "";
}

type Report = (path: PropertyKey[], name: string) => void;

export function interpolate(value: unknown, env: Environment, path: PropertyKey[], onMissing: Report): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g, (_whole, name: string, fallback?: string) => {
      const found = readVariable(env, name) ?? fallback;
      if (found === undefined) onMissing(path, name);
      return found ?? "";
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => interpolate(item, env, [...path, index], onMissing));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, interpolate(item, env, [...path, key], onMissing)]),
  );
}
