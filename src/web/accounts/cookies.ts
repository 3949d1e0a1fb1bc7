/**
 * Names and attributes of the cookies, and what is in the one by which a browser is known that has signed in before. The
 * prefix `__Host-` keeps other hosts of the domain from setting them.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

export interface Cookies {
  session: string;
  /** Ties an attempt to sign in to the browser that began it. */
  flow: string;
  /** Opens nothing. Who has it does not wait behind strangers to sign in. */
  device: string;
  options: { httpOnly: true; sameSite: "Lax"; path: "/"; secure: boolean };
}

export const flowCookieSeconds = 10 * 60;
export const deviceCookieSeconds = 180 * 86_400;

/** Ports share cookies, so without HTTPS the name includes the port to keep two Remoras on one machine apart. */
export function cookiesFor(isHttps: boolean, port: number): Cookies {
  const [prefix, suffix] = isHttps ? ["__Host-", ""] : ["", `_${port}`];
  return {
    session: `${prefix}remora-session${suffix}`,
    flow: `${prefix}remora-sign-in${suffix}`,
    device: `${prefix}remora-device${suffix}`,
    // Lax, because the browser comes back from the service that signs people in.
    options: { httpOnly: true, sameSite: "Lax", path: "/", secure: isHttps },
  };
}

/** `key` is a secret that ends with what the person signs in with, such as the hash of the account's password. */
export function newDevice(key: string, now: number): string {
  const text = `${randomBytes(16).toString("base64url")}.${now.toString(36)}`;
  return `${text}.${sealOf(text, key)}`;
}

/** The browser's id, or undefined if this key did not make it, or too long ago. */
export function deviceIn(cookie: string | undefined, key: string, now: number): string | undefined {
  const [, text = "", id = "", at = "", seal = ""] =
    /^(([\w-]{22})\.([0-9a-z]{1,11}))\.([\w-]{43})$/.exec(cookie ?? "") ?? [];
  const expected = Buffer.from(sealOf(text, key));
  const isOurs = seal.length === expected.length && timingSafeEqual(Buffer.from(seal), expected);
  return isOurs && now - Number.parseInt(at, 36) <= deviceCookieSeconds * 1_000 ? id : undefined;
}

function sealOf(text: string, key: string): string {
  return createHmac("sha256", key).update(`a browser that has signed in: ${text}`).digest("base64url");
}
