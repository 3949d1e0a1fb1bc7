/** The agent's memory: Markdown for people, and a search index that follows all edits on disk, including people's. */
import { join, relative, sep } from "node:path";
import { createFileOrder, removeLeftovers } from "../lib/file-order.ts";
import type { Log } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";
import type { Thread } from "../lib/worker-thread.ts";
import type { WithLock } from "../ports/cluster.ts";
import type { Events } from "../ports/events.ts";
import type { Memory } from "../ports/memory.ts";
import type { MemoryScope } from "../ports/message.ts";
import { type Consolidation, consolidate } from "./consolidate.ts";
import { createDayFiles } from "./day-files.ts";
import { createDocuments, type DocumentsReport, type ReadPages } from "./documents.ts";
import { createEpisodeWriter } from "./episodes.ts";
import { createFeedbackWriter } from "./feedback.ts";
import { createKnowledge, type Knowledge } from "./knowledge.ts";
import { createMemoryDesk, type MemoryDesk } from "./memory-desk.ts";
import { type ExportedFile, exportMemory, type Forgotten, forgetMemory, type MemoryOwner } from "./ownership.ts";
import { branches } from "./places.ts";
import { type RecentEntry, readRecentEntries } from "./recent-entries.ts";
import { createSearch, type EmbeddingOptions, type EmbeddingStatus } from "./search.ts";

export interface MemoryOptions {
  workspace: string;
  /** The search index. It may be deleted at any time. `:memory:` keeps the index in memory only. */
  indexFile: string;
  events: Events;
  log: Log;
  redact: Redact;
  /** Days after which episodes and feedback are removed. If absent or null, only people remove them. */
  retentionDays?: number | null;
  /** If absent, search uses words only. */
  embeddings?: EmbeddingOptions;
  /** Locks out other processes while a file is rewritten. Absent if there is only one process. */
  withLock?: WithLock;
  /** Reads documents that have pages, such as PDF files. */
  readPages?: ReadPages;
  /** Runs the search. */
  thread: Thread;
  now?: () => number;
}

export interface OwnedMemory extends Memory {
  /** For the operator. What is deleted is no longer in the search index when it resolves. */
  desk: MemoryDesk;
  knowledge: Knowledge;
  /** Removes everything of a scope, or of a person, from files and index. Other people's entries are kept. */
  forget(owner: MemoryOwner): Promise<Forgotten>;
  /** Returns a scope's files, or the unchanged parts of files that contain a person's words and decisions. */
  exportAll(owner: MemoryOwner): Promise<ExportedFile[]>;
  consolidate(): Promise<Consolidation>;
  warmUp(): Promise<void>;
  /** Removes the temporary files, which hold text, that a kill during a write or a deletion left. */
  removeLeftovers(): Promise<void>;
  /** Updates the index of the documents in `knowledge/`. Never rejects. */
  refreshDocuments(): Promise<DocumentsReport>;
  newest(scope: MemoryScope, limit: number): Promise<RecentEntry[]>;
  /** Counts episodes and notes. */
  count(scopes: MemoryScope[]): Promise<number>;
  /** Counts the passages of all scopes. */
  countAll(): Promise<number>;
  /** Undefined if embeddings are off. */
  embeddings(): Promise<EmbeddingStatus | undefined>;
}

export function createMemory(options: MemoryOptions): OwnedMemory {
  const { workspace, events, log, redact, retentionDays = null, now = Date.now, withLock } = options;
  const inOrder = createFileOrder(workspace, withLock);
  const writtenFolders = Object.values(branches).map((branch) => join(workspace, branch));
  const days = createDayFiles(workspace, inOrder);
  const episodes = createEpisodeWriter({ days, redact });
  const feedback = createFeedbackWriter({ days, redact });
  const { indexFile, embeddings, thread } = options;
  const search = createSearch({
    ...{ workspace, indexFile, thread, log, now },
    ...(embeddings === undefined ? {} : { embeddings }),
  });
  const documents = createDocuments({
    ...{ workspace, search, log },
    ...(options.readPages === undefined ? {} : { readPages: options.readPages }),
  });

  const desk = createMemoryDesk({ workspace, inOrder, redact });

  return {
    desk: {
      ...desk,
      async correct(path, entryHash, text) {
        const change = await desk.correct(path, entryHash, text);
        if (change.type === "done") search.follow([change.scope]);
        return change;
      },
      async remove(path, entryHash) {
        const change = await desk.remove(path, entryHash);
        if (change.type === "done") await search.purge();
        return change;
      },
    },
    knowledge: createKnowledge({ workspace, inOrder, redact }),
    search: (query) => search.find(query),
    count: (scopes) => search.count(scopes),
    countAll: () => search.countAll(),
    embeddings: () => search.embeddings(),
    warmUp: () => search.warmUp(),
    removeLeftovers: () => removeLeftovers(writtenFolders, inOrder),
    refreshDocuments: documents.refresh,
    stillKnown: (sources) => search.stillKnown(sources),
    digest: (scope) => search.digest(scope),
    async saveEpisode(episode) {
      const path = await episodes.save(episode);
      search.follow([episode.scope]);
      const { turnId, conversationId, users } = episode;
      const userId = users.at(-1)?.id ?? "";
      events.emit("memory.saved", {
        turnId,
        conversationId,
        userId,
        path: relative(workspace, path).replaceAll(sep, "/"),
      });
    },
    async changeEpisode(words) {
      if (await episodes.change(words)) await search.purge();
    },
    async recordFeedback(entry) {
      if (await feedback.record(entry))
        events.emit("feedback.recorded", { turnId: entry.turnId, tool: entry.tool, outcome: entry.outcome });
    },
    async forget(owner) {
      const forgotten = await forgetMemory({ workspace, inOrder }, owner);
      await search.purge();
      return forgotten;
    },
    newest: (scope, limit) => readRecentEntries(workspace, scope, limit),
    exportAll: (owner) => exportMemory(workspace, owner),
    async consolidate() {
      const done = await consolidate({ workspace, inOrder, retentionDays, log, now });
      if (done.removedFiles + done.removedEntries > 0) await search.purge();
      return done;
    },
    close() {
      documents.close();
      return search.close();
    },
  };
}
