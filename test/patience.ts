/** Waiting for a condition ends when it holds, so patience costs nothing; a second is too little on a busy machine. */
import { vi } from "vitest";

const patienceMs = 30_000;
const { waitFor } = vi;

vi.waitFor = (callback, options) => {
  const given = typeof options === "number" ? { timeout: options } : options;
  return waitFor(callback, { timeout: patienceMs, ...given });
};
