/**
 * What goes wrong with Redis, in words that say what to do.
 *
 * The clients' errors carry the command with its arguments (messages, passwords), so they never become a `cause`: only
 * their text goes on.
 */
import { RemoraError } from "../../lib/errors.ts";

interface Meaning {
  code: string;
  what: string;
  isRetryable: boolean;
}

/** By the first word of an error answer. https://github.com/redis/redis/blob/7.0/src/server.c (shared objects) */
const meanings: Record<string, Meaning> = {
  OOM: {
    code: "storage.full",
    what: "has no memory left for writing. Raise its maxmemory, or give it a machine with more; nothing half-written was kept",
    isRetryable: true,
  },
  READONLY: {
    code: "storage.read-only",
    what: "is a replica and takes no writes. Point REDIS_URL to the primary; during a failover this passes",
    isRetryable: true,
  },
  MISCONF: {
    code: "storage.cannot-save",
    what: "can't save to its disk and so takes no writes. Look at its log; most often the disk is full or its folder is not writable",
    isRetryable: true,
  },
  NOREPLICAS: {
    code: "storage.no-replicas",
    what: "has fewer replicas than its min-replicas-to-write asks for, and so takes no writes. Bring the replicas back",
    isRetryable: true,
  },
  LOADING: { code: "storage.loading", what: "is still reading its data after a start. Try again", isRetryable: true },
  BUSY: { code: "storage.busy", what: "is busy with a long script. Try again", isRetryable: true },
  MOVED: {
    code: "storage.cluster",
    what: "is one node of a cluster. Write redis+cluster:// instead of redis:// in REDIS_URL",
    isRetryable: false,
  },
  NOAUTH: refused(),
  WRONGPASS: refused(),
  NOPERM: {
    code: "storage.denied",
    what: "does not allow this user what Remora needs. Give it all commands on the keys and channels that start with the prefix",
    isRetryable: false,
  },
};

const noDatabase: Meaning = {
  code: "storage.no-database",
  what: "has no database of that number. Correct the number at the end of REDIS_URL, or leave it out",
  isRetryable: false,
};

function refused(): Meaning {
  return {
    code: "storage.denied",
    what: "refuses the user or password. Correct them in REDIS_URL",
    isRetryable: false,
  };
}

/** Passes by itself within seconds, so a command waits for it like for a connection. */
const passing = ["LOADING", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN"];

/** Redis has answered with an error. */
export function isAnswer(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === "ReplyError";
}

/**
 * The command may or may not have happened, or could not happen yet, and trying again is right. Bugs are not: whatever
 * JavaScript itself throws, and what Redis answers about the command.
 */
export function isWorthWaiting(thrown: unknown): boolean {
  const bugs = [RemoraError, TypeError, RangeError, ReferenceError, SyntaxError];
  if (bugs.some((bug) => thrown instanceof bug)) return false;
  return thrown instanceof Error && (!isAnswer(thrown) || passing.includes(firstWord(thrown)));
}

/** Redis won't let us in, and waiting does not help. */
export function isRefusal(thrown: unknown): boolean {
  return isNoDatabase(thrown) || (isAnswer(thrown) && ["NOAUTH", "WRONGPASS", "NOPERM"].includes(firstWord(thrown)));
}

/** The address names a database that the server does not have. The client is connected all the same, to database 0. */
export function isNoDatabase(thrown: unknown): boolean {
  return isAnswer(thrown) && thrown.message.includes("DB index is out of range");
}

/** A write went to a replica. */
export function isReadOnly(thrown: unknown): boolean {
  return isAnswer(thrown) && firstWord(thrown) === "READONLY";
}

/** An error answer as a RemoraError; everything else as it is. */
export function asRedisError(thrown: unknown, place: string): unknown {
  if (!isAnswer(thrown)) return thrown;
  if (firstWord(thrown) === "LAYOUT") return otherLayout(thrown, place);
  const meaning = isNoDatabase(thrown) ? noDatabase : meanings[firstWord(thrown)];
  const { code, what, isRetryable } = meaning ?? {
    code: "storage.failed",
    what: "refused a command. This is a bug in Remora, or what answers is no Redis",
    isRetryable: passing.includes(firstWord(thrown)),
  };
  return new RemoraError({ code, place, message: `${what} (${thrown.message}).`, isRetryable });
}

/** Our scripts say `LAYOUT found known`. */
function otherLayout({ message }: Error, place: string): RemoraError {
  const [, found = "unknown", known = "unknown"] = /LAYOUT (\S+) (\S+)/.exec(message) ?? [];
  return new RemoraError({
    code: "storage.newer",
    place,
    message:
      `has schema version ${found}, and this Remora knows versions up to ${known}, so it was left untouched. ` +
      "Start the newer Remora that wrote it, or give this one a Redis database of its own.",
  });
}

/** Redis was away, or did not answer, for as long as a command waits. */
export function unreachable(place: string, waitMs: number, detail: string): RemoraError {
  return new RemoraError({
    code: "storage.unreachable",
    place,
    message:
      `gave no answer for ${Math.round(waitMs / 100) / 10} s${detail === "" ? "" : ` (${detail})`}. See that Redis runs and that REDIS_URL ` +
      "reaches it from here. What was under way may have happened or not",
    isRetryable: true,
  });
}

/** `OOM` of "OOM command not allowed …". Redis before 7 puts "ERR Error running script …: -" in front when it was in a script. */
function firstWord(error: Error): string {
  const [, inScript, first = ""] =
    /^(?:ERR Error running script.*?-([A-Z]{3,})\b|([A-Z]{3,})\b)/.exec(error.message) ?? [];
  return inScript ?? first;
}
