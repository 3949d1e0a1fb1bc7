/**
 * What Slack accepts as blocks: sizes from the Block Kit reference, problems worded as Slack words them, and the size of
 * all blocks together, which no page names: about 13,200 characters, of which a block that is no markdown takes about 125
 * by itself (measured by users, slackapi/bolt-js#2509).
 */
import { elementProblems } from "./element-rules.ts";
import { itemProblems, missing, type Problem, textProblems, tooLong } from "./problems.ts";
import { most } from "./sizes.ts";
import { invalid, isObject, type JsonObject, objectsIn, SlackRefusal } from "./wire.ts";

export type Surface = "message" | "modal" | "home";

/** Throws `invalid_blocks` (of views: `invalid_arguments`), or `msg_blocks_too_long` for what is too long only together. */
export function checkBlocks(value: unknown, surface: Surface = "message"): JsonObject[] {
  const [place, limit, error] =
    surface === "message"
      ? (["/blocks", most("message-blocks"), "invalid_blocks"] as const)
      : (["/view/blocks", most("view-blocks"), "invalid_arguments"] as const);
  if (!Array.isArray(value)) {
    throw invalid(surface === "message" ? "invalid_blocks_format" : error, `must be an array [json-pointer:${place}]`);
  }
  const blocks = objectsIn(value);
  const problems = [
    ...itemProblems(value, 0, limit, place),
    ...value.flatMap((block, index) => blockProblems(block, `${place}/${index}`, surface)),
    ...duplicates(blocks, place),
  ];
  if (problems.length > 0) throw invalid(error, ...problems);
  if (surface === "message") checkTotal(blocks);
  return blocks;
}

function checkTotal(blocks: JsonObject[]): void {
  const markdown = blocks.filter((block) => block.type === "markdown");
  const markdownLength = markdown.reduce((sum, block) => sum + String(block.text).length, 0);
  const total = blocks.reduce(
    (sum, block) => sum + textLength(block) + (block.type === "markdown" ? 0 : most("block-weight")),
    0,
  );
  if (markdownLength > most("markdown-text") || total > most("blocks-together"))
    throw new SlackRefusal("msg_blocks_too_long");
}

/** All text that is shown, at any depth. */
function textLength(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + textLength(item), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce(
    (sum, [key, item]) => sum + (key === "text" && typeof item === "string" ? item.length : textLength(item)),
    0,
  );
}

function duplicates(blocks: JsonObject[], place: string): Problem[] {
  const seen = new Set<unknown>();
  const problems: Problem[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.block_id === undefined) continue;
    if (seen.has(block.block_id)) problems.push(`block_id already exists [json-pointer:${place}/${index}/block_id]`);
    seen.add(block.block_id);
  }
  return [...problems, ...duplicateActions(blocks, place)];
}

/** An action_id is unique in its block; Slack refuses a second one. */
function duplicateActions(blocks: JsonObject[], place: string): Problem[] {
  return blocks.flatMap((block, index) => {
    const seen = new Set<unknown>();
    return objectsIn(block.elements).flatMap((element, at) => {
      if (element.action_id === undefined) return [];
      const isKnown = seen.has(element.action_id);
      seen.add(element.action_id);
      const where = `${place}/${index}/elements/${at}/action_id`;
      return isKnown
        ? [`\`action_id\` "${element.action_id}" already exists for another element [json-pointer:${where}]`]
        : [];
    });
  });
}

const onSurface: Record<string, Surface[]> = {
  actions: ["message", "modal", "home"],
  card: ["message"],
  carousel: ["message"],
  container: ["message"],
  data_table: ["message"],
  alert: ["message", "modal", "home"],
  context: ["message", "modal", "home"],
  context_actions: ["message"],
  divider: ["message", "modal", "home"],
  file: ["message"],
  header: ["message", "modal", "home"],
  image: ["message", "modal", "home"],
  input: ["message", "modal", "home"],
  markdown: ["message"],
  plan: ["message"],
  rich_text: ["message", "modal", "home"],
  section: ["message", "modal", "home"],
  table: ["message"],
  task_card: ["message"],
  video: ["message", "modal", "home"],
};

function blockProblems(block: unknown, place: string, surface: Surface): Problem[] {
  if (!isObject(block)) return [`must be an object [json-pointer:${place}]`];
  const surfaces = onSurface[String(block.type)];
  if (surfaces === undefined) return [`unsupported type: ${String(block.type)} [json-pointer:${place}/type]`];
  if (!surfaces.includes(surface)) {
    return [
      `unsupported type: ${String(block.type)} is not supported in ${surface} views [json-pointer:${place}/type]`,
    ];
  }
  return [...tooLong(block.block_id, most("block-id"), `${place}/block_id`), ...problemsByType(block, place)];
}

function problemsByType(block: JsonObject, place: string): Problem[] {
  switch (block.type) {
    case "markdown":
      return typeof block.text === "string" && block.text !== ""
        ? tooLong(block.text, most("markdown-text"), `${place}/text`)
        : missing(undefined, "text", place);
    case "section":
      return sectionProblems(block, place);
    case "header":
      return textProblems(block.text, `${place}/text`, most("header-text"), true);
    case "context":
      return [
        ...itemProblems(block.elements, 1, most("context-elements"), `${place}/elements`),
        ...objectsIn(block.elements).flatMap((element, at) =>
          element.type === "image" ? [] : textProblems(element, `${place}/elements/${at}`, most("text-object")),
        ),
      ];
    // https://docs.slack.dev/reference/block-kit/blocks/context-actions-block
    case "context_actions":
      return [
        ...itemProblems(block.elements, 1, most("context-actions"), `${place}/elements`),
        ...objectsIn(block.elements).flatMap((element, at) =>
          element.type === "feedback_buttons" || element.type === "icon_button"
            ? elementProblems(element, `${place}/elements/${at}`)
            : [`unsupported type: ${String(element.type)} [json-pointer:${place}/elements/${at}/type]`],
        ),
      ];
    case "actions":
      return [
        ...itemProblems(block.elements, 1, most("actions-elements"), `${place}/elements`),
        ...objectsIn(block.elements).flatMap((element, at) => elementProblems(element, `${place}/elements/${at}`)),
      ];
    case "input":
      return [
        ...textProblems(block.label, `${place}/label`, most("input-label"), true),
        ...(block.hint === undefined ? [] : textProblems(block.hint, `${place}/hint`, most("input-label"), true)),
        ...(isObject(block.element)
          ? elementProblems(block.element, `${place}/element`)
          : missing(undefined, "element", place)),
      ];
    case "image":
      return [
        ...missing(block.alt_text, "alt_text", place),
        ...tooLong(block.alt_text, most("image-alt-text"), `${place}/alt_text`),
      ];
    case "rich_text":
      return Array.isArray(block.elements)
        ? emptyTexts(block.elements, `${place}/elements`)
        : missing(undefined, "elements", place);
    default:
      return [];
  }
}

/** Rich text has no named length, but no text of it may be empty. */
function emptyTexts(elements: unknown, place: string): Problem[] {
  return objectsIn(elements).flatMap((element, at) => {
    const isEmpty = element.type === "text" && element.text === "";
    const isBadDate =
      element.type === "date" && !(Number.isInteger(element.timestamp) && typeof element.format === "string");
    const own = [
      ...(isEmpty ? [`must be more than 0 characters [json-pointer:${place}/${at}/text]`] : []),
      ...(isBadDate ? [`must provide an integer [json-pointer:${place}/${at}/timestamp]`] : []),
    ];
    return [...own, ...emptyTexts(element.elements, `${place}/${at}/elements`)];
  });
}

function sectionProblems(block: JsonObject, place: string): Problem[] {
  const text = block.text === undefined ? [] : textProblems(block.text, `${place}/text`, most("section-text"));
  const fields =
    block.fields === undefined
      ? []
      : [
          ...itemProblems(block.fields, 1, most("section-fields"), `${place}/fields`),
          ...objectsIn(block.fields).flatMap((field, at) =>
            textProblems(field, `${place}/fields/${at}`, most("section-field")),
          ),
        ];
  const accessory = isObject(block.accessory) ? elementProblems(block.accessory, `${place}/accessory`) : [];
  if (block.text === undefined && block.fields === undefined) return missing(undefined, "text", place);
  return [...text, ...fields, ...accessory];
}
