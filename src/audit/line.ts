/**
 * One line of the audit: JSON with its chain, its number in the chain, and the hash of the previous line.
 *
 *     {"chain":"mfz3k1-4f2a","sequence":2,"prev":"<SHA-256>","at":"2026-11-22T09:00:00.000Z","event":"tool.called",…}
 */
import { createHash, randomBytes } from "node:crypto";
import { parseJson } from "../lib/json.ts";
import type { Mask } from "../lib/redact.ts";

/** `prev` of a chain's first line. */
export const genesis = "0".repeat(64);

/** Ids sort by time and are unique across processes. */
export function createChainId(at: number): string {
  return `${at.toString(36)}-${randomBytes(4).toString("hex")}`;
}

export function chainStartedAt(chain: string): string | undefined {
  const [, time] = /^([0-9a-z]{8})-[0-9a-f]{8}$/.exec(chain) ?? [];
  return time === undefined ? undefined : new Date(Number.parseInt(time, 36)).toISOString();
}

export interface ChainHead {
  sequence: number;
  /** SHA-256 of the line's bytes without the line break, in hex. */
  hash: string;
}

export interface LineHead {
  chain: string;
  sequence: number;
  prev: string;
  at: string;
  event: string;
}

export interface AuditLine extends LineHead {
  [field: string]: unknown;
}

/** Masks configured secrets before JSON escapes the values, because an escaped secret would not match. */
export function formatLine(head: LineHead, fields: object, mask: Mask): string {
  const masked = (_key: string, value: unknown) => (typeof value === "string" ? mask(value) : value);
  return JSON.stringify(Object.assign({ ...head }, fields, head), masked);
}

export function parseLine(text: string): AuditLine | undefined {
  const value = parseJson(text) as Partial<AuditLine> | null | undefined;
  const isLine =
    typeof value?.chain === "string" &&
    Number.isSafeInteger(value.sequence) &&
    typeof value.prev === "string" &&
    typeof value.at === "string" &&
    typeof value.event === "string";
  return isLine ? (value as AuditLine) : undefined;
}

export function hashOfBytes(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}
