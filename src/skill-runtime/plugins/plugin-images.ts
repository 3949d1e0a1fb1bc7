/** Reads the pictures of a plugin's result. Accepts values of any shape, because plugins are third-party code. */
import { basename } from "node:path";
import { messageOf } from "../../lib/errors.ts";
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { atPlace, explainFileProblem, openForReading } from "../../lib/working-folder.ts";
import type { ScalePicture, ToolImage } from "../../ports/tool.ts";
import { type FilePlaces, placeOf } from "./file-places.ts";

/** Each picture costs the model about as much as 6 KB of text, and the turn's record keeps all of them. */
const maxImages = 3;
const maxImageBytes = 20 * 1024 * 1024;
/** Base64 needs 4 characters for 3 bytes. */
const maxBase64Length = Math.ceil(maxImageBytes / 3) * 4;

/** A picture that can't be shown becomes a sentence for the model. */
export async function readImages(
  listed: unknown,
  places: FilePlaces,
  scale: ScalePicture,
  signal: AbortSignal,
): Promise<{ images: ToolImage[]; problems: string[] }> {
  const images: ToolImage[] = [];
  const problems: string[] = [];
  const entries: unknown[] = Array.isArray(listed) ? listed : [];
  for (const entry of entries.slice(0, maxImages)) {
    const read = await readImage(entry, places, scale, signal);
    if (typeof read === "string") problems.push(`(${read})`);
    else images.push(read);
  }
  const left = entries.length - maxImages;
  if (left > 0) problems.push(`(${left} more pictures are not shown: the limit is ${maxImages} for one result.)`);
  return { images, problems };
}

async function readImage(
  entry: unknown,
  places: FilePlaces,
  scale: ScalePicture,
  signal: AbortSignal,
): Promise<ToolImage | string> {
  if (typeof entry !== "object" || entry === null) return "A picture was left out: it has neither base64 nor a path.";
  if ("base64" in entry && typeof entry.base64 === "string") {
    if (entry.base64.length > maxBase64Length)
      return `A picture was left out: it is larger than ${formatBytes(maxImageBytes)}.`;
    return toolImage(await scale(Buffer.from(entry.base64, "base64"), signal), "A picture");
  }
  if (!("path" in entry) || typeof entry.path !== "string")
    return "A picture was left out: it has neither base64 nor a path.";
  const { path } = entry;
  const name = `The picture ${basename(path)}`;
  try {
    return await atPlace(placeOf(path, places), async (place) => {
      await using file = await openForReading(place, "file");
      return toolImage(await scale(file.fd, signal), name);
    });
  } catch (thrown) {
    signal.throwIfAborted();
    return `${name} was left out: ${explainFileProblem(thrown, path) ?? messageOf(thrown)}`;
  }
}

function toolImage(scaled: Awaited<ReturnType<ScalePicture>>, name: string): ToolImage | string {
  switch (scaled.type) {
    case "picture":
      return { mimeType: scaled.mimeType, base64: scaled.base64 };
    case "problem":
      return `${name} was left out. ${scaled.message}`;
    default:
      return scaled satisfies never;
  }
}
