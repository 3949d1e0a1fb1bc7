/**
 * Removes secrets from what a program prints, and from the errors that a server sends. Nobody decides by this text, so it
 * rather hides too much:
 *
 *   1. the given settings, whole, in part, encoded and broken over lines
 *   2. what looks like a token, a key, a header, a password or an address with one
 *   3. any long word that does not read like words
 *
 * Formats are those that vendors document, and those that secret scanners have seen.
 */
import { stripVTControlCharacters } from "node:util";
import { encodingsOf, isSecretName, type Redact, redactionMark, secretName } from "./redact.ts";

/** Parts of at least this many characters are found. Shorter ones would hide ordinary words. */
const partCharacters = 8;
const minPartCharacters = 4;
const minCharacters = { secret: 3, other: 6 };
/** A word of fewer characters is shown, unless something else says that it is a secret. */
const minUnknownCharacters = 12;
const maxDigits = 13;

/** `hidden`: the values of settings by their names, such as the environment of a program. */
export function createOutputRedactor(hidden: readonly (readonly [name: string, value: string])[]): Redact {
  const parts = partsOf(hidden);
  return (text) => {
    const clean = plain(text);
    const isMarked = new Uint8Array(clean.length);
    const mark = (start: number, end: number) => void isMarked.fill(1, start, end);
    markParts(clean, parts, mark);
    for (const shape of shapes) {
      for (const { indices } of clean.matchAll(shape)) {
        const [start, end] = indices?.groups?.secret ?? indices?.[0] ?? [0, 0];
        mark(start, end);
      }
    }
    markUnknown(clean, mark);
    markContinued(clean, isMarked, mark);
    return replaced(clean, isMarked);
  };
}

/** Hides every value of a skill's settings. */
export function outputRedactorOf(settings: unknown): Redact {
  const hidden: [string, string][] = [];
  const visit = (value: unknown, name: string): void => {
    if (typeof value === "string" || typeof value === "number") hidden.push([name, String(value)]);
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) visit(inner, `${name}.${key}`);
  };
  visit(settings, "");
  return createOutputRedactor(hidden);
}

/** Without colours and what nobody sees, which may stand in the middle of a secret. */
function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\r\n?|[\u2028\u2029\v\f]/g, "\n")
    .replaceAll("\t", " ")
    .replace(/(?!\n)(?:\p{Cc}|\p{Default_Ignorable_Code_Point})/gu, "");
}

const withoutSpace = (text: string) => text.replace(/\s+/g, "").toLowerCase();

/** All parts of the values, by their length. */
function partsOf(hidden: readonly (readonly [string, string])[]): Map<number, Set<string>> {
  const parts = new Map<number, Set<string>>();
  const add = (text: string, length: number) => {
    const known = parts.get(length) ?? new Set();
    parts.set(length, known);
    for (let at = 0; at + length <= text.length; at += 1) known.add(text.slice(at, at + length));
  };
  for (const [name, value] of hidden) {
    const isSecret = isSecretName(name);
    const inAddress = secretsInAddress(value);
    for (const word of new Set(inAddress ?? [value, ...value.split(/[\s,;]+/)])) {
      if (withoutSpace(word).length < (isSecret ? minCharacters.secret : minCharacters.other)) continue;
      for (const form of [...encodingsOf(word), ...embeddedBase64(word), Buffer.from(word).toString("hex")]) {
        const text = withoutSpace(form);
        const half = isSecret ? Math.max(minPartCharacters, Math.ceil(text.length / 2)) : partCharacters;
        add(text, Math.min(text.length, half, partCharacters));
      }
    }
  }
  return parts;
}

/** Base64 of a longer text has other characters, by where the value begins in it. The edges depend on what is around. */
function embeddedBase64(value: string): string[] {
  return [0, 1, 2].map((shift) => {
    const encoded = Buffer.from("\0".repeat(shift) + value)
      .toString("base64")
      .replace(/=+$/, "");
    return encoded.slice(shift === 0 ? 0 : shift + 1, -1);
  });
}

/** User, password, everything in the query, and parts of the path that do not read like words. */
function secretsInAddress(text: string): string[] | undefined {
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) return undefined;
  const { username, password, searchParams, hash } = url;
  const inPath = url.pathname.split("/").filter((part) => !isReadable(part));
  const inQuery = [
    ...searchParams.values(),
    ...url.search
      .slice(1)
      .replace(/[\w.-]+=/g, " ")
      .split(/[ &]/),
  ];
  const written = [username, password, hash.slice(1), ...inPath, ...inQuery];
  const login = `${decoded(username)}:${decoded(password)}`;
  return [...written, ...written.map(decoded), ...(username + password === "" ? [] : [login])].filter(
    (part) => part.length >= minPartCharacters,
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Mark = (start: number, end: number) => void;

function markParts(text: string, parts: ReadonlyMap<number, ReadonlySet<string>>, mark: Mark): void {
  const at: number[] = [];
  let flat = "";
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (/\s/.test(character)) continue;
    at.push(index);
    const lower = character.toLowerCase();
    flat += lower.length === 1 ? lower : character;
  }
  for (const [length, known] of parts) {
    for (let start = 0; start + length <= flat.length; start += 1) {
      if (known.has(flat.slice(start, start + length))) mark(at[start] ?? 0, (at[start + length - 1] ?? 0) + 1);
    }
  }
}

/** A token may go on in the next line. */
const body = (characters: string, least: number) => `(?:\\n?[${characters}]){${least},}`;
const token = (prefix: string, least = 6, characters = "\\w.~+/=-") =>
  new RegExp(`(?<![A-Za-z0-9])(?:${prefix})${body(characters, least)}`, "gd");

const value = `(?<secret>"[^"\\n]*"?|'[^'\\n]*'?|\`[^\`\\n]*\`?|[^\\s,;&"'\`]+)`;
const names = `[\\w.$-]*(?:${secretName.source}|signature|cookie|session|bearer)[\\w.$-]*`;

const shapes: readonly RegExp[] = [
  token("gh[a-z]_|github_pat_|gl[a-z]{2,6}-|ATATT|ATBB|npm_|pypi-|rubygems_|hf_|dckr_pat_|dop_v1_|ops_"),
  token("xox[a-z][.-]|xapp-|xwfp-|xoxe\\."),
  token("(?:sk|rk|pk)[-_](?=[\\w-]*\\d)|sk-(?:ant|proj|or)-|xai-|gsk_|pplx-|nvapi-|r8_|fw_|tgp_|csk-"),
  token("(?:AKIA|ASIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ABIA|ACCA)(?=[A-Z0-9]{4})", 4, "A-Z0-9"),
  token("AIza|ya29\\.|1//|GOCSPX-|AQ\\.", 6),
  token("shp[a-z]{2}_|lin_api_|ntn_|secret_|whsec_|SG\\.|EAA|sq0[a-z]{3}-|figd_|pat-|key-(?=\\w*\\d)|glsa_|eyJ"),
  token("[MNO][\\w-]{22,27}\\.[\\w-]{5,7}\\.", 6),
  token("\\d{6,12}:(?=[\\w-]{20})", 20),
  /(?:^|-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)(?:(?!-----BEGIN)[\s\S])*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----/dg,
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY[\s\S]*/dg,
  /\bbearer[\s:=]+["'`]?(?<secret>[^\s"'`,;]{4,})/dgi,
  /\b(?:basic|digest|negotiate|token|apikey|key)\s+["'`]?(?<secret>(?=[^\s"'`,;]*[\d=+/])[^\s"'`,;]{6,})/dgi,
  /\b(?:(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*(?:key|token|secret|auth)[\w-]*)["'`]?\s*[:=]\s*(?<secret>[^\n]+)/dgi,
  /\bpass(?:w(?:or)?d|phrase)?["'`\]]*\s*(?:[:=]|=>)\s*(?<secret>[^\n,;}]+)/dgi,
  new RegExp(`(?:${names})["'\`\\]]*\\s*(?:[:=]+>?|\\bis\\b|\\bwas\\b)\\s*${value}`, "dgi"),
  new RegExp(`(?<![\\w-])--?(?:${names})[\\s=]+${value}`, "dgi"),
  /[?&#;][\w.-]*(?:key|sig|code|auth|jwt|sid|pat|pin|otp|state|assertion)[\w.-]*=(?<secret>[^&\s"'`]+)/dgi,
  /:\/\/(?<secret>[^\s/:@"'`]*:[^\s"'`<>]*)@/dg,
  /:\/\/(?<secret>[^\s/@"'`]+)@/dg,
];

const wordShape = /[\w+=~%/.-]{12,}/g;

function markUnknown(text: string, mark: Mark): void {
  for (const { 0: word, index } of text.matchAll(wordShape)) {
    const found = [...word.matchAll(/[^/.]+/g)];
    const isLong = (part: string) => part.length >= minUnknownCharacters;
    const isBad = found.map(([part]) => isLong(part) && !isReadable(part));
    // Parts of one base64 text: short ones show nothing that reads like a word either.
    const spread = (at: number, from: number) => {
      const [part = ""] = found[at] ?? [];
      const isLike = part.length < 3 || !isReadable(part) || /[a-z].*[A-Z]/.test(part);
      if (isBad[from] === true && isLike) isBad[at] = true;
    };
    for (let at = 1; at < found.length; at += 1) spread(at, at - 1);
    for (let at = found.length - 2; at >= 0; at -= 1) spread(at, at + 1);
    // Many short parts that read like nothing.
    const all = word.replace(/[/.]/g, "");
    const isBase64 = isBad.includes(true) && /\+|=$/.test(word);
    const isNothing =
      isBase64 || (all.length >= 20 && found.filter(([part]) => !isReadable(part)).length * 2 > found.length);
    for (const [at, { 0: part, index: start }] of found.entries())
      if (isBad[at] === true || isNothing) mark(index + start, index + start + part.length);
  }
}

const pieceShape = /^(?:\d{1,13}|v?\d+[A-Za-z]{0,3}|\d{1,2}T\d{1,2}|[A-Za-z]+\d{0,4})$/;

/** Words, numbers and dates, joined as in names of files, packages and constants. */
function isReadable(part: string): boolean {
  const pieces = part.split(/[_+=~%-]+/).filter((piece) => piece !== "");
  const mixed = pieces.filter((piece) => /\d/.test(piece) && /[A-Za-z]/.test(piece));
  return (
    mixed.length < 3 &&
    pieces.every((piece) => pieceShape.test(piece) && piece.replace(/\D/g, "").length <= maxDigits && areWords(piece))
  );
}

function areWords(piece: string): boolean {
  const letters = piece.replace(/\d/g, "");
  const humps = letters.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  const isBroken = letters.length / humps.length < 3 || humps.filter((hump) => hump.length < 3).length >= 3;
  if (letters.length >= 6 && isBroken) return false;
  return humps.every((hump) => {
    const vowels = hump.match(/[aeiouy]/gi)?.length ?? 0;
    const share = vowels / hump.length;
    // The longest in use is `modelcontextprotocol`.
    if (hump.length > 20) return false;
    return hump.length < 6 || (share > 0.16 && share < 0.8 && !/[^aeiouy]{6}/i.test(hump));
  });
}

/** A secret at the end of a line may go on in the next one, and one at its start may have begun before. */
function markContinued(text: string, isMarked: Uint8Array, mark: Mark): void {
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    const [before = ""] = /[\w+=~%/.-]*$/.exec(text.slice(Math.max(0, at - 200), at)) ?? [];
    const [after = ""] = /^[\w+=~%/.-]*/.exec(text.slice(at + 1, at + 200)) ?? [];
    const isOdd = (word: string) => /\d/.test(word) || !isReadable(word);
    const isAlone = /^(?:\n|$)/.test(text.slice(at + 1 + after.length));
    const isOne = (before + after).length >= minUnknownCharacters && isOdd(before) && isOdd(after);
    if (isOne && !(isReadable(before) && isReadable(after))) mark(at - before.length, at + 1 + after.length);
    if (isMarked[at - 1] === 1 && (isAlone || isOdd(after))) mark(at + 1, at + 1 + after.length);
    if (isMarked[at + 1] === 1 && isOdd(before)) mark(at - before.length, at);
  }
}

/** Line breaks stay, so that lines can be told apart. */
function replaced(text: string, isMarked: Uint8Array): string {
  let shown = "";
  for (let at = 0; at < text.length; at += 1) {
    if (isMarked[at] !== 1 || text[at] === "\n") shown += text.charAt(at);
    else if (isMarked[at - 1] !== 1 || text[at - 1] === "\n") shown += redactionMark;
  }
  return shown;
}
