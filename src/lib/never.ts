/** A signal that never aborts, for work that must run to its end. */
export const never = new AbortController().signal;
