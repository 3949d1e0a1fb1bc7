/** Errors of single values of a block, with Slack's texts. */

import type { Size } from "./sizes.ts";
import { isObject } from "./wire.ts";

/** A problem of one value, with its place as a JSON pointer. */
export type Problem = string;

export function tooLong(value: unknown, limit: Size, place: string): Problem[] {
  return typeof value === "string" && value.length > limit
    ? [`must be less than ${limit + 1} characters [json-pointer:${place}]`]
    : [];
}

export function missing(value: unknown, name: string, place: string): Problem[] {
  return value === undefined || value === null ? [`missing required field: ${name} [json-pointer:${place}]`] : [];
}

/** A text object: plain text only where the reference says so, 1 to `limit` characters. */
export function textProblems(value: unknown, place: string, limit: Size, isPlain = false): Problem[] {
  if (!isObject(value)) return [`must be an object [json-pointer:${place}]`];
  const types = isPlain ? ["plain_text"] : ["plain_text", "mrkdwn"];
  if (typeof value.type !== "string" || !types.includes(value.type)) {
    return [`must be one of: ${types.join(", ")} [json-pointer:${place}/type]`];
  }
  if (typeof value.text !== "string") return missing(undefined, "text", place);
  if (value.text === "") return [`must be more than 0 characters [json-pointer:${place}/text]`];
  return tooLong(value.text, limit, `${place}/text`);
}

export function itemProblems(value: unknown, least: number, limit: Size, place: string): Problem[] {
  if (!Array.isArray(value)) return [`must be an array [json-pointer:${place}]`];
  if (value.length < least) return [`no less than ${least} items allowed [json-pointer:${place}]`];
  if (value.length > limit) return [`no more than ${limit} items allowed [json-pointer:${place}]`];
  return [];
}
