/** What Anthropic refuses about images. */
import { type Block, blocksIn, messagesIn } from "./claude-messages.ts";
import { maxImagesOf } from "./claude-models.ts";
import type { ModelRule, Refusal } from "./rule.ts";

const source = "https://platform.claude.com/docs/en/build-with-claude/vision";
const read = "2026-11-27";
const types = ["image/jpeg", "image/png", "image/gif", "image/webp"];
/** Of base64, on Claude's own API. */
const maxCharacters = 10 * 1_048_576;
const maxSide = 8_000;
const manyImages = 20;
const maxSideOfMany = 2_000;

export function imageRules(refuse: (message: string) => Refusal): ModelRule[] {
  return [
    {
      says: "images are JPEG, PNG, GIF or WebP, at most 10 MB and 8,000 pixels, 2,000 if there are more than 20",
      source,
      read,
      refuse({ body }) {
        const images = imagesIn(body);
        if (images.length > maxImagesOf(body.model))
          return refuse(`messages: too many images: ${images.length} > ${maxImagesOf(body.model)}`);
        const most = images.length > manyImages ? maxSideOfMany : maxSide;
        const problem = images.map((image) => problemOf(image, most)).find((one) => one !== undefined);
        return problem === undefined ? undefined : refuse(`messages.0.content.0.image.source.base64${problem}`);
      },
    },
    {
      says: "the result of a failed call is text only",
      source: "https://github.com/vellum-ai/vellum-assistant/pull/18387",
      read,
      refuse({ body }) {
        const results = messagesIn(body).flatMap(({ blocks }) => blocks.filter(({ type }) => type === "tool_result"));
        const isRefused = results.some(
          (result) => result.is_error === true && blocksIn(result.content).some(({ type }) => type !== "text"),
        );
        return isRefused
          ? refuse("messages.0.content.0.tool_result: all content must be type `text` if `is_error` is true")
          : undefined;
      },
    },
  ];
}

function imagesIn(body: Record<string, unknown>): Block[] {
  const blocks = messagesIn(body).flatMap((message) => message.blocks);
  const inResults = blocks.flatMap((block) => (block.type === "tool_result" ? blocksIn(block.content) : []));
  return [...blocks, ...inResults].filter(({ type }) => type === "image");
}

function problemOf({ source: from }: Block, most: number): string | undefined {
  const { media_type: type, data } = Object(from);
  if (!types.includes(type)) return `.media_type: Input should be ${types.map((each) => `'${each}'`).join(", ")}`;
  if (String(data).length > maxCharacters)
    return `: image exceeds 10 MB maximum: ${String(data).length} bytes > ${maxCharacters} bytes`;
  const side = type === "image/png" ? longestSideOfPng(String(data)) : 0;
  if (side <= most) return undefined;
  const many = most === maxSideOfMany ? " for many-image requests" : "";
  return `.data: At least one of the image dimensions exceed max allowed size${many}: ${most} pixels`;
}

/** A PNG begins with its signature and the chunk IHDR: width and height from byte 16 on. */
function longestSideOfPng(base64: string): number {
  const head = Buffer.from(base64.slice(0, 32), "base64");
  return head.length < 24 ? 0 : Math.max(head.readUInt32BE(16), head.readUInt32BE(20));
}
