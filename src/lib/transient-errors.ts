import { RemoraError } from "./errors.ts";

/** Codes of system errors that may be temporary: network problems, or a busy machine. */
const transientCodes: ReadonlySet<string> = new Set([
  ...["ECONNRESET", "ECONNREFUSED", "ECONNABORTED", "ETIMEDOUT", "EPIPE", "EAI_AGAIN"],
  ...["ENETUNREACH", "ENETDOWN", "EHOSTUNREACH", "EHOSTDOWN", "EMFILE", "ENFILE", "EAGAIN", "EBUSY"],
  ...["UND_ERR_SOCKET", "UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"],
]);

export function isTransientCode(code: unknown): boolean {
  return typeof code === "string" && transientCodes.has(code);
}

/**
 * True for errors of the ledger, the store, leases and locks that pass: full, busy, loading, read-only during a
 * failover, unreachable. The work is kept and retried, so it has not failed.
 */
export function isTransientStorageError(thrown: unknown): boolean {
  return thrown instanceof RemoraError && thrown.isRetryable && /^(?:storage|coordination)\./.test(thrown.code);
}
