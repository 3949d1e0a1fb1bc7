/**
 * Reads the body of a message that is sent or edited, and refuses it as Discord would.
 * Rules: file-sizes, message-sizes
 */
import { type APIEmbed, type APIMessageTopLevelComponent, MessageFlags } from "discord.js";
import { createForm, type Form, refusal } from "./api-error.ts";
import { readComponents } from "./component-form.ts";
import { readEmbeds } from "./embed-form.ts";
import { choice, type Fields, fieldsOf, flag, integer, isAbsent, isFields, list, snowflake, text } from "./fields.ts";
import { readLayout } from "./layout-form.ts";
import type { AllowedMentions } from "./mentions.ts";

export interface UploadedFile {
  /** The n of `files[n]`. */
  index: string;
  filename: string;
  contentType?: string;
  bytes: Buffer;
}

/** What a body asks for; a field that is absent was not mentioned in it, and an edit leaves it as it is. */
export interface MessageDraft {
  content?: string;
  embeds?: APIEmbed[];
  components?: APIMessageTopLevelComponent[];
  flags?: number;
  isTts: boolean;
  nonce?: string | number;
  enforceNonce: boolean;
  allowedMentions?: AllowedMentions;
  repliesTo?: { messageId: string; failsIfGone: boolean };
  /** Descriptions of new files, and ids of those that an edit keeps. */
  attachments?: { id: string; filename?: string; description?: string }[];
  files: UploadedFile[];
}

const mebibyte = 1024 * 1024;

/** A file, all files of a message, and how many. */
export const fileLimits = { file: 10 * mebibyte, request: 25 * mebibyte, count: 10 };

/** `isLayoutAlready`: of an edit of a message that is made of components alone, and stays so. */
export function readMessage(body: unknown, files: UploadedFile[], isLayoutAlready = false): MessageDraft {
  if (!isFields(body)) throw refusal("invalidJson");
  if (files.some(({ bytes }) => bytes.length > fileLimits.file)) throw refusal("entityTooLarge");
  const form = createForm();
  const draft: MessageDraft = { isTts: flag(form, body.tts, ["tts"]) ?? false, enforceNonce: false, files };
  readText(form, body, draft);
  if (body.embeds !== undefined) draft.embeds = readEmbeds(form, body.embeds, ["embeds"]);
  if (!isAbsent(body.flags)) draft.flags = integer(form, body.flags, ["flags"]) ?? 0;
  const isLayout = isLayoutAlready || ((draft.flags ?? 0) & MessageFlags.IsComponentsV2) !== 0;
  if (isLayout) refuseLegacy(form, draft);
  const readParts = isLayout ? readLayout : readComponents;
  if (body.components !== undefined) draft.components = readParts(form, body.components, ["components"]);
  if (!isAbsent(body.allowed_mentions)) draft.allowedMentions = readAllowed(form, body.allowed_mentions);
  readReference(form, body, draft);
  readAttachments(form, body, draft);
  form.check();
  return draft;
}

/** A message made of components can have neither text nor embeds. */
function refuseLegacy(form: Form, draft: MessageDraft): void {
  for (const field of ["content", "embeds"] as const) {
    if ((draft[field]?.length ?? 0) === 0) continue;
    const message = `The '${field}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2`;
    form.wrong([field], "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", message);
  }
}

function readText(form: Form, body: Fields, draft: MessageDraft): void {
  if (body.content !== undefined) draft.content = (text(form, body.content, ["content"], { max: 2000 }) ?? "").trim();
  if (isAbsent(body.nonce)) return;
  const nonce = text(form, body.nonce, ["nonce"], { max: 25 }) ?? "";
  draft.nonce = typeof body.nonce === "number" ? body.nonce : nonce;
  draft.enforceNonce = flag(form, body.enforce_nonce, ["enforce_nonce"]) ?? false;
}

function readAllowed(form: Form, value: unknown): AllowedMentions {
  const path = ["allowed_mentions"];
  const fields = fieldsOf(form, value, path) ?? {};
  const parse = list(form, fields.parse, [...path, "parse"], 3).flatMap(
    (one, index) => choice(form, one, [...path, "parse", index], ["roles", "users", "everyone"]) ?? [],
  );
  const ids = (key: "users" | "roles") => {
    const found = list(form, fields[key], [...path, key], 100).flatMap(
      (one, index) => snowflake(form, one, [...path, key, index]) ?? [],
    );
    if (found.length > 0 && parse.includes(key)) {
      const message = `parse:["${key}"] and ${key}: [ids...] are mutually exclusive.`;
      form.wrong(path, "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", message);
    }
    return found;
  };
  const repliedUser = flag(form, fields.replied_user, [...path, "replied_user"]) ?? false;
  return { parse, users: ids("users"), roles: ids("roles"), repliedUser };
}

function readReference(form: Form, body: Fields, draft: MessageDraft): void {
  if (isAbsent(body.message_reference)) return;
  const fields = fieldsOf(form, body.message_reference, ["message_reference"]) ?? {};
  const messageId = snowflake(form, fields.message_id, ["message_reference", "message_id"]);
  if (messageId === undefined) {
    form.wrong(["message_reference", "message_id"], "BASE_TYPE_REQUIRED", "This field is required");
    return;
  }
  draft.repliesTo = { messageId, failsIfGone: fields.fail_if_not_exists !== false };
}

function readAttachments(form: Form, body: Fields, draft: MessageDraft): void {
  if (draft.files.length > fileLimits.count) {
    form.wrong(["attachments"], "BASE_TYPE_MAX_LENGTH", `Must be ${fileLimits.count} or fewer in length.`);
  }
  if (isAbsent(body.attachments)) return;
  draft.attachments = list(form, body.attachments, ["attachments"], fileLimits.count).map((one, index) => {
    const fields = fieldsOf(form, one, ["attachments", index]) ?? {};
    const filename = text(form, fields.filename, ["attachments", index, "filename"], { max: 1024 });
    const description = text(form, fields.description, ["attachments", index, "description"], { max: 1024 });
    return {
      id: snowflake(form, fields.id, ["attachments", index, "id"]) ?? "",
      ...(filename === undefined ? {} : { filename }),
      ...(description === undefined ? {} : { description }),
    };
  });
}

const always = MessageFlags.SuppressEmbeds | MessageFlags.IsComponentsV2;

/** What a sender may set; everything else in `flags` is ignored. */
export const settableFlags = {
  create: always | MessageFlags.SuppressNotifications,
  interaction: always | MessageFlags.SuppressNotifications | MessageFlags.Ephemeral,
  edit: MessageFlags.SuppressEmbeds,
};
