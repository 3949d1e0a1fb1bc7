/** What can be read in components: texts, pictures, files, buttons and menus. An unknown kind is named, with what is in it. */
import { ComponentType } from "discord.js";
import { type Fields, fieldsOf, joined, listOf, nameOf, textOf } from "./fields.ts";
import { linked, mediaLine } from "./shown-embed.ts";

/** Discord allows fewer than ten. */
const maxDepth = 60;

const menus: Readonly<Record<number, string>> = {
  [ComponentType.StringSelect]: "menu",
  [ComponentType.UserSelect]: "menu of people",
  [ComponentType.RoleSelect]: "menu of roles",
  [ComponentType.MentionableSelect]: "menu of people and roles",
  [ComponentType.ChannelSelect]: "menu of channels",
  [ComponentType.RadioGroup]: "choice",
  [ComponentType.CheckboxGroup]: "choices",
};

export function componentsText(value: unknown): string {
  return joined(listOf(value).map((part) => partText(part, 0)));
}

function partText(value: unknown, depth: number): string {
  const part = fieldsOf(value);
  if (part === undefined) return textOf(value);
  if (depth > maxDepth) return "[more parts inside of it, too deep to read]";
  const inside = (name: string) => listOf(part[name]).map((each) => partText(each, depth + 1));
  const type = Number(part.type);
  const menu = menus[type];
  if (menu !== undefined) return menuText(menu, part);
  switch (type) {
    case ComponentType.ActionRow:
      return inside("components")
        .filter((text) => text !== "")
        .join(" ");
    case ComponentType.Button:
      return `[button: ${linked(labelOf(part), textOf(part.url), "")}]`;
    case ComponentType.Section:
      return joined([...inside("components"), ...inside("accessory")]);
    case ComponentType.TextDisplay:
      return textOf(part.content);
    case ComponentType.Thumbnail:
      return mediaLine("picture", part.media, "", part.description);
    case ComponentType.MediaGallery:
      return joined(listOf(part.items).map((item) => galleryLine(item)));
    case ComponentType.File:
      return mediaLine("file", part.file ?? part.name, "", part.name);
    case ComponentType.Separator:
      return part.divider === false ? "" : "---";
    case ComponentType.Container:
      return joined(inside("components"));
    case ComponentType.Label:
      return joined([textOf(part.label), textOf(part.description), ...inside("component")]);
    case ComponentType.TextInput:
      return fieldText("text field", [part.label, part.placeholder, part.value]);
    case ComponentType.FileUpload:
      return "[file upload]";
    case ComponentType.Checkbox:
      return part.default === true ? "[x]" : "[ ]";
    case ComponentType.ContentInventoryEntry:
      return "[an activity]";
    default:
      return unknownText(part, depth);
  }
}

function unknownText(part: Fields, depth: number): string {
  const words = ["label", "title", "name", "text", "content", "description", "value", "url"].map((key) =>
    textOf(part[key]),
  );
  const parts = ["components", "component", "items", "options", "accessory"].flatMap((key) =>
    listOf(part[key]).map((each) => partText(each, depth + 1)),
  );
  const name = nameOf(part.type);
  const kind = name === "" ? "unknown type" : `type ${name}`;
  return joined([`[a component of ${kind}]`, ...words, ...parts]);
}

function labelOf(part: Fields): string {
  const emoji = fieldsOf(part.emoji);
  const sign = emoji === undefined ? textOf(part.emoji) : emojiText(emoji);
  const label = textOf(part.label) || (part.sku_id === undefined ? "" : "buy");
  return [sign, label].filter((text) => text !== "").join(" ");
}

/** Custom ones have a name, the others are their own character. */
export function emojiText(emoji: Fields): string {
  const name = textOf(emoji.name);
  return emoji.id === undefined || emoji.id === null || name === "" ? name : `:${name}:`;
}

function galleryLine(value: unknown): string {
  const item = fieldsOf(value);
  return item === undefined ? textOf(value) : mediaLine("picture", item.media ?? item, "", item.description);
}

function menuText(kind: string, part: Fields): string {
  const options = listOf(part.options).map((value) => {
    const option = fieldsOf(value);
    if (option === undefined) return textOf(value);
    const [label, about] = [labelOf(option) || textOf(option.value), textOf(option.description)];
    return `${about === "" ? label : `${label} (${about})`}${option.default === true ? " [chosen]" : ""}`;
  });
  const chosen = listOf(part.default_values).map((value) => mentionOf(fieldsOf(value)));
  return fieldText(kind, [part.placeholder, options.join(", "), chosen.join(", ")]);
}

function mentionOf(value: Fields | undefined): string {
  const id = textOf(value?.id);
  if (id === "") return "";
  const marks: Readonly<Record<string, string>> = { user: "@", role: "@&", channel: "#" };
  return `<${marks[textOf(value?.type)] ?? "@"}${id}>`;
}

function fieldText(kind: string, facts: readonly unknown[]): string {
  const known = facts.map(textOf).filter((fact) => fact !== "");
  return `[${[kind, ...known].join(": ")}]`;
}
