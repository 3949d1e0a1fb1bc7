/** Files that people give to a command or a modal: no message has them, and their links end with their day. */
import type { APIAttachment } from "discord.js";
import { attachmentPayload } from "./message-payload.ts";
import type { AttachmentRecord, ChannelRecord, World } from "./world.ts";

export interface GivenFile {
  name: string;
  content: string | Buffer;
  contentType?: string;
}

/** `attachment_size_limit` of a person and a server without extras. */
const maxBytes = 10_485_760;

/** Subject to change, says the page. */
const groups: Record<string, readonly string[]> = {
  image: [".png", ".gif", ".jpg", ".jpeg", ".jfif", ".webp", ".avif"],
  video: [".mp4", ".mov", ".qt", ".webm"],
  audio: [".mp3", ".m4a", ".wav", ".ogg", ".opus", ".flac"],
};

/** The client looks at the name's end alone. Rule: file-types */
export function isOfType(name: string, types: readonly string[] | undefined): boolean {
  const end = /\.[^.]+$/.exec(name.toLowerCase())?.[0] ?? "";
  return types === undefined || types.some((type) => groups[type]?.includes(end) ?? type === end);
}

/** Stores the file; `resolved` gets what the application is told about it. Returns its id. */
export function upload(
  world: World,
  channel: ChannelRecord,
  { name, content, contentType }: GivenFile,
  resolved: { attachments?: Record<string, APIAttachment> },
): string {
  const bytes = Buffer.from(content);
  if (bytes.length > maxBytes) throw new Error(`the client does not upload ${name}: it has ${bytes.length} bytes`);
  const file: AttachmentRecord = {
    id: world.nextId(),
    filename: name.replace(/[^\p{L}\p{N}._-]/gu, "_"),
    bytes,
    isEphemeral: true,
    ...(contentType === undefined ? {} : { contentType }),
  };
  world.uploads.set(file.id, file);
  resolved.attachments = { ...resolved.attachments, [file.id]: attachmentPayload(world, channel.id, file) };
  return file.id;
}
