/** Request and response formats: JSON values, arguments of a call, and Slack's errors. */

import type { SlackError } from "./rules.ts";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** `{ ok: false, error }`, with what else the answer carries. */
export class SlackRefusal extends Error {
  readonly error: SlackError;
  readonly body: JsonObject;
  readonly headers: Record<string, string>;
  readonly status: number;

  constructor(error: SlackError, body: JsonObject = {}, headers: Record<string, string> = {}, status = 200) {
    super(error);
    this.error = error;
    this.body = body;
    this.headers = headers;
    this.status = status;
  }
}

/** As Slack says what is wrong with arguments: `[ERROR] …` lines, which the client libraries log. */
export function invalid(error: SlackError, ...problems: string[]): SlackRefusal {
  return new SlackRefusal(error, {
    ...(error === "invalid_blocks" ? { errors: problems } : {}),
    response_metadata: { messages: problems.map((problem) => `[ERROR] ${problem}`) },
  });
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Arguments of a call; form fields are text, JSON in a text field is read where an object or a list is expected. */
export interface Arguments {
  has(name: string): boolean;
  text(name: string): string | undefined;
  required(name: string): string;
  flag(name: string): boolean | undefined;
  count(name: string): number | undefined;
  /** Undefined when absent; `invalid_arguments` or the given error when it is no JSON. */
  json(name: string, error?: SlackError): Json | undefined;
}

export function createArguments(values: JsonObject): Arguments {
  const isAbsent = (name: string) => values[name] === undefined || values[name] === null;
  function text(name: string): string | undefined {
    const value = values[name];
    if (value === undefined || value === null) return undefined;
    return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  }
  return {
    has: (name) => !isAbsent(name),
    text,
    required(name) {
      const value = text(name);
      if (value === undefined || value === "") throw invalid("invalid_arguments", `missing required field: ${name}`);
      return value;
    },
    flag(name) {
      const value = text(name);
      return value === undefined ? undefined : value === "true" || value === "1";
    },
    count(name) {
      const value = text(name);
      if (value === undefined || value === "") return undefined;
      const number = Number(value);
      if (!Number.isFinite(number)) throw invalid("invalid_arguments", `must be a number [json-pointer:/${name}]`);
      return number;
    },
    json(name, error = "invalid_arguments") {
      const value = values[name];
      if (value === undefined || value === null || value === "") return undefined;
      if (typeof value !== "string") return value;
      try {
        return JSON.parse(value) as Json;
      } catch {
        throw invalid(error, `must be valid JSON [json-pointer:/${name}]`);
      }
    },
  };
}

/** What Slack does to text that is not meant as markup. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

export function unescapeText(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** Fences and code spans keep their content. */
export function outsideCode(text: string, change: (part: string, isCode: boolean) => string): string {
  return text
    .split(/(```[\s\S]*?```|`[^`\n]+`)/)
    .map((part, index) => change(part, index % 2 === 1))
    .join("");
}
