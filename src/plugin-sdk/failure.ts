import type { PluginResult } from "../ports/plugin.ts";

/** The result of a call that failed. The model reads `error`. */
export function failure(error: string): Exclude<PluginResult, string> {
  return { success: false, output: "", error };
}
