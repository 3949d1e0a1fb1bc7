/**
 * Checks messages that are made of components alone (`IS_COMPONENTS_V2`): texts, sections, containers, rows.
 * Rule: layout-sizes
 */
import type { APIMessageTopLevelComponent } from "discord.js";
import type { FieldPath, Form } from "./api-error.ts";
import { createReading, type Reading, readButton, readRow } from "./component-form.ts";
import { choice, type Fields, fieldsOf, flag, integer, isAbsent, isFields, link, list, text } from "./fields.ts";

const maxComponents = 40;
const maxText = 4000;
const topLevel = [1, 9, 10, 12, 13, 14, 17];
const inContainer = topLevel.filter((type) => type !== 17);
const mediaSchemes = ["http", "https", "attachment"];

export function readLayout(form: Form, value: unknown, path: FieldPath): APIMessageTopLevelComponent[] {
  const reading = createReading(form);
  const parts = list(form, value, path, maxComponents).map((one, index) =>
    readPart(reading, one, [...path, index], topLevel),
  );
  const all = parts.flatMap(flatten);
  if (all.length > maxComponents) {
    form.wrong(
      path,
      "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED",
      `Total number of components cannot exceed ${maxComponents}`,
    );
  }
  if (textsIn(parts).join("").length > maxText) {
    form.wrong(
      path,
      "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
      `Component displayable text size exceeds maximum size of ${maxText}`,
    );
  }
  return parts as APIMessageTopLevelComponent[];
}

/** The texts of components, which hold such a message's mentions. */
export function textsIn(components: unknown[]): string[] {
  return components.flatMap(flatten).flatMap(({ type, content }) => (type === 10 ? [String(content)] : []));
}

function flatten(part: unknown): Fields[] {
  if (!isFields(part)) return [];
  const inner = Array.isArray(part.components) ? part.components : [];
  return [part, ...inner.flatMap(flatten), ...(part.accessory === undefined ? [] : flatten(part.accessory))];
}

function readPart(reading: Reading, value: unknown, path: FieldPath, allowed: number[]): object {
  const { form } = reading;
  const fields = fieldsOf(form, value, path) ?? {};
  const type = choice(form, fields.type, [...path, "type"], allowed);
  if (type === 1) return readRow(reading, value, path);
  const id = reading.nextId++;
  const at = (...keys: FieldPath) => [...path, ...keys];
  switch (type) {
    case 9:
      return readSection(reading, fields, path, id);
    case 10:
      return { type, id, content: text(form, fields.content, at("content"), { min: 1, max: maxText }) ?? "" };
    case 12:
      return { type, id, items: readItems(form, fields.items, at("items")) };
    case 13:
      return { type, id, file: readMedia(form, fields.file, at("file"), ["attachment"]) };
    case 14:
      return {
        type,
        id,
        divider: flag(form, fields.divider, at("divider")) ?? true,
        spacing: integer(form, fields.spacing, at("spacing"), { min: 1, max: 2 }) ?? 1,
      };
    default:
      return readContainer(reading, fields, path, id);
  }
}

function readContainer(reading: Reading, fields: Fields, path: FieldPath, id: number): object {
  const { form } = reading;
  const color = integer(form, fields.accent_color, [...path, "accent_color"], { min: 0, max: 0xffffff });
  const inner = list(form, fields.components, [...path, "components"], maxComponents);
  if (inner.length === 0) form.wrong([...path, "components"], "BASE_TYPE_REQUIRED", "This field is required");
  return {
    type: 17,
    id,
    accent_color: color ?? null,
    spoiler: flag(form, fields.spoiler, [...path, "spoiler"]) ?? false,
    components: inner.map((one, index) => readPart(reading, one, [...path, "components", index], inContainer)),
  };
}

function readSection(reading: Reading, fields: Fields, path: FieldPath, id: number): object {
  const { form } = reading;
  const texts = list(form, fields.components, [...path, "components"], 3);
  if (texts.length === 0)
    form.wrong([...path, "components"], "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 3 in length.");
  const components = texts.map((one, index) => readPart(reading, one, [...path, "components", index], [10]));
  const accessory = fieldsOf(form, fields.accessory, [...path, "accessory"]) ?? {};
  const type = choice(form, accessory.type, [...path, "accessory", "type"], [2, 11]);
  if (type === 2) return { type: 9, id, components, accessory: readButton(reading, accessory, [...path, "accessory"]) };
  const media = readMedia(form, accessory.media, [...path, "accessory", "media"], mediaSchemes);
  return { type: 9, id, components, accessory: { type: 11, id: reading.nextId++, media } };
}

function readItems(form: Form, value: unknown, path: FieldPath): object[] {
  const items = list(form, value, path, 10);
  if (items.length === 0) form.wrong(path, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 10 in length.");
  return items.map((one, index) => ({
    media: readMedia(form, isFields(one) ? one.media : undefined, [...path, index, "media"], mediaSchemes),
  }));
}

function readMedia(form: Form, value: unknown, path: FieldPath, schemes: string[]): { url: string } {
  const fields = fieldsOf(form, value, path) ?? {};
  if (isAbsent(fields.url)) form.wrong([...path, "url"], "BASE_TYPE_REQUIRED", "This field is required");
  return { url: link(form, fields.url, [...path, "url"], schemes) ?? "" };
}
