/**
 * Removes secrets from text:
 *
 *   createRedactor   for replies, logs, snapshots, task files and memory: configured secrets and known token formats
 *   createMasker     for approvals and the audit: configured secrets only, each replaced by its name and length
 *
 * What programs print is stricter: redact-output.ts.
 *
 * Token formats must never mask what people decide on, because a call could then hide part of itself behind `sk-`.
 * Encoded forms (base64, base64url, URL, JSON) of configured values are found too. Token formats are those that vendors
 * document.
 */

export interface NamedSecret {
  name: string;
  value: string;
}

/** Redacting shorter values would hide ordinary words. */
const minSecretCharacters = 8;

const tokenFormats = [
  /\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}/g,
  /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g,
  /\bxapp-[A-Za-z0-9-]{10,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{30,}/g,
  /\bAKIA[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{35}/g,
  /\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];

export const redactionMark = "[redacted]";

/** In names of settings, variables, headers and flags. */
export const secretName =
  /token|secret|pass(?:w(?:or)?d|phrase|(?![a-z]))|pwd|api[_-]?key|access[_-]?key|authorization|credential|private[_-]?key/i;

export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

export type Redact = (text: string) => string;

/** All text that leaves the process must pass through this function. */
export function createRedactor(secrets: readonly string[]): Redact {
  const known = secrets.filter((secret) => secret.length >= minSecretCharacters).flatMap(encodingsOf);
  const literals = [...new Set(known)].sort((one, other) => other.length - one.length);
  return (text) => {
    let clean = text;
    for (const literal of literals) {
      if (clean.includes(literal)) clean = clean.replaceAll(literal, redactionMark);
    }
    for (const format of tokenFormats) clean = clean.replace(format, redactionMark);
    return clean;
  };
}

/** Replaces secrets with, for example, `[ANTHROPIC_API_KEY, 48 characters]`. The length is the replaced text's. */
export type Mask = (text: string) => string;

export function createMasker(secrets: readonly NamedSecret[]): Mask {
  const marks = new Map<string, string>();
  for (const { name, value } of secrets) {
    if (value.length < minSecretCharacters) continue;
    for (const encoded of encodingsOf(value)) {
      if (!marks.has(encoded)) marks.set(encoded, `[${name}, ${encoded.length} characters]`);
    }
  }
  if (marks.size === 0) return (text) => text;
  // Replace everything in one pass so that no replacement is masked again.
  const longestFirst = [...marks.keys()].sort((one, other) => other.length - one.length);
  const anyOf = new RegExp(
    longestFirst.map((literal) => literal.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|"),
    "g",
  );
  return (text) => text.replace(anyOf, (found) => marks.get(found) ?? found);
}

/** For secrets that can change while the process runs: `secrets` returns another list after each change. */
export function followingSecrets<Secret>(
  secrets: () => readonly Secret[],
  create: (secrets: readonly Secret[]) => Redact,
): Redact {
  let known = secrets();
  let redact = create(known);
  return (text) => {
    if (secrets() !== known) {
      known = secrets();
      redact = create(known);
    }
    return redact(text);
  };
}

export function encodingsOf(secret: string): string[] {
  const base64 = Buffer.from(secret).toString("base64");
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inJson,
    encodeURIComponent(secret),
    base64,
    base64.replace(/=+$/, ""),
    Buffer.from(secret).toString("base64url"),
  ];
}
