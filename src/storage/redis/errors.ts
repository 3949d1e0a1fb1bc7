/**
 * Explains Redis's errors and says what to do. The clients' errors contain the command with its arguments (messages,
 * passwords), so only their message is used, and they never become a `cause`.
 */
import { RemoraError } from "../../lib/errors.ts";

interface Meaning {
  code: string;
  what: string;
  isRetryable: boolean;
}

/** Explanations by the first word of an error. https://github.com/redis/redis/blob/7.0/src/server.c (shared objects) */
const meanings: Record<string, Meaning> = {
  OOM: {
    code: "storage.full",
    what: "has no memory left for writing. Raise its maxmemory, or use a larger machine. Nothing was written in part",
    isRetryable: true,
  },
  READONLY: {
    code: "storage.read-only",
    what: "is a read-only replica. Point REDIS_URL to the primary. During a failover, just wait",
    isRetryable: true,
  },
  MISCONF: {
    code: "storage.cannot-save",
    what: "can't save to its disk and so refuses writes. Check its log; usually the disk is full or its folder is not writable",
    isRetryable: true,
  },
  NOREPLICAS: {
    code: "storage.no-replicas",
    what: "has fewer replicas than its min-replicas-to-write requires, and so refuses writes. Restore the replicas",
    isRetryable: true,
  },
  LOADING: { code: "storage.loading", what: "is still loading its data. Try again", isRetryable: true },
  BUSY: { code: "storage.busy", what: "is busy with a long script. Try again", isRetryable: true },
  MOVED: {
    code: "storage.cluster",
    what: "is one node of a cluster. In REDIS_URL, write redis+cluster:// instead of redis://",
    isRetryable: false,
  },
  NOAUTH: refused(),
  WRONGPASS: refused(),
  NOPERM: {
    code: "storage.denied",
    what: "does not give this user enough rights. Allow all commands on the keys and channels that start with the prefix",
    isRetryable: false,
  },
};

const noDatabase: Meaning = {
  code: "storage.no-database",
  what: "has no database with that number. Correct the number at the end of REDIS_URL, or remove it",
  isRetryable: false,
};

function refused(): Meaning {
  return {
    code: "storage.denied",
    what: "refuses the user or password. Correct them in REDIS_URL",
    isRetryable: false,
  };
}

/** Errors that usually pass within seconds, so commands are retried after them. */
const passing = ["LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN"];

export function isAnswer(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === "ReplyError";
}

/** True if the command may be retried. It may or may not have run. False for bugs in our code or in the command. */
export function isWorthWaiting(thrown: unknown): boolean {
  const bugs = [RemoraError, TypeError, RangeError, ReferenceError, SyntaxError];
  if (bugs.some((bug) => thrown instanceof bug)) return false;
  return thrown instanceof Error && (!isAnswer(thrown) || passing.includes(firstWord(thrown)));
}

export function isRefusal(thrown: unknown): boolean {
  return isNoDatabase(thrown) || (isAnswer(thrown) && ["NOAUTH", "WRONGPASS", "NOPERM"].includes(firstWord(thrown)));
}

/** True if the address names a missing database. The client is then connected to database 0. */
export function isNoDatabase(thrown: unknown): boolean {
  return isAnswer(thrown) && thrown.message.includes("DB index is out of range");
}

export function isReadOnly(thrown: unknown): boolean {
  return isAnswer(thrown) && firstWord(thrown) === "READONLY";
}

/** Turns Redis's error into a RemoraError. Returns everything else unchanged. */
export function asRedisError(thrown: unknown, place: string): unknown {
  if (!isAnswer(thrown)) return thrown;
  if (firstWord(thrown) === "LAYOUT") return otherLayout(thrown, place);
  const meaning = isNoDatabase(thrown) ? noDatabase : meanings[firstWord(thrown)];
  const { code, what, isRetryable } = meaning ?? {
    code: "storage.failed",
    what: "refused a command. This is a bug in Remora, or the server is not Redis",
    isRetryable: passing.includes(firstWord(thrown)),
  };
  return new RemoraError({ code, place, message: `${what} (${thrown.message}).`, isRetryable });
}

/** Explains our scripts' error `LAYOUT found known`: the version found, and the version that this program supports. */
function otherLayout({ message }: Error, place: string): RemoraError {
  const [, found = "unknown", known = "unknown"] = /LAYOUT (\S+) (\S+)/.exec(message) ?? [];
  return new RemoraError({
    code: "storage.newer",
    place,
    message:
      `has schema version ${found}, but this Remora knows only versions up to ${known}. Nothing was changed. ` +
      "Start the newer Remora that wrote it, or give this one its own Redis database.",
  });
}

export function unreachable(place: string, waitMs: number, detail: string): RemoraError {
  return new RemoraError({
    code: "storage.unreachable",
    place,
    message:
      `gave no answer for ${Math.round(waitMs / 100) / 10} s${detail === "" ? "" : ` (${detail})`}. Check that Redis is running and that REDIS_URL ` +
      "reaches it from here. Commands in progress may or may not have run",
    isRetryable: true,
  });
}

/** Finds words such as `OOM`. Redis before 7 puts "ERR Error running script …: -" in front of errors in scripts. */
function firstWord(error: Error): string {
  const [, inScript, first = ""] =
    /^(?:ERR Error running script.*?-([A-Z]{3,})\b|([A-Z]{3,})\b)/.exec(error.message) ?? [];
  return inScript ?? first;
}
