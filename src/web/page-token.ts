/** The page's token is created once and stored in a file that only its owner can read. */
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";

/** 192 random bits, base64url. Replaces a file with other content. */
export async function readToken(file: string): Promise<string> {
  try {
    const kept = (await readFile(file, "utf8")).trim();
    if (/^[A-Za-z0-9_-]{32}$/.test(kept)) return kept;
  } catch (thrown) {
    if (codeOf(thrown) !== "ENOENT") throw tokenError(file, thrown);
  }
  const token = randomBytes(24).toString("base64url");
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, `${token}\n`, { mode: 0o600 });
  } catch (thrown) {
    throw tokenError(file, thrown);
  }
  return token;
}

function tokenError(file: string, thrown: unknown): RemoraError {
  return new RemoraError({
    code: "token.file",
    place: file,
    message: `can't save the page's token: ${messageOf(thrown)}. Make the folder writable, or set REMORA_DATA to another folder`,
    cause: thrown,
  });
}
