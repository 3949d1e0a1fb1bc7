/** Replaces the sandbox when `safety.sandbox` is `off`. */
import type { Sandbox } from "../ports/sandbox.ts";

export function createSwitchedOffSandbox(): Sandbox {
  const detail = "switched off by safety.sandbox: every command asks, and only owners may approve";
  return {
    probe: async () => ({ holds: false, layers: "overlay", detail }),
    fits: async () => false,
    open: () => Promise.reject(new Error("the sandbox is switched off")),
    close: async () => {},
  };
}
