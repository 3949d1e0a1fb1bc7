/** Hashes and checks passwords with scrypt. A hash carries its parameters, so they can grow without a migration. */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";

const minPasswordCharacters = 12;
export const maxPasswordCharacters = 256;
const saltBytes = 16;
const keyBytes = 32;
/** 32 MiB and about a tenth of a second per check. */
const cost = { N: 2 ** 15, r: 8, p: 1 };
const maxMemoryBytes = 64 * 1024 * 1024;

/** Returns what is wrong with a new password, in one sentence. */
export function passwordProblem(password: string, name: string): string | undefined {
  if (password.length < minPasswordCharacters)
    return `The password needs at least ${minPasswordCharacters} characters.`;
  if (password.length > maxPasswordCharacters)
    return `The password can have at most ${maxPasswordCharacters} characters.`;
  if (new Set(password).size < 5) return "The password repeats too few characters. Choose another one.";
  if (password.toLowerCase().includes(name)) return "The password must not contain the account's name.";
  return undefined;
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const key = await derive(password, salt, cost);
  return ["scrypt", cost.N, cost.r, cost.p, salt.toString("base64url"), key.toString("base64url")].join("$");
}

/** Takes as long without a hash, so that the time does not tell whether an account exists. */
export async function checkPassword(password: string, hash: string | undefined): Promise<boolean> {
  const [kind, N, r, p, salt = "", key = ""] = (hash ?? "").split("$");
  if (kind !== "scrypt") {
    await derive(password, randomBytes(saltBytes), cost);
    return false;
  }
  const expected = Buffer.from(key, "base64url");
  const given = await derive(password, Buffer.from(salt, "base64url"), { N: Number(N), r: Number(r), p: Number(p) });
  return expected.length === given.length && timingSafeEqual(expected, given);
}

function derive(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  // Different ways to write the same letters count as the same password.
  scrypt(password.normalize("NFKC"), salt, keyBytes, { ...options, maxmem: maxMemoryBytes }, (problem, key) =>
    problem === null ? resolve(key) : reject(problem),
  );
  return promise;
}
