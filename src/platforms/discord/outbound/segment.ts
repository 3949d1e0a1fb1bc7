/**
 * The open segment of a reply: one text in one or more messages, each posted once and edited in place.
 *
 * What was posted before a crash is known from the posts and edited again; what it says is not known, so it is always written. A
 * message that somebody has deleted, or that can't be changed any more, is posted anew, under a key of its own.
 */
import type { RawFile } from "discord.js";
import { isRefusal, type Patience } from "../api/api.ts";
import type { Outlet } from "./message-sender.ts";

interface Posted {
  messageId: string;
  /** Undefined: another process wrote it. */
  content?: string;
}

export interface Segment {
  readonly number: number;
  /** Something of it stands in the channel. */
  isPosted(): boolean;
  /** Makes the messages say this; `files` go with the last one. Further messages are left alone. */
  show(parts: string[], patience: Patience, files?: RawFile[]): Promise<void>;
  /** Takes away what stands behind the first `count` messages. */
  cutTo(count: number): Promise<void>;
  lastMessageId(): string | undefined;
}

/** `keys` are those of all the reply's posts. */
export function createSegment(number: number, outlet: Outlet, keys: { key: string; messageId: string }[]): Segment {
  const posted = new Map<number, Posted>();
  const versions = new Map<number, number>();
  for (const { key, messageId } of keys) {
    const found = readKey(key);
    if (found?.segment !== number || found.version < (versions.get(found.part) ?? 0)) continue;
    posted.set(found.part, { messageId });
    versions.set(found.part, found.version);
  }

  /** False for what can't be changed where it stands, and is to be said in another place: a partial text is not worth that. */
  async function isEdited(messageId: string, message: { content: string; files: RawFile[] }, patience: Patience) {
    try {
      return await outlet.edit(messageId, message, patience);
    } catch (thrown) {
      const isShut = isRefusal(thrown, "missingAccess", "archivedThread", "lockedThread");
      const isForbidden = message.files.length === 0 && isRefusal(thrown, "missingPermissions");
      if (patience !== "lasting" || !(isShut || isForbidden)) throw thrown;
      return false;
    }
  }

  async function showPart(part: number, content: string, patience: Patience, files: RawFile[]): Promise<void> {
    const before = posted.get(part);
    const message = { content, files };
    if (before !== undefined) {
      if (before.content === content && files.length === 0) return;
      if (await isEdited(before.messageId, message, patience)) {
        posted.set(part, { ...before, content });
        return;
      }
      versions.set(part, (versions.get(part) ?? 0) + 1);
    }
    const key = formatKey(number, part, versions.get(part) ?? 0);
    posted.set(part, { messageId: await outlet.post(message, { key, patience }), content });
  }

  return {
    number,
    isPosted: () => posted.size > 0,
    async show(parts, patience, files = []) {
      for (const [part, content] of parts.entries()) {
        await showPart(part, content, patience, part === parts.length - 1 ? files : []);
      }
    },
    async cutTo(count) {
      for (const [part, { messageId }] of [...posted]) {
        if (part < count) continue;
        await outlet.remove(messageId);
        posted.delete(part);
        versions.set(part, (versions.get(part) ?? 0) + 1);
      }
    },
    lastMessageId: () => posted.get(Math.max(...posted.keys()))?.messageId,
  };
}

/** `text:<segment>:<part>`, and with `:<version>` behind it once the message before was gone. */
function formatKey(segment: number, part: number, version: number): string {
  return `text:${segment}:${part}${version === 0 ? "" : `:${version}`}`;
}

function readKey(key: string): { segment: number; part: number; version: number } | undefined {
  const [, segment, part, version = "0"] = /^text:(\d+):(\d+)(?::(\d+))?$/.exec(key) ?? [];
  return segment === undefined ? undefined : { segment: Number(segment), part: Number(part), version: Number(version) };
}
