/** Scales a picture to what models accept, in an isolated process, because the picture may be hostile. */
import { formatBytes } from "../../lib/text/format-bytes.ts";
import { firstDescriptor, runIsolatedProcess } from "../isolated-process.ts";
import { contentOf, headBytes } from "./content-type.ts";
import { maxFileBytes, pictureMegabytes, pictureTimeoutMs } from "./limits.ts";
import { detect, sizeOf } from "./open-file.ts";
import type { PictureRequest, ScaledPicture } from "./picture.ts";
import { inToolQueue } from "./process-queue.ts";

const module = new URL("./picture-process.ts", import.meta.url);

/**
 * Takes the bytes of a JPEG, PNG, GIF, WebP, TIFF or AVIF picture, or the descriptor of an open file. Resolves to a
 * JPEG or PNG with edges of at most 1,568 pixels and about 400 KB, without metadata, or to a sentence that says what is
 * wrong. Rejects only when the signal aborts.
 */
export function scalePicture(source: Uint8Array | number, signal: AbortSignal): Promise<ScaledPicture> {
  return inToolQueue(() => scaleAtOnce(source, signal), signal);
}

/** For callers with a queue of their own. */
export async function scaleAtOnce(source: Uint8Array | number, signal: AbortSignal): Promise<ScaledPicture> {
  const isOpen = typeof source === "number";
  const content = isOpen ? detect(source) : contentOf(source.subarray(0, headBytes));
  if (content.kind === "foreign-picture") return problem(foreignPictureProblem(content.name));
  if (content.kind !== "picture") return problem("It is not a picture. Send a picture as JPEG or PNG.");
  const size = isOpen ? sizeOf(source) : source.length;
  if (size > maxFileBytes) {
    return problem(`The picture has ${formatBytes(size)}. The limit is ${formatBytes(maxFileBytes)}.`);
  }
  const request: PictureRequest = { picture: isOpen ? { descriptor: firstDescriptor } : source };
  const limits = { timeoutMs: pictureTimeoutMs, megabytes: pictureMegabytes };
  const descriptors = isOpen ? [source] : [];
  const outcome = await runIsolatedProcess({ module, request, descriptors, allowsAddons: true, ...limits }, signal);
  // This cast is safe, because the process runs only our own code.
  if (outcome.type === "answer") return outcome.answer as ScaledPicture;
  switch (outcome.why) {
    case "time":
      return problem("The picture took too long to read. Send a smaller one.");
    case "memory":
      return problem("The picture needs too much memory. Send a smaller one.");
    case "error":
      return problem("The picture can't be read. Send it as JPEG or PNG.");
    default:
      return outcome.why satisfies never;
  }
}

export function foreignPictureProblem(format: string): string {
  return `${format} pictures can't be read here. Send the picture as JPEG or PNG.`;
}

function problem(message: string): ScaledPicture {
  return { type: "problem", message };
}
