/** Refuses TLS clients whose server name (SNI) is not the approved host, because many hosts can share one address. */
import { isIP } from "node:net";
import { Transform } from "node:stream";
import { normalizeName } from "./hosts.ts";
import { maxClientHelloBytes } from "./limits.ts";

/** `other` is not TLS, `more` is an incomplete message, and `broken` starts like TLS but can't be parsed. */
export type ServerName =
  | { type: "name"; name: string }
  | { type: "none" }
  | { type: "other" }
  | { type: "more" }
  | { type: "broken" };

const handshakeRecord = 0x16;
const clientHello = 0x01;
const serverNameExtension = 0;

/** Must not throw, whatever the bytes are. */
export function readServerName(bytes: Buffer): ServerName {
  if (bytes.length === 0) return { type: "more" };
  if (bytes[0] !== handshakeRecord) return { type: "other" };
  const message = handshakeBytes(bytes);
  if (message === undefined) return { type: "broken" };
  if (message.length < 4) return { type: "more" };
  if (message[0] !== clientHello) return { type: "broken" };
  const end = 4 + message.readUIntBE(1, 3);
  if (end > maxClientHelloBytes) return { type: "broken" };
  if (message.length < end) return { type: "more" };
  try {
    return nameIn(message.subarray(4, end));
  } catch (thrown) {
    if (thrown instanceof RangeError) return { type: "broken" };
    throw thrown;
  }
}

/** Holds back the first bytes until they prove to be a TLS ClientHello for `host`, or not TLS at all. */
export function createNameGate(host: string, onWrongName: () => void): Transform {
  let held: Buffer | undefined = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      if (held === undefined) return callback(null, chunk);
      held = Buffer.concat([held, chunk]);
      const found = readServerName(held);
      if (found.type === "more" && held.length <= maxClientHelloBytes) return callback();
      if (!mayPass(found, host)) {
        onWrongName();
        return callback();
      }
      const passed = held;
      held = undefined;
      callback(null, passed);
    },
    flush(callback) {
      callback(null, held);
    },
  });
}

function mayPass(found: ServerName, host: string): boolean {
  if (found.type === "name") return isSameHost(found.name, host);
  return found.type === "none" || found.type === "other";
}

export function isSameHost(serverName: string, host: string): boolean {
  return isIP(serverName) ? serverName === host : normalizeName(serverName) === host;
}

function handshakeBytes(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (bytes[at] !== handshakeRecord || (bytes[at + 1] ?? 3) !== 3)
      return parts.length > 0 ? Buffer.concat(parts) : undefined;
    if (at + 5 > bytes.length) break;
    const length = bytes.readUInt16BE(at + 3);
    if (length === 0) return undefined;
    parts.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return Buffer.concat(parts);
}

/** RFC 8446, section 4.1.2. Throws a RangeError if a length exceeds the message. */
function nameIn(hello: Buffer): ServerName {
  let at = 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  if (at === hello.length) return { type: "none" };
  const end = at + 2 + hello.readUInt16BE(at);
  at += 2;
  let found: ServerName = { type: "none" };
  while (at < end) {
    const type = hello.readUInt16BE(at);
    const length = hello.readUInt16BE(at + 2);
    if (at + 4 + length > hello.length) return { type: "broken" };
    if (type === serverNameExtension) {
      // Refuse two names, because servers differ in which one they use.
      if (found.type !== "none") return { type: "broken" };
      found = nameInExtension(hello.subarray(at + 4, at + 4 + length));
    }
    at += 4 + length;
  }
  return found;
}

/** RFC 6066, section 3. Only one name type exists, and the list has only one entry in practice. */
function nameInExtension(extension: Buffer): ServerName {
  const listLength = extension.readUInt16BE(0);
  const nameLength = extension.readUInt16BE(3);
  if (extension.readUInt8(2) !== 0 || nameLength + 3 !== listLength || nameLength + 5 !== extension.length) {
    return { type: "broken" };
  }
  return { type: "name", name: extension.toString("latin1", 5) };
}
