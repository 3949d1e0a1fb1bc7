import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // For busy machines: whole processes and browsers are started.
    testTimeout: 40_000,
    hookTimeout: 60_000,
    // Most of the long ones wait: for processes, locks, clocks of services.
    maxWorkers: 3,
    setupFiles: ["test/patience.ts"],
    expect: { poll: { timeout: 15_000 } },
  },
});
