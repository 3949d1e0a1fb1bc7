/** `remora memory status`: shows what is indexed, and the progress and last failure of embeddings. */
import type { Environment } from "../config/environment.ts";
import type { EmbeddingStatus } from "../memory/search.ts";
import { installProxies } from "../proxy/install.ts";
import { openMemory } from "./open-memory.ts";
import { settingsFor } from "./settings.ts";

export async function memoryStatusCommand(env: Environment, root: string, options: { json?: boolean }): Promise<void> {
  const settings = settingsFor(env, root);
  await installProxies(settings.proxies);
  const memory = await openMemory(settings);
  try {
    const status = { passages: await memory.countAll(), embeddings: (await memory.embeddings()) ?? null };
    process.stdout.write(options.json ? `${JSON.stringify(status, null, 1)}\n` : describeMemory(status));
  } finally {
    await memory.close();
  }
}

export function describeMemory({
  passages,
  embeddings,
}: {
  passages: number;
  embeddings: EmbeddingStatus | null;
}): string {
  const indexed = `${passages} ${passages === 1 ? "passage is" : "passages are"} indexed.\n`;
  if (embeddings === null)
    return `${indexed}They are found by their words. To find them by meaning too, set memory.embeddings.\n`;
  const { model, address, embedded, problem } = embeddings;
  const share = `${embedded} of ${embeddings.passages} can be found by meaning, with ${model} at ${address}.\n`;
  return `${indexed}${share}${problem === undefined ? "" : `The last attempt failed: ${problem}\n`}`;
}
