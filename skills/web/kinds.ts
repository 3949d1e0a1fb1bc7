/** Classifies content as a page, text, or something else, by its media type, or by its bytes if the type is generic. */

export type Kind = { type: "page" } | { type: "text" } | { type: "other"; name: string };

const textTypes =
  /^(?:text\/|application\/(?:(?:[\w.-]+\+)?(?:json|xml|yaml)|(?:x-)?ndjson|jsonl|json5|toml|(?:x-)?javascript|typescript|ecmascript|sql|graphql|x-sh|x-yaml|rtf|x-tex|x-subrip|mbox)$|message\/|image\/svg\+xml$)/;
const names: [RegExp, string][] = [
  [/^application\/pdf/, "a PDF"],
  [/^image\//, "an image"],
  [/^video\//, "a video"],
  [/^audio\//, "a sound recording"],
  [/^font\//, "a font"],
  [/zip|tar|gzip|7z|rar|compress|bzip|zstd/, "an archive"],
  [/spreadsheet|ms-excel/, "a spreadsheet"],
  [/wordprocessing|msword|opendocument\.text/, "a text document"],
  [/presentation|powerpoint/, "a presentation"],
];
const unknowing = /^(?:application\/octet-stream|binary\/octet-stream|application\/(?:x-)?unknown|\*\/\*)?$/;

/** Before the body is fetched, a generic type counts as text so that the body is fetched and checked. */
export function kindOf(contentType: string, body: Uint8Array | undefined): Kind {
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  if (unknowing.test(type)) return body === undefined ? { type: "text" } : kindOfBytes(body);
  if (type === "text/html" || type === "application/xhtml+xml") return { type: "page" };
  if (textTypes.test(type)) return { type: "text" };
  const found = names.find(([pattern]) => pattern.test(type));
  return {
    type: "other",
    name: found === undefined ? `of the type ${type.slice(0, 100)}` : `${found[1]} (${type.slice(0, 100)})`,
  };
}

const beginnings: [string, string][] = [
  ["%PDF-", "a PDF"],
  ["\x89PNG", "an image"],
  ["\xff\xd8\xff", "an image"],
  ["GIF8", "an image"],
  ["RIFF", "an image, a sound or a video"],
  ["PK\x03\x04", "an archive"],
  ["\x1f\x8b", "an archive"],
  ["BZh", "an archive"],
];

function kindOfBytes(body: Uint8Array): Kind {
  const start = Buffer.from(body.subarray(0, 1_024)).toString("latin1");
  const found = beginnings.find(([beginning]) => start.startsWith(beginning));
  if (found !== undefined) return { type: "other", name: found[1] };
  const isUtf16 = start.startsWith("\xff\xfe") || start.startsWith("\xfe\xff");
  if (start.includes("\0") && !isUtf16) return { type: "other", name: "binary data" };
  const isPage = /^\s*(?:<!--[\s\S]*?-->\s*)*<(?:!doctype html|html|head|body)[\s>]/i.test(start);
  return { type: isPage ? "page" : "text" };
}
