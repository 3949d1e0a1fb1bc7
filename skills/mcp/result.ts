/** Converts any server answer for the model: keeps text, shows pictures, saves binary data as files, and describes everything else. */
import { randomBytes } from "node:crypto";
import type { PluginImage, PluginResult, ToolFile } from "../../src/plugin-sdk/plugin.ts";
import { replaceFile } from "../../src/plugin-sdk/replace-file.ts";
import { textIn } from "../../src/plugin-sdk/text-in.ts";
import { atPlace, explainFileProblem } from "../../src/plugin-sdk/working-folder.ts";

/** In characters. The tool queue shortens the text further. */
const maxTextLength = 1_000_000;
const maxFiles = 10;

const endings: { [mimeType: string]: string } = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "application/pdf": "pdf",
  "application/json": "json",
  "application/zip": "zip",
  "text/plain": "txt",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
};

export interface ResultPlace {
  workingFolder: string;
  fileName: string;
}

interface Outputs {
  files: ToolFile[];
  images: PluginImage[];
}

interface Fields {
  [field: string]: unknown;
}

export async function readResult(answer: Fields, place: ResultPlace): Promise<PluginResult> {
  const outputs: Outputs = { files: [], images: [] };
  const parts: string[] = [];
  for (const block of Array.isArray(answer.content) ? answer.content.map(asFields) : []) {
    parts.push(await readBlock(block, outputs, place));
  }
  const said = parts.filter((part) => part !== "").join("\n\n");
  const structured = answer.structuredContent;
  const text = said === "" && structured !== undefined ? JSON.stringify(structured, null, 1) : said;
  const output = text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength).toWellFormed()}\n\n(Cut here.)`;
  if (answer.isError === true)
    return { success: false, output: "", error: output || "The tool failed without a reason." };
  return { success: true, output, ...outputs };
}

async function readBlock(block: Fields, outputs: Outputs, place: ResultPlace): Promise<string> {
  switch (block.type) {
    case "text":
      return textIn(block.text);
    case "image":
    case "audio":
      return await save(block.data, textIn(block.mimeType), outputs, place);
    case "resource":
      return await readResource(asFields(block.resource), outputs, place);
    case "resource_link":
      return `(A link: ${textIn(block.title) || textIn(block.name)} ${textIn(block.uri)} ${textIn(block.description)})`;
    default:
      return `(Content of type ${JSON.stringify(textIn(block.type))}, which can't be shown.)`;
  }
}

async function readResource(resource: Fields, outputs: Outputs, place: ResultPlace): Promise<string> {
  const uri = textIn(resource.uri);
  if (typeof resource.text === "string") return uri === "" ? resource.text : `${uri}:\n${resource.text}`;
  return await save(resource.blob, textIn(resource.mimeType), outputs, place, uri);
}

async function save(data: unknown, mimeType: string, outputs: Outputs, place: ResultPlace, uri = ""): Promise<string> {
  const what = [mimeType || "data of unknown type", uri].filter((part) => part !== "").join(" ");
  if (typeof data !== "string" || data === "") return `(${what}, without content.)`;
  // An SVG is text, which models can't see as a picture.
  if (/^image\/(?!svg)/i.test(mimeType)) outputs.images.push({ base64: data });
  if (outputs.files.length >= maxFiles) return `(${what}, left out: the limit for one answer is ${maxFiles} files.)`;
  const ending = Object.hasOwn(endings, mimeType) ? endings[mimeType] : "bin";
  const path = `${place.fileName}-${randomBytes(4).toString("hex")}.${ending}`;
  try {
    await atPlace({ workingFolder: place.workingFolder, path }, (at) =>
      replaceFile(at, Buffer.from(data, "base64"), 0o644),
    );
  } catch (thrown) {
    const why = explainFileProblem(thrown, path);
    if (why === undefined) throw thrown;
    return `(${what}, not saved: ${why})`;
  }
  outputs.files.push({ name: path, path, mimeType: mimeType || "application/octet-stream" });
  return `(${what}, saved as ${path})`;
}

function asFields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
