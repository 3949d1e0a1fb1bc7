/** Finds the plugin among the exports of its module. */
import { RemoraError } from "../../lib/errors.ts";
import type { JsonObject } from "../../ports/message.ts";
import type { Plugin } from "../../ports/plugin.ts";
import type { Skill } from "../../ports/skill.ts";

/**
 * Accepts another common shape too: `{ name, tools, init?, execute(tool, args, signal?), destroy? }`. Either may be
 * inside an additional `default`, which compilers to CommonJS add.
 */
export function asPlugin(exported: unknown, skill: Skill): Plugin {
  const found = hasExecute(exported) ? exported : (exported as { default?: unknown } | null | undefined)?.default;
  if (!hasExecute(found)) {
    throw new RemoraError({
      code: "skill.no-plugin",
      place: `skill ${skill.name}`,
      message: `${skill.plugin} has no default export with a function execute(tool, input, context): add one`,
    });
  }
  const plugin = found as Plugin;
  if (!("tools" in found) || !("name" in found)) return plugin;
  const other = found as object as {
    execute(tool: string, input: JsonObject, signal: AbortSignal): ReturnType<Plugin["execute"]>;
  };
  return {
    init: (home) => plugin.init?.(home),
    execute: (tool, input, context) => other.execute(tool, input, context.signal),
    destroy: () => plugin.destroy?.(),
  };
}

function hasExecute(exported: unknown): exported is object {
  return (
    typeof exported === "object" && exported !== null && "execute" in exported && typeof exported.execute === "function"
  );
}
