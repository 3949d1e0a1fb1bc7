/** The connection to a plugin's process: JSON lines over a Unix socket that only that process can reach. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { messageOf } from "../../../lib/errors.ts";
import { type PluginMessage, pluginMessage } from "./messages.ts";

/** Limit of one message, far above the length of any valid result. */
const maxMessageCharacters = 16 * 1024 * 1024;
/** Limit of a message that is not a result. Parsing blocks the event loop, so this limit is small. */
const maxPlainCharacters = 256 * 1024;
/** If the plugin leaves more bytes than this unread, Remora stops reading from the plugin. */
const maxUnreadBytes = 1024 * 1024;

export interface Channel {
  send(message: object): void;
  close(): void;
}

export interface Listening {
  name: string;
  /** Resolves with the first connection; later ones are refused. Rejects if `close` is called first. */
  connected: Promise<Socket>;
  close(): void;
}

/** Only the processes of one skill may see `folder`. */
export async function listenIn(folder: string): Promise<Listening> {
  const name = randomUUID().slice(0, 8);
  const path = join(folder, name);
  const server = createServer();
  let refuse = (_why: Error): void => {};
  const connected = new Promise<Socket>((resolve, reject) => {
    refuse = reject;
    server.once("connection", (socket) => {
      resolve(socket);
      close();
    });
  });
  connected.catch(() => {});
  const close = () => {
    server.close();
    refuse(new Error("nobody connected"));
    void rm(path, { force: true });
  };
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  return { name, connected, close };
}

export function openChannel(
  socket: Socket,
  onMessage: (message: PluginMessage) => void,
  onEnd: (problem: string | undefined) => void,
): Channel {
  const decoder = new StringDecoder();
  let parts: string[] = [];
  let length = 0;
  let problem: string | undefined;
  const take = (line: string) => {
    if (line === "" || problem !== undefined) return;
    try {
      const said: unknown = JSON.parse(line);
      if (line.length > maxPlainCharacters && !mayBeLong(said))
        throw new Error(`a message other than a result has more than ${maxPlainCharacters / 1024} KiB`);
      onMessage(pluginMessage.parse(said));
    } catch (thrown) {
      problem = `its message can't be read: ${messageOf(thrown).slice(0, 300)}`;
      socket.destroy();
    }
  };
  const rest = () => {
    socket.pause();
    setImmediate(() => {
      if (socket.writableLength > maxUnreadBytes) socket.once("drain", () => socket.resume());
      else socket.resume();
    });
  };
  socket.on("data", (chunk: Buffer) => {
    rest();
    const [first = "", ...others] = decoder.write(chunk).split("\n");
    parts.push(first);
    length += first.length;
    if (others.length > 0) {
      take(parts.join(""));
      const last = others.pop() ?? "";
      for (const line of others) take(line);
      parts = [last];
      length = last.length;
    }
    if (length > maxMessageCharacters) {
      problem = `one message has more than ${maxMessageCharacters / 1024 / 1024} MiB`;
      socket.destroy();
    }
  });
  socket.on("error", () => {});
  socket.once("close", () => onEnd(problem));
  return {
    send: (message) => void (socket.writable && socket.write(`${JSON.stringify(message)}\n`)),
    close: () => void socket.destroy(),
  };
}

function mayBeLong(said: unknown): boolean {
  return typeof said === "object" && said !== null && "type" in said && ["result", "offer"].includes(String(said.type));
}
