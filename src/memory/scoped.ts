/**
 * Memory as one tool call may use it: notes of its conversation's scope, and a search that sees that scope and `shared`.
 * Shared notes are read in every conversation, so that only owners may write or remove them.
 */
import { RemoraError } from "../lib/errors.ts";
import type { MemoryScope } from "../ports/message.ts";
import { type Origin, originOfPerson, viaStore } from "../ports/origin.ts";
import type { PluginMemory } from "../ports/plugin.ts";
import type { ToolScope } from "../ports/tool.ts";
import type { OwnedMemory } from "./memory.ts";

/** `onRead` hears where the notes come from that a call is given. */
export type ScopedMemory = (call: ToolScope, onRead: (origins: readonly Origin[]) => void) => PluginMemory;

/** `mayShare` is asked anew for every change of a shared note. */
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
        "shared notes are read in every conversation, so only the people in safety.owners of the configuration may change them. Keep the note for this place instead",
    });
  }

  return (call, onRead) => ({
    async remember(title, text, isShared = false) {
      const scope = await placeFor(call, isShared);
      const before = await memory.knowledge.readMarked(scope, title);
      onRead(viaStore(before?.origins ?? [], "recalled memory"));
      // Nobody else reads the notes of a direct message, and a shared note is an owner's word for everybody.
      const asker = scope.startsWith("channel:") ? [originOfPerson(call.requester)] : [];
      await memory.knowledge.write(scope, title, text, [...asker, ...(call.untrusted ?? [])]);
      return before?.text;
    },
    async recall(query, limit) {
      const hits = await memory.search({ query, scopes: [call.scope, "shared"], limit });
      onRead(hits.flatMap(({ origins }) => viaStore(origins, "recalled memory")));
      return hits.map(({ heading, at, scope, text }) => ({ heading, at, isShared: scope === "shared", text }));
    },
    async forget(title, isShared = false) {
      return await memory.knowledge.remove(await placeFor(call, isShared), title);
    },
  });
}
