/** Downloads one file, within its limits. A broken connection is tried again once; a refusal or a limit is final. */
import { pause } from "../lib/backoff.ts";
import { codeOf, messageOf, RemoraError } from "../lib/errors.ts";
import { formatBytes } from "../lib/text/format-bytes.ts";
import { explainFileProblem } from "../lib/working-folder.ts";
import type { InboxFile, WrittenFile } from "./folder-inbox.ts";
import { saveStream } from "./save-stream.ts";

export interface Download {
  file: InboxFile;
  index: number;
  /** The announced size; 0 if it is unknown. */
  announcedBytes: number;
  maxBytes: number;
  maxMs: number;
  open(signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  onWritten(written: WrittenFile): Promise<void>;
}

export type DownloadOutcome = { type: "saved"; bytes: number } | { type: "failed"; problem: string };

/** The connection broke, so another attempt may succeed. */
class BrokenDownload extends Error {}
/** Another attempt would fail too. The message is a sentence for people. */
class RefusedDownload extends Error {}

const maxAttempts = 2;
const retryPauseMs = 500;
const maxRetryPauseMs = 30_000;

/** Rejects if the signal aborts, or if `onWritten` rejects. */
export async function download(request: Download, signal: AbortSignal): Promise<DownloadOutcome> {
  for (let attempt = 1; ; attempt++) {
    const limit = AbortSignal.timeout(request.maxMs);
    try {
      return { type: "saved", bytes: await attemptOnce(request, AbortSignal.any([signal, limit])) };
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof BrokenDownload && !limit.aborted && attempt < maxAttempts) {
        await pause(waitAfter(thrown), signal);
        signal.throwIfAborted();
        continue;
      }
      const problem = limit.aborted ? tooSlow(request.maxMs) : problemOf(thrown);
      if (problem === undefined) throw thrown;
      return { type: "failed", problem };
    }
  }
}

function attemptOnce(request: Download, signal: AbortSignal): Promise<number> {
  const { file, index, announcedBytes, maxBytes, open, onWritten } = request;
  const expected = announcedBytes > 0 ? announcedBytes : undefined;
  return saveStream({
    ...{ file, index, onWritten },
    stream: received(open, signal),
    checkSize(bytes, isEnd) {
      if (bytes > maxBytes) throw new RefusedDownload(tooLarge(bytes, maxBytes, isEnd));
      if (expected === undefined) return;
      if (bytes > expected || (isEnd && bytes < expected))
        throw new BrokenDownload(`${bytes} of ${expected} bytes arrived`);
    },
  });
}

async function* received(open: Download["open"], signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    signal.throwIfAborted();
    for await (const chunk of await open(signal)) {
      signal.throwIfAborted();
      yield chunk;
    }
  } catch (thrown) {
    if (thrown instanceof RemoraError && !thrown.isRetryable) throw new RefusedDownload(sentenceOf(thrown));
    throw new BrokenDownload(messageOf(thrown), { cause: thrown });
  }
}

function waitAfter({ cause }: BrokenDownload): number {
  const asked = cause instanceof RemoraError ? cause.retryAfterMs : undefined;
  return Math.min(asked ?? retryPauseMs, maxRetryPauseMs);
}

function problemOf(thrown: unknown): string | undefined {
  if (thrown instanceof RefusedDownload) return thrown.message;
  if (thrown instanceof BrokenDownload) {
    const { cause } = thrown;
    const why = cause instanceof RemoraError ? sentenceOf(cause) : thrown.message;
    return `The download failed twice (${why}). Send the file again.`;
  }
  if (thrown instanceof RemoraError) return thrown.code === "filesystem.path" ? cantSave(thrown.message) : undefined;
  const code = codeOf(thrown);
  if (code === "ENOSPC" || code === "EDQUOT") return "I couldn't save the file, because the disk is full.";
  if (code === "EACCES" || code === "EPERM" || code === "EROFS")
    return "I couldn't save the file, because I may not write to the working folder. An operator must change its permissions.";
  const why = code === undefined ? undefined : explainFileProblem(thrown, "inbox");
  return why === undefined ? undefined : cantSave(why);
}

function cantSave(why: string): string {
  return `I couldn't save the file: ${why}`;
}

function tooSlow(maxMs: number): string {
  return `The download took longer than ${maxMs / 1000} s. Send the file again, or a smaller one.`;
}

export function tooLarge(bytes: number, maxBytes: number, isSize = true): string {
  const size = isSize ? formatBytes(bytes) : `more than ${formatBytes(maxBytes)}`;
  return `The file has ${size}, and I read files of at most ${formatBytes(maxBytes)} (setting files.maxMegabytes). Send a smaller file, or the part that matters.`;
}

/** Strips the leading `[place]`, which is only for the log. */
function sentenceOf({ place, message }: RemoraError): string {
  const text = message.replace(`[${place}] `, "");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
