/** Pictures for `read_file`: shows them to the model. */
import type { FileHandle } from "node:fs/promises";
import { formatBytes } from "../../src/plugin-sdk/format-bytes.ts";
import type { PluginResult } from "../../src/plugin-sdk/plugin.ts";

/** Does not read the picture: Remora scales it later, or tells the model why it can't be shown. */
export async function pictureResult(
  handle: FileHandle,
  { path, shown, name }: { path: string; shown: string; name: string },
): Promise<PluginResult> {
  const { size } = await handle.stat();
  return { success: true, output: `(${shown} is a ${name} picture, ${formatBytes(size)}.)`, images: [{ path }] };
}
