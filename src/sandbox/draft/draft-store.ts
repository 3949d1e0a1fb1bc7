/**
 * Drafts in the ledger and on disk. Below the drafts' folder each draft has one of its own:
 *
 *   <id>/layer         what the draft changes, in the form that layers have
 *   <id>/joined/*.json one for each call that has joined it: its plan until it is applied, and its result
 *   <id>/scratch/*     what a call that runs writes; left behind by a process that died
 *   <id>/base.json     the state of every file it touches, as it was when the draft touched it first
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/atomic-write.ts";
import { codeOf } from "../../lib/errors.ts";
import type { DraftRecord } from "../../ports/draft.ts";
import type { Ledger, LedgerEntry } from "../../ports/ledger.ts";
import type { ToolAttempt } from "../../ports/tool.ts";
import type { MergePlan } from "../effects/merge-entry.ts";
import { discardLayer } from "../effects/remove-tree.ts";

/** Names one conversation's work on one folder; the ids of its drafts begin with it. */
export function placeOf({ conversationId, folder }: Pick<DraftRecord, "conversationId" | "folder">): string {
  return createHash("sha256").update(`${conversationId}\0${folder}`).digest("hex").slice(0, placeCharacters);
}

/** Of a draft whose folder is all that is known of it. */
export function placeOfId(id: string): string {
  return id.slice(0, placeCharacters);
}

const placeCharacters = 16;

/** A call that has joined a draft. The plan is there until every file of it is in the layer. */
export interface JoinedCall {
  attempt: ToolAttempt;
  plan?: MergePlan;
  /** With `plan`: the folder that the files are taken from. */
  from?: string;
  turnId: string;
  /** From `clockOf`, before the call's view was opened. */
  since: string;
  joinedAt: number;
}

export interface DraftPlaces {
  layer: string;
  scratch: string;
  base: string;
}

export interface DraftStore {
  /** The conversation's undecided draft of a folder. */
  active(conversationId: string, folder: string): Promise<DraftRecord | undefined>;
  /** Every undecided draft; of one conversation or of all. */
  listOpen(conversationId?: string): Promise<DraftRecord[]>;
  /** Not in the ledger before a call has joined it. */
  plan(draft: Omit<DraftRecord, "id" | "turnIds" | "createdAt" | "changedAt">): DraftRecord;
  places(id: string): DraftPlaces;
  isOpen(id: string): Promise<boolean>;
  joined(id: string, callKey: string): Promise<JoinedCall | undefined>;
  keepJoined(id: string, callKey: string, call: JoinedCall): Promise<void>;
  /** Calls whose plan may not be applied to the end. */
  unfinished(id: string): Promise<{ callKey: string; call: JoinedCall }[]>;
  /** Writes the record with what has changed; a decided draft is not changed any more and is returned as undefined. */
  touch(draft: DraftRecord, change: (draft: DraftRecord) => DraftRecord): Promise<DraftRecord | undefined>;
  end(id: string, state: "kept" | "discarded", change: (draft: DraftRecord) => DraftRecord): Promise<boolean>;
  /** Ended drafts that no turn but this one was told of, oldest first. */
  untold(conversationId: string, turnId: string): Promise<LedgerEntry<"draft">[]>;
  /** Removes what is on disk. */
  remove(id: string): Promise<void>;
}

export function createDraftStore(ledger: Ledger, folder: string): DraftStore {
  const homeOf = (id: string) => join(folder, id);
  const joinedFile = (id: string, callKey: string) => join(homeOf(id), "joined", `${callKey}.json`);

  async function listOpen(conversationId?: string): Promise<DraftRecord[]> {
    const group = conversationId === undefined ? {} : { group: conversationId };
    const entries = await ledger.list("draft", { states: ["open"], ...group });
    return entries.map(({ body }) => body);
  }

  async function joined(id: string, callKey: string): Promise<JoinedCall | undefined> {
    const text = await readFile(joinedFile(id, callKey), "utf8").catch(ignoreMissing);
    return text === undefined ? undefined : (JSON.parse(text) as JoinedCall);
  }

  return {
    listOpen,
    joined,
    active: async (conversationId, folder) => (await listOpen(conversationId)).find((draft) => draft.folder === folder),
    plan: (draft) => {
      const at = Date.now();
      return {
        ...draft,
        id: `${placeOf(draft)}${randomBytes(8).toString("hex")}`,
        turnIds: [],
        createdAt: at,
        changedAt: at,
      };
    },
    places: (id) => ({
      layer: join(homeOf(id), "layer"),
      scratch: join(homeOf(id), "scratch"),
      base: join(homeOf(id), "base.json"),
    }),
    isOpen: async (id) => (await ledger.get("draft", id))?.state === "open",
    async keepJoined(id, callKey, call) {
      await writeFileAtomic(joinedFile(id, callKey), JSON.stringify(call));
    },
    async unfinished(id) {
      const names = (await readdir(join(homeOf(id), "joined")).catch(ignoreMissing)) ?? [];
      const keys = names.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
      const calls = await Promise.all(keys.map(async (callKey) => ({ callKey, call: await joined(id, callKey) })));
      const left = calls.flatMap(({ callKey, call }) => (call?.plan === undefined ? [] : [{ callKey, call }]));
      return left.sort((one, other) => one.call.joinedAt - other.call.joinedAt);
    },
    async touch(draft, change) {
      await mkdir(join(homeOf(draft.id), "layer"), { recursive: true });
      const body = change(draft);
      if (await ledger.create("draft", draft.id, { state: "open", body, group: draft.conversationId })) return body;
      return (await ledger.transition("draft", draft.id, ["open"], "open", change))?.body;
    },
    end: async (id, state, change) => (await ledger.transition("draft", id, ["open"], state, change)) !== undefined,
    async untold(conversationId, turnId) {
      const ended = await ledger.list("draft", { states: ["kept", "discarded"], group: conversationId });
      return ended.filter(({ body }) => body.ending !== undefined && (body.toldIn ?? turnId) === turnId);
    },
    remove: (id) => discardLayer(homeOf(id)),
  };
}

function ignoreMissing(thrown: unknown): undefined {
  if (codeOf(thrown) !== "ENOENT") throw thrown;
  return undefined;
}
