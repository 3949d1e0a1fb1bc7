/** Signs ID tokens as an OpenID provider does, and in the ways of an attacker. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";

export type Signing =
  | "own key"
  /** A key that the provider does not publish, under the name of the one that it does. */
  | "other key"
  | "none"
  /** The client's secret as the key, as if the algorithm of the header counted. */
  | { secret: string };

export interface TokenSigner {
  /** As `jwks_uri` answers. */
  keys: { keys: Record<string, unknown>[] };
  sign(claims: Record<string, unknown>, signing: Signing): string;
}

const keyId = "key-1";

export function createTokenSigner(): TokenSigner {
  const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
  let other: KeyObject | undefined;
  const text = (part: unknown) => Buffer.from(JSON.stringify(part)).toString("base64url");

  return {
    keys: { keys: [{ ...own.publicKey.export({ format: "jwk" }), kid: keyId, alg: "RS256", use: "sig" }] },
    sign(claims, signing) {
      if (signing === "none") return `${text({ alg: "none" })}.${text(claims)}.`;
      if (typeof signing === "object") {
        const unsigned = `${text({ alg: "HS256", kid: keyId })}.${text(claims)}`;
        return `${unsigned}.${createHmac("sha256", signing.secret).update(unsigned).digest("base64url")}`;
      }
      if (signing === "other key") other ??= generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
      const unsigned = `${text({ alg: "RS256", kid: keyId })}.${text(claims)}`;
      const key = signing === "other key" ? (other ?? own.privateKey) : own.privateKey;
      return `${unsigned}.${sign("sha256", Buffer.from(unsigned), key).toString("base64url")}`;
    },
  };
}
