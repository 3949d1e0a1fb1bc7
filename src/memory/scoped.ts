/** Memory for one tool call. Only owners may write or remove shared notes, because every conversation reads them. */
import { RemoraError } from "../lib/errors.ts";
import type { MemoryScope } from "../ports/message.ts";
import { type Origin, originOfPerson, viaStore } from "../ports/origin.ts";
import type { PluginMemory } from "../ports/plugin.ts";
import type { ToolScope } from "../ports/tool.ts";
import type { Payer } from "../ports/usage.ts";
import { documentsFolder } from "./document-files.ts";
import type { OwnedMemory } from "./memory.ts";

export type ScopedMemory = (
  call: ToolScope,
  payer: () => Promise<Payer>,
  onRead: (origins: readonly Origin[]) => void,
) => PluginMemory;

function keptNote(title: string): RemoraError {
  return new RemoraError({
    code: "memory.kept",
    place: "memory",
    message: `there is a note "${title}", and this turn has read text from outside, so it is kept. Choose another title, or set replace, and a person is asked`,
  });
}

export function createScopedMemory(
  memory: Pick<OwnedMemory, "search" | "knowledge">,
  mayShare: (call: ToolScope) => Promise<boolean>,
): ScopedMemory {
  async function placeFor(call: ToolScope, isShared: boolean): Promise<MemoryScope> {
    if (!isShared) return call.scope;
    if (await mayShare(call)) return "shared";
    throw new RemoraError({
      code: "memory.not-owner",
      place: "memory",
      message:
        "every conversation reads shared notes, so only the people in safety.owners may change them. Call the tool again without shared, for a note of this conversation",
    });
  }

  return (call, payer, onRead) => ({
    async remember(title, text, isShared = false, isNew = false) {
      const scope = await placeFor(call, isShared);
      const before = await memory.knowledge.readMarked(scope, title);
      if (isNew && before !== undefined) throw keptNote(title);
      onRead(viaStore(before?.origins ?? [], "recalled memory"));
      // In channel notes, mark the requester as an origin. DM notes have a single reader; owners write shared notes.
      const asker = scope.startsWith("channel:") ? [originOfPerson(call.requester)] : [];
      await memory.knowledge.write(scope, title, text, [...asker, ...(call.untrusted ?? [])]);
      return before?.text;
    },
    async recall(query, limit) {
      const hits = await memory.search({ query, scopes: [call.scope, "shared"], limit, payer: await payer() });
      onRead(hits.flatMap(({ origins }) => viaStore(origins, "recalled memory")));
      return hits.map(({ path, heading, at, scope, text }) => {
        const isDocument = path.startsWith(`${documentsFolder}/`);
        const source = isDocument ? { source: `${path} § ${heading}` } : {};
        return { heading, at, isShared: scope === "shared", ...source, text };
      });
    },
    async forget(title, isShared = false) {
      return await memory.knowledge.remove(await placeFor(call, isShared), title);
    },
  });
}
