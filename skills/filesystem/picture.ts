/** Pictures for `read_file`: shows them to the model. */
import type { FileHandle } from "node:fs/promises";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import type { PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { fileProblem } from "../../src/plugin-sdk/working-folder.ts";

const maxPictureBytes = 20 * 1024 * 1024;

/**
 * Remora scales the picture later, or tells the model why it can't be shown. It reads a picture at `path` itself; without
 * `path`, the picture is not in the working folder, and the result contains its bytes.
 */
export async function pictureResult(
  handle: FileHandle,
  { path, shown, name }: { path: string | undefined; shown: string; name: string },
): Promise<PluginResult> {
  const { size } = await handle.stat();
  const output = `(${shown} is a ${name} picture, ${formatBytes(size)}.)`;
  if (path !== undefined) return { success: true, output, images: [{ path }] };
  if (size > maxPictureBytes) throw fileProblem(shown, `is ${formatBytes(size)}, too large to be shown`);
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await handle.read(bytes, 0, size, 0);
  return { success: true, output, images: [{ base64: bytes.subarray(0, bytesRead).toString("base64") }] };
}
