/**
 * Stores drafts in the ledger and on disk. Each draft has a folder:
 *
 *   <id>/layer         the draft's changes, as an overlay layer
 *   <id>/joined/*.json one file for each merged call: its result, and its plan until the plan is applied
 *   <id>/scratch/*     the writes of running calls, and of calls that a crash interrupted
 *   <id>/base.json     the real files as they were when the draft first touched them
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { ifMissing } from "../../lib/errors.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import type { ToolAttempt } from "../../ports/tool.ts";
import type { MergePlan } from "../effects/merge-entry.ts";
import { discardLayer } from "../effects/remove-tree.ts";

/** Identifies a conversation and a folder. The ids of their drafts begin with this key. */
export function draftKey({ conversationId, folder }: Pick<DraftRecord, "conversationId" | "folder">): string {
  return createHash("sha256").update(`${conversationId}\0${folder}`).digest("hex").slice(0, keyCharacters);
}

export function draftKeyFromId(id: string): string {
  return id.slice(0, keyCharacters);
}

const keyCharacters = 16;

/** Ids may contain characters that are not allowed in file names. */
export function callKeyOf(turnId: string, callId: string): string {
  return encodeURIComponent(`${turnId}-${callId}`).replace(/^\.+/, "_");
}

/** A draft that nobody decides about is discarded then. */
export const maxUndecidedMs = 24 * 60 * 60 * 1_000;

export interface MergedCall {
  attempt: ToolAttempt;
  /** `plan`, and `from` with its files, are present until every file is in the draft's layer. */
  plan?: MergePlan;
  from?: string;
  turnId: string;
  /** The `fileSystemTime` before the call's view was opened. */
  since: string;
  joinedAt: number;
}

export interface DraftPaths {
  layer: string;
  scratch: string;
  base: string;
}

export interface DraftStore {
  active(conversationId: string, folder: string): Promise<DraftRecord | undefined>;
  listOpen(conversationId?: string): Promise<DraftRecord[]>;
  /** Creates a record, which enters the ledger when the first call is merged. */
  plan(draft: Omit<DraftRecord, "id" | "turnIds" | "createdAt" | "changedAt">): DraftRecord;
  paths(id: string): DraftPaths;
  isOpen(id: string): Promise<boolean>;
  mergedCall(id: string, callKey: string): Promise<MergedCall | undefined>;
  saveMergedCall(id: string, callKey: string, call: MergedCall): Promise<void>;
  unfinished(id: string): Promise<{ callKey: string; call: MergedCall }[]>;
  /** Creates or changes the record, unless the draft was already kept or discarded. */
  update(draft: DraftRecord, change: (draft: DraftRecord) => DraftRecord): Promise<DraftRecord | undefined>;
  end(id: string, state: "kept" | "discarded", change: (draft: DraftRecord) => DraftRecord): Promise<boolean>;
  /** Lists kept or discarded drafts whose outcome no other turn has reported, oldest first. */
  untold(conversationId: string, turnId: string): Promise<LedgerEntry<"draft">[]>;
  remove(id: string): Promise<void>;
}

export function createDraftStore(ledger: Ledger, folder: string): DraftStore {
  const draftFolder = (id: string) => join(folder, id);
  const callFile = (id: string, callKey: string) => join(draftFolder(id), "joined", `${callKey}.json`);

  async function listOpen(conversationId?: string): Promise<DraftRecord[]> {
    const group = conversationId === undefined ? {} : { group: conversationId };
    const entries = await ledger.list("draft", { states: ["open"], ...group });
    return entries.map(({ body }) => body);
  }

  async function mergedCall(id: string, callKey: string): Promise<MergedCall | undefined> {
    const text = await readFile(callFile(id, callKey), "utf8").catch(ifMissing(undefined));
    return text === undefined ? undefined : (JSON.parse(text) as MergedCall);
  }

  return {
    listOpen,
    mergedCall,
    active: async (conversationId, folder) => (await listOpen(conversationId)).find((draft) => draft.folder === folder),
    plan: (draft) => {
      const at = Date.now();
      return {
        ...draft,
        id: `${draftKey(draft)}${randomBytes(8).toString("hex")}`,
        turnIds: [],
        createdAt: at,
        changedAt: at,
      };
    },
    paths: (id) => ({
      layer: join(draftFolder(id), "layer"),
      scratch: join(draftFolder(id), "scratch"),
      base: join(draftFolder(id), "base.json"),
    }),
    isOpen: async (id) => (await ledger.get("draft", id))?.state === "open",
    async saveMergedCall(id, callKey, call) {
      await writeFileAtomic(callFile(id, callKey), JSON.stringify(call));
    },
    async unfinished(id) {
      const names = (await readdir(join(draftFolder(id), "joined")).catch(ifMissing(undefined))) ?? [];
      const keys = names.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
      const calls = await Promise.all(keys.map(async (callKey) => ({ callKey, call: await mergedCall(id, callKey) })));
      const left = calls.flatMap(({ callKey, call }) => (call?.plan === undefined ? [] : [{ callKey, call }]));
      return left.sort((one, other) => one.call.joinedAt - other.call.joinedAt);
    },
    async update(draft, change) {
      await mkdir(join(draftFolder(draft.id), "layer"), { recursive: true });
      const body = change(draft);
      if (await ledger.create("draft", draft.id, { state: "open", body, group: draft.conversationId })) return body;
      return (await ledger.transition("draft", draft.id, ["open"], "open", change))?.body;
    },
    end: async (id, state, change) => (await ledger.transition("draft", id, ["open"], state, change)) !== undefined,
    async untold(conversationId, turnId) {
      const ended = await ledger.list("draft", { states: ["kept", "discarded"], group: conversationId });
      return ended.filter(({ body }) => body.ending !== undefined && (body.toldIn ?? turnId) === turnId);
    },
    remove: (id) => discardLayer(draftFolder(id)),
  };
}
