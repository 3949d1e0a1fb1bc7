/**
 * Two ways to keep secrets out of texts:
 *
 *   createRedactor   replies, logs, snapshots, task files, memory: configured secrets and known shapes of tokens
 *   createMasker     what people decide on, and the audit: configured secrets only, each as its name and length
 *
 * A shape must never mask what people decide on: whoever writes a call could hide a part of it behind `sk-`.
 * Configured values are also found base64-, URL- and JSON-encoded. Shapes are those that the vendors document.
 */

export interface NamedSecret {
  /** What people call it: the variable or the setting that holds it. */
  name: string;
  value: string;
}

/** Shorter values would redact ordinary words. */
const shortestSecret = 8;

const tokenShapes = [
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

const redactionMark = "[redacted]";

export type Redact = (text: string) => string;

/** Makes the one function that every way out goes through. Texts without secrets come back as they are. */
export function createRedactor(secrets: readonly string[]): Redact {
  const known = secrets.filter((secret) => secret.length >= shortestSecret).flatMap(spellingsOf);
  const literals = [...new Set(known)].sort((one, other) => other.length - one.length);
  return (text) => {
    let clean = text;
    for (const literal of literals) {
      if (clean.includes(literal)) clean = clean.replaceAll(literal, redactionMark);
    }
    for (const shape of tokenShapes) clean = clean.replace(shape, redactionMark);
    return clean;
  };
}

/** As `Redact`, for configured secrets alone: `[ANTHROPIC_API_KEY, 48 characters]`. The length is that of the text it stands for. */
export type Mask = (text: string) => string;

export function createMasker(secrets: readonly NamedSecret[]): Mask {
  const marks = new Map<string, string>();
  for (const { name, value } of secrets) {
    if (value.length < shortestSecret) continue;
    for (const spelling of spellingsOf(value)) {
      if (!marks.has(spelling)) marks.set(spelling, `[${name}, ${spelling.length} characters]`);
    }
  }
  if (marks.size === 0) return (text) => text;
  // In one pass, so that no secret is looked for inside a mark.
  const longestFirst = [...marks.keys()].sort((one, other) => other.length - one.length);
  const anyOf = new RegExp(
    longestFirst.map((literal) => literal.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|"),
    "g",
  );
  return (text) => text.replace(anyOf, (found) => marks.get(found) ?? found);
}

function spellingsOf(secret: string): string[] {
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
