/**
 * Appends every event of this process to its own audit chain in `brain/corpus`. If a write fails, `record` rejects for
 * every waiting caller, and the next successful line counts the lost events.
 */
import { type FileHandle, rm } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pause } from "../lib/backoff.ts";
import { messageOf, RemoraError } from "../lib/errors.ts";
import { toIsoDate } from "../lib/iso-date.ts";
import { type LineFile, openLineFile } from "../lib/line-file.ts";
import type { Log } from "../lib/log.ts";
import type { Mask } from "../lib/redact.ts";
import type { Audit } from "../ports/audit.ts";
import type { Events } from "../ports/events.ts";
import { describeStart, startEvent } from "./chain-start.ts";
import { fileName } from "./files.ts";
import { openHeadFile, pruneHeads } from "./heads.ts";
import { type ChainHead, createChainId, formatLine, genesis, hashOfBytes } from "./line.ts";
import { describePruning, expiredFiles, pruneEvent } from "./prune.ts";

export interface AuditLogOptions {
  events: Events;
  folder: string;
  headsFolder: string;
  retentionDays: number;
  mask: Mask;
  log: Log;
  now?: () => number;
}

export interface AuditLog extends Audit {
  /** Resolves once every event recorded so far has been written or lost. */
  flush(): Promise<void>;
  prune(): Promise<void>;
  close(): Promise<void>;
}

interface WaitingLine {
  at: number;
  event: string;
  fields: object;
  settle?: (error: RemoraError | undefined) => void;
}

const recordedEvents: ReadonlySet<string> = new Set(["tool.called"]);
const dayMs = 86_400_000;
/** Lines that nobody waits for are collected for this long, because each write costs three calls to the disk. */
const collectMs = 20;

export function createAuditLog(options: AuditLogOptions): AuditLog {
  const { events, folder, mask, log, now = Date.now } = options;
  const chain = createChainId(now());
  let head: ChainHead = { sequence: 0, hash: genesis };
  let waiting: WaitingLine[] = [];
  let writing: Promise<void> | undefined;
  let awaited = new AbortController();
  let file: LineFile | undefined;
  let notes: FileHandle | undefined;
  let lostEvents = 0;
  let hasFailed = false;

  const stopListening = events.listen(({ name, at, fields }) => {
    if (!recordedEvents.has(name)) add({ at, event: name, fields });
  });

  function add(line: WaitingLine): void {
    waiting.push(line);
    writing ??= writeWaiting();
    if (line.settle !== undefined) awaited.abort();
  }

  async function whenWritten(): Promise<void> {
    while (writing !== undefined) {
      awaited.abort();
      await writing;
    }
  }

  async function writeWaiting(): Promise<void> {
    await pause(collectMs, awaited.signal);
    awaited = new AbortController();
    // Lines of one turn of the event loop share a write, even if somebody waits for them.
    await setImmediate();
    while (waiting.length > 0) {
      const lines = waiting;
      waiting = [];
      const error = await write(lines).then(
        () => undefined,
        (thrown: unknown) => writeError(thrown),
      );
      lostEvents = error === undefined ? 0 : lostEvents + lines.filter(({ settle }) => settle === undefined).length;
      if (error !== undefined && !hasFailed)
        log.error({ folder, error: error.message }, "the audit log can't be written");
      hasFailed = error !== undefined;
      for (const { settle } of lines) settle?.(error);
    }
    writing = undefined;
  }

  async function write(lines: WaitingLine[]): Promise<void> {
    const target = await fileFor(toIsoDate(now()));
    const first = head.sequence === 0 ? [{ at: now(), event: startEvent, fields: await describeStart(folder) }] : [];
    const lost = lostEvents === 0 ? [] : [{ at: now(), event: "audit.lost", fields: { lines: lostEvents } }];
    let next = head;
    let text = "";
    for (const { at, event, fields } of [...first, ...lost, ...lines]) {
      const place = { chain, sequence: next.sequence + 1, prev: next.hash, at: new Date(at).toISOString(), event };
      const line = formatLine(place, fields, mask);
      next = { sequence: place.sequence, hash: hashOfBytes(line) };
      text += `${line}\n`;
    }
    await target.append(
      text,
      lines.some(({ settle }) => settle !== undefined),
    );
    head = next;
    await saveHead();
  }

  /** Recreates the file if somebody removed it. The chain continues, and `verify` reports the gap. */
  async function fileFor(day: string): Promise<LineFile> {
    const name = fileName(day, chain);
    if (file?.name === name && (await file.isThere())) return file;
    await file?.close();
    file = undefined;
    file = await openLineFile(folder, name);
    return file;
  }

  /** Does not flush: after a crash, the saved head may be behind the audit file, but must never be ahead of it. */
  async function saveHead(): Promise<void> {
    try {
      notes ??= await openHeadFile(options.headsFolder, chain);
      // Overwrites all of the old text, because only the number changes length, and it only grows.
      await notes.write(`${JSON.stringify({ chain, ...head })}\n`, 0);
    } catch (thrown) {
      log.warn({ error: messageOf(thrown) }, "could not save the head of the audit chain");
    }
  }

  async function append(event: string, fields: object): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    add({ at: now(), event, fields, settle: (error) => (error === undefined ? resolve() : reject(error)) });
    await promise;
  }

  return {
    record: append,
    flush: whenWritten,
    async prune() {
      const keptFrom = now() - options.retentionDays * dayMs;
      await pruneHeads(options.headsFolder, chain, keptFrom - dayMs);
      const expired = await expiredFiles(folder, toIsoDate(keptFrom));
      const files = await describePruning(folder, expired);
      if (files.length === 0) return;
      await append(pruneEvent, { files });
      for (const { file: name } of files) await rm(join(folder, name), { force: true });
    },
    async close() {
      stopListening();
      await whenWritten();
      await file?.close();
      await notes?.close();
      file = undefined;
      notes = undefined;
    },
  };
}

function writeError(thrown: unknown): RemoraError {
  return new RemoraError({
    code: "audit.write",
    place: "audit log",
    message: `can't be written (${messageOf(thrown)}), so the action was not taken. Check the disk and the permissions of brain/corpus`,
    cause: thrown,
  });
}
