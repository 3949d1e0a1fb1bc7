/**
 * Creates certificates for hosts whose TLS the proxy terminates. Keys must not leave the memory of this process. Node
 * can't write certificates and libraries add 2 to 9 MB, so this file implements part of RFC 5280.
 */
import { createHash, generateKeyPair, type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { promisify } from "node:util";
import { certificateBackdateMs, certificateLifetimeMs } from "./limits.ts";

export interface CertificateAuthority {
  /** PEM. Only the session's command trusts it. */
  certificate: string;
  credentialsFor(host: string): Promise<Credentials>;
}

/** PEM. */
export interface Credentials {
  cert: string;
  key: string;
}

const authorityName = "Remora sandbox (one session only)";
const makeKeyPair = promisify(generateKeyPair);

export async function createAuthority(): Promise<CertificateAuthority> {
  const { publicKey, privateKey } = await makeKeyPair("ec", { namedCurve: "P-256" });
  const issuer = { name: authorityName, key: privateKey, keyId: keyIdOf(publicKey) };
  const certificate = makeCertificate(authorityName, publicKey, issuer, [
    extension("2.5.29.19", true, sequence(boolean(true), integer(Buffer.of(0)))), // basicConstraints: an authority without sub-authorities
    extension("2.5.29.15", true, Buffer.from([0x03, 0x02, 0x01, 0x06])), // keyUsage: keyCertSign, cRLSign
    extension("2.5.29.14", false, tagged(0x04, issuer.keyId)), // subjectKeyIdentifier
  ]);
  const known = new Map<string, Promise<Credentials>>();

  async function makeCredentials(host: string): Promise<Credentials> {
    const { publicKey: leafKey, privateKey: key } = await makeKeyPair("ec", { namedCurve: "P-256" });
    const leaf = makeCertificate(host.slice(0, 64), leafKey, issuer, [
      extension("2.5.29.19", true, sequence()), // basicConstraints: no authority
      extension("2.5.29.15", true, Buffer.from([0x03, 0x02, 0x07, 0x80])), // keyUsage: digitalSignature
      extension("2.5.29.37", false, sequence(objectId("1.3.6.1.5.5.7.3.1"))), // extKeyUsage: serverAuth
      extension("2.5.29.17", false, sequence(alternativeName(host))), // subjectAltName
      extension("2.5.29.14", false, tagged(0x04, keyIdOf(leafKey))), // subjectKeyIdentifier
      extension("2.5.29.35", false, sequence(tagged(0x80, issuer.keyId))), // authorityKeyIdentifier
    ]);
    return { cert: leaf + certificate, key: key.export({ type: "pkcs8", format: "pem" }).toString() };
  }

  return {
    certificate,
    credentialsFor(host) {
      const credentials = known.get(host) ?? makeCredentials(host);
      known.set(host, credentials);
      return credentials;
    },
  };
}

function makeCertificate(
  subject: string,
  publicKey: KeyObject,
  issuer: { name: string; key: KeyObject },
  extensions: readonly Buffer[],
): string {
  const now = Date.now();
  // A serial number is positive and at most 20 bytes long.
  const serial = Buffer.concat([Buffer.of(0x40), randomBytes(15)]);
  const ecdsaWithSha256 = sequence(objectId("1.2.840.10045.4.3.2"));
  const body = sequence(
    tagged(0xa0, integer(Buffer.of(2))), // version 3
    integer(serial),
    ecdsaWithSha256,
    distinguishedName(issuer.name),
    sequence(time(now - certificateBackdateMs), time(now + certificateLifetimeMs)),
    distinguishedName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, issuer.key);
  const der = sequence(body, ecdsaWithSha256, tagged(0x03, Buffer.of(0), signature));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function keyIdOf(publicKey: KeyObject): Buffer {
  return createHash("sha1")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest();
}

function distinguishedName(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(objectId("2.5.4.3"), tagged(0x0c, Buffer.from(commonName)))));
}

/** RFC 5280, 4.2.1.6: `[2]` is a DNS name, `[7]` the bytes of an address. */
function alternativeName(host: string): Buffer {
  const family = isIP(host);
  if (family === 0) return tagged(0x82, Buffer.from(host));
  if (family === 4) return tagged(0x87, Buffer.from(host.split(".").map(Number)));
  const [head = "", tail = ""] = host.split("::");
  const groupsOf = (text: string) => (text === "" ? [] : text.split(":"));
  const missing = host.includes("::") ? 8 - groupsOf(head).length - groupsOf(tail).length : 0;
  const groups = [...groupsOf(head), ...Array<string>(missing).fill("0"), ...groupsOf(tail)];
  return tagged(0x87, Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex"));
}

function extension(id: string, isCritical: boolean, value: Buffer): Buffer {
  return sequence(objectId(id), ...(isCritical ? [boolean(true)] : []), tagged(0x04, value));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const lengthBytes = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...lengthBytes), content]);
}

/** Takes big-endian bytes, whose first bit must be 0. */
function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.of(value ? 0xff : 0));
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

/** Encodes years before 2050 as UTCTime, later ones as GeneralizedTime. */
function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/\.\d+|[-:T]/g, "");
  return Number(digits.slice(0, 4)) < 2050
    ? tagged(0x17, Buffer.from(digits.slice(2)))
    : tagged(0x18, Buffer.from(digits));
}
