/** Binds an approval of a call to the files that the call can be seen to open, in the folder as the call would see it. */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { ifMissing } from "../../lib/errors.ts";
import { never } from "../../lib/never.ts";
import type { FileBinder } from "../../ports/bound-files.ts";
import type { Json } from "../../ports/message.ts";
import type { ToolCall, ToolSpec } from "../../ports/tool.ts";
import { type DraftLocks, draftLockName } from "../draft/draft-locks.ts";
import type { DraftStore } from "../draft/draft-store.ts";
import type { BoundQuery, BoundStore } from "./bound-files.ts";
import type { MergedFolders } from "./folder-listing.ts";

export interface FileBinderOptions {
  store: Pick<DraftStore, "active" | "paths">;
  locks: DraftLocks;
  boundStore: BoundStore;
  specOf(conversationId: string, tool: string): ToolSpec | undefined;
}

const maxNames = 100;
const maxNameCharacters = 4_096;

export function createFileBinder(options: FileBinderOptions): FileBinder {
  const { store, locks, boundStore, specOf } = options;

  async function inFolders<T>(
    { conversationId, folder }: { conversationId: string; folder: string },
    work: (folders: MergedFolders) => Promise<T>,
  ): Promise<T> {
    return await locks.use(draftLockName({ conversationId, folder }), "shared", never, async () => {
      const draft = await store.active(conversationId, folder);
      return await work({ base: folder, layer: draft && store.paths(draft.id).layer });
    });
  }

  return {
    async bind({ conversationId, workingFolder, call }) {
      const query = queryOf(specOf(conversationId, call.name), call);
      if (query === undefined) return undefined;
      const folder = await realpath(workingFolder).catch(ifMissing(resolve(workingFolder)));
      const place = { conversationId, folder };
      return await inFolders(place, (folders) => boundStore.bind(query, folders, conversationId));
    },
    changedSince: (bound) => inFolders(bound, (folders) => boundStore.changedSince(bound, folders, true)),
    difference: boundStore.difference,
  };
}

/** The texts of other tools are no files, but their arguments may be paths. Programs outside may read the folder as well. */
function queryOf(spec: ToolSpec | undefined, { input }: Pick<ToolCall, "input">): BoundQuery | undefined {
  if (spec === undefined) return undefined;
  if (spec.shellParameters.length > 0) {
    const commands = spec.shellParameters.flatMap((name) => commandOf(input[name]));
    return { commands, names: [] };
  }
  if (spec.folder === "none" && spec.offeredBy === undefined) return undefined;
  const names = stringsIn(input).filter((text) => text.length <= maxNameCharacters && !text.includes("\n"));
  return { commands: [], names: names.slice(0, maxNames) };
}

function commandOf(value: Json | undefined): string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? [value.filter((word) => typeof word === "string").join(" ")] : [];
}

function stringsIn(value: Json): string[] {
  const found: string[] = [];
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string") found.push(next);
    else if (typeof next === "object" && next !== null) open.push(...Object.values(next));
  }
  return found;
}
