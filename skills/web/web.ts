/** Assembles the web skill. Tests may replace name resolution and the clock. */
import { RemoraError } from "../../src/plugin-sdk/errors.ts";
import { failure } from "../../src/plugin-sdk/failure.ts";
import type { JsonObject, Plugin, PluginContext, PluginResult } from "../../src/plugin-sdk/plugin.ts";
import { createDisclosure } from "./disclosure.ts";
import { createFetch } from "./fetch.ts";
import { createPageReader, type PageReader } from "./read-page.ts";
import { search } from "./search.ts";
import type { Resolve } from "./target.ts";

export interface WebOptions {
  resolve: Resolve;
  now?: () => number;
  reader?: PageReader;
}

export function createWeb({ resolve, now = Date.now, reader = createPageReader() }: WebOptions): Plugin {
  const disclosure = createDisclosure();
  const fetchPage = createFetch({ resolve, reader, disclosure, now });

  const run = async (tool: string, input: JsonObject, context: PluginContext): Promise<PluginResult> => {
    switch (tool) {
      case "web_fetch":
        return await fetchPage(input, context, false);
      case "web_fetch_any":
        return await fetchPage(input, context, true);
      case "web_search":
        return await search(input, context, disclosure);
      default:
        return failure(`The web skill has no tool ${tool}.`);
    }
  };

  return {
    async execute(tool, input, context) {
      try {
        return await run(tool, input, context);
      } catch (thrown) {
        // Return a refusal as an answer. Throw a transient failure so that the queue retries the call.
        if (thrown instanceof RemoraError && !thrown.isRetryable) return failure(thrown.message);
        throw thrown;
      }
    },
  };
}
