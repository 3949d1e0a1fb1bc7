/** Pictures for `read_file`: the model sees them. */
import type { FileHandle } from "node:fs/promises";
import { contentOf, headBytes } from "../../src/plugin-sdk/documents/content-type.ts";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import type { PluginResult } from "../../src/plugin-sdk/plugin.ts";

/** Undefined if the file is not a picture. Remora scales the picture, or says why it can't be shown. */
export async function pictureResult(
  handle: FileHandle,
  { path, shown }: { path: string; shown: string },
): Promise<PluginResult | undefined> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  const content = contentOf(buffer.subarray(0, bytesRead));
  if (content.kind !== "picture" && content.kind !== "foreign-picture") return undefined;
  const { size } = await handle.stat();
  return { success: true, output: `(${shown} is a ${content.name} picture, ${formatBytes(size)}.)`, images: [{ path }] };
}
