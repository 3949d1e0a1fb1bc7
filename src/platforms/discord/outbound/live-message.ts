/** The open segment of a reply, edited in place. After a crash its text is unknown, so it is always written again. */
import type { APIMessageTopLevelComponent, RawFile } from "discord.js";
import { isAboutMessage, isRefusal, isRefused, type RetryPolicy } from "../api/api.ts";
import type { MessageSender } from "./message-sender.ts";

interface Posted {
  messageId: string;
  /** Undefined if another process wrote the message. */
  content?: string;
}

export interface Extras {
  files: RawFile[];
  components: APIMessageTopLevelComponent[];
}

const noExtras: Extras = { files: [], components: [] };

export interface LiveMessage {
  readonly number: number;
  isPosted(): boolean;
  /** Sends `extras` with the last part. Leaves messages beyond the last part unchanged. */
  show(parts: string[], retry: RetryPolicy, extras?: Extras): Promise<void>;
  cutTo(count: number): Promise<void>;
  lastMessageId(): string | undefined;
}

export function createLiveMessage(
  number: number,
  sender: MessageSender,
  keys: { key: string; messageId: string }[],
): LiveMessage {
  const posted = new Map<number, Posted>();
  const versions = new Map<number, number>();
  for (const { key, messageId } of keys) {
    const found = readKey(key);
    if (found?.segment !== number || found.version < (versions.get(found.part) ?? 0)) continue;
    posted.set(found.part, { messageId });
    versions.set(found.part, found.version);
  }

  /** Returns false if the text must be posted elsewhere. Rejects for a partial text, which is not worth reposting. */
  async function isEdited(messageId: string, message: Extras & { content: string }, retry: RetryPolicy) {
    try {
      return await sender.edit(messageId, message, retry);
    } catch (thrown) {
      const isShut = isRefusal(thrown, "missingAccess", "archivedThread", "lockedThread");
      // With files, they may be the reason.
      const mayBePosted = message.files.length === 0 && isRefused(thrown) && !isAboutMessage(thrown);
      if (retry !== "lasting" || !(isShut || mayBePosted)) throw thrown;
      return false;
    }
  }

  async function showPart(part: number, content: string, retry: RetryPolicy, extras: Extras): Promise<void> {
    const before = posted.get(part);
    const message = { content, ...extras };
    if (before !== undefined) {
      const isPlain = extras.files.length + extras.components.length === 0;
      if (before.content === content && isPlain) return;
      if (await isEdited(before.messageId, message, retry)) {
        posted.set(part, { ...before, content });
        return;
      }
      versions.set(part, (versions.get(part) ?? 0) + 1);
    }
    const key = formatKey(number, part, versions.get(part) ?? 0);
    posted.set(part, { messageId: await sender.post(message, { key, retry }), content });
  }

  return {
    number,
    isPosted: () => posted.size > 0,
    async show(parts, retry, extras = noExtras) {
      for (const [part, content] of parts.entries()) {
        await showPart(part, content, retry, part === parts.length - 1 ? extras : noExtras);
      }
    },
    async cutTo(count) {
      for (const [part, { messageId }] of [...posted]) {
        if (part < count) continue;
        await sender.remove(messageId);
        posted.delete(part);
        versions.set(part, (versions.get(part) ?? 0) + 1);
      }
    },
    lastMessageId: () => posted.get(Math.max(...posted.keys()))?.messageId,
  };
}

/** `text:<segment>:<part>`, plus `:<version>` if an earlier message was deleted. */
function formatKey(segment: number, part: number, version: number): string {
  return `text:${segment}:${part}${version === 0 ? "" : `:${version}`}`;
}

function readKey(key: string): { segment: number; part: number; version: number } | undefined {
  const [, segment, part, version = "0"] = /^text:(\d+):(\d+)(?::(\d+))?$/.exec(key) ?? [];
  return segment === undefined ? undefined : { segment: Number(segment), part: Number(part), version: Number(version) };
}
