/**
 * Checks embeds against Discord's limits, each field for itself and all of them together.
 * Rule: embed-sizes
 */
import type { APIEmbed } from "discord.js";
import type { FieldPath, Form } from "./api-error.ts";
import { type Fields, fieldsOf, flag, integer, isAbsent, link, list, shown, text } from "./fields.ts";

const webSchemes = ["http", "https"];
const pictureSchemes = [...webSchemes, "attachment"];
const maxTotal = 6000;

/** The stored embeds, without empty ones. */
export function readEmbeds(form: Form, value: unknown, path: FieldPath): APIEmbed[] {
  const embeds = list(form, value, path, 10).flatMap((one, index) => {
    const fields = fieldsOf(form, one, [...path, index]);
    return fields === undefined ? [] : [readEmbed(form, fields, [...path, index])];
  });
  const total = embeds.reduce((sum, embed) => sum + sizeOf(embed), 0);
  if (total > maxTotal) {
    form.wrong(path, "MAX_EMBED_SIZE_EXCEEDED", `Embed size exceeds maximum size of ${maxTotal}`);
  }
  return embeds.filter(showsSomething);
}

function readEmbed(form: Form, fields: Fields, path: FieldPath): APIEmbed {
  const at = (...keys: FieldPath) => [...path, ...keys];
  const title = text(form, fields.title, at("title"), { max: 256 });
  const description = text(form, fields.description, at("description"), { max: 4096 });
  const url = link(form, fields.url, at("url"), webSchemes);
  const color = integer(form, fields.color, at("color"), { min: 0, max: 0xffffff });
  const timestamp = readTimestamp(form, fields.timestamp, at("timestamp"));
  const lines = list(form, fields.fields, at("fields"), 25).map((one, index) =>
    readField(form, one, at("fields", index)),
  );
  return {
    type: "rich",
    ...(title ? { title: title.trim() } : {}),
    ...(description ? { description: description.trim() } : {}),
    ...(url === undefined ? {} : { url }),
    ...(color === undefined ? {} : { color }),
    ...(timestamp === undefined ? {} : { timestamp }),
    ...(isAbsent(fields.footer) ? {} : { footer: readFooter(form, fields.footer, at("footer")) }),
    ...(isAbsent(fields.author) ? {} : { author: readAuthor(form, fields.author, at("author")) }),
    ...(isAbsent(fields.image) ? {} : { image: readPicture(form, fields.image, at("image")) }),
    ...(isAbsent(fields.thumbnail) ? {} : { thumbnail: readPicture(form, fields.thumbnail, at("thumbnail")) }),
    ...(lines.length === 0 ? {} : { fields: lines }),
  } as APIEmbed;
}

function readField(form: Form, value: unknown, path: FieldPath): { name: string; value: string; inline: boolean } {
  const fields = fieldsOf(form, value, path) ?? {};
  return {
    name: (text(form, fields.name, [...path, "name"], { min: 1, max: 256 }) ?? "").trim(),
    value: (text(form, fields.value, [...path, "value"], { min: 1, max: 1024 }) ?? "").trim(),
    inline: flag(form, fields.inline, [...path, "inline"]) ?? false,
  };
}

function readFooter(form: Form, value: unknown, path: FieldPath): { text: string; icon_url?: string } {
  const fields = fieldsOf(form, value, path) ?? {};
  const icon = link(form, fields.icon_url, [...path, "icon_url"], pictureSchemes);
  return {
    text: (text(form, fields.text, [...path, "text"], { max: 2048 }) ?? "").trim(),
    ...(icon === undefined ? {} : { icon_url: icon }),
  };
}

function readAuthor(form: Form, value: unknown, path: FieldPath): { name: string; url?: string; icon_url?: string } {
  const fields = fieldsOf(form, value, path) ?? {};
  const url = link(form, fields.url, [...path, "url"], webSchemes);
  const icon = link(form, fields.icon_url, [...path, "icon_url"], pictureSchemes);
  return {
    name: (text(form, fields.name, [...path, "name"], { min: 1, max: 256 }) ?? "").trim(),
    ...(url === undefined ? {} : { url }),
    ...(icon === undefined ? {} : { icon_url: icon }),
  };
}

function readPicture(form: Form, value: unknown, path: FieldPath): { url: string } {
  const fields = fieldsOf(form, value, path) ?? {};
  if (isAbsent(fields.url)) form.wrong([...path, "url"], "BASE_TYPE_REQUIRED", "This field is required");
  return { url: link(form, fields.url, [...path, "url"], pictureSchemes) ?? "" };
}

function readTimestamp(form: Form, value: unknown, path: FieldPath): string | undefined {
  if (isAbsent(value)) return undefined;
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString().replace("Z", "000+00:00");
  form.wrong(path, "DATE_TIME_TYPE_PARSE", `Could not parse ${shown(value)}. Should be ISO8601.`);
  return undefined;
}

/** What counts towards the 6,000 characters. */
function sizeOf(embed: APIEmbed): number {
  const lines = (embed.fields ?? []).map(({ name, value }) => name.length + value.length);
  const single = [embed.title, embed.description, embed.footer?.text, embed.author?.name];
  return [...single.map((one) => one?.length ?? 0), ...lines].reduce((sum, length) => sum + length, 0);
}

function showsSomething(embed: APIEmbed): boolean {
  const { title, description, fields, image, thumbnail, author, footer } = embed;
  return [title, description, fields, image, thumbnail, author, footer?.text].some(
    (part) => part !== undefined && part !== "",
  );
}
