/** Refuses TLS clients that name no server, or another one than the approved host, because many hosts can share one address. */
import { isIP, type Socket } from "node:net";
import { maxClientHelloBytes, maxOpeningMs } from "./limits.ts";

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
  // Nothing may follow before the server's answer, least of all a second ClientHello.
  if (message.length > end) return { type: "broken" };
  try {
    return nameIn(message.subarray(4, end));
  } catch (thrown) {
    if (thrown instanceof RangeError) return { type: "broken" };
    throw thrown;
  }
}

/** How a connection begins. `other` is not TLS. The rest can't pass. */
export type Opening = "tls" | "other" | "wrong-name" | "no-name" | "silent" | "closed";

/**
 * Reads until the first bytes prove to be a TLS ClientHello for `host`, or something else, and puts them back. Nothing is sent
 * anywhere before that. An address needs no server name, because RFC 6066 gives it none.
 */
export async function readOpening(socket: Socket, host: string, maxMs = maxOpeningMs): Promise<Opening> {
  let held = Buffer.alloc(0);
  return await new Promise<Opening>((resolve) => {
    const settle = (found: Opening) => {
      clearTimeout(timer);
      socket.off("readable", read).off("close", close).off("end", close);
      // At once: after the socket's end, nothing could be put back.
      if ((found === "tls" || found === "other") && !socket.destroyed) socket.unshift(held);
      resolve(found);
    };
    const timer = setTimeout(() => settle("silent"), maxMs);
    const close = () => settle("closed");
    const read = () => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) held = Buffer.concat([held, chunk]);
      const found = openingOf(held, host);
      if (found !== undefined) settle(found);
    };
    if (socket.destroyed) return close();
    socket.on("readable", read).on("close", close).on("end", close);
  });
}

/** Undefined if more bytes are needed. */
function openingOf(bytes: Buffer, host: string): Opening | undefined {
  const found = readServerName(bytes);
  switch (found.type) {
    case "more":
      return bytes.length > maxClientHelloBytes ? "wrong-name" : undefined;
    case "name":
      return isSameHost(found.name, host) ? "tls" : "wrong-name";
    case "none":
      return isIP(host) === 0 ? "no-name" : "tls";
    case "broken":
      return "wrong-name";
    case "other":
      return "other";
    default:
      return found satisfies never;
  }
}

/** Byte by byte: a server may see another host in a name that a more generous comparison takes for this one. */
function isSameHost(serverName: string, host: string): boolean {
  return serverName.toLowerCase().replace(/(?<!\.)\.$/, "") === host;
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
  return at === hello.length ? found : { type: "broken" };
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
