import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Whole processes take longest. Begun last, as small files are by default, the last of them would run alone. */
const longFolders = ["/test/e2e/chaos/", "/test/e2e/", "/test/tool-queue/"];

/** Too long for every run: `npm run chaos` runs it, with more seeds. */
const chaosOnly = ["test/e2e/draft-kills/random.test.ts"];

const filesIn = (folders: string) => folders.split(" ").map((folder) => `test/${folder}/**/*.test.ts`);

/** They start few processes. Their files share a worker, because importing the code takes longer than most of them do. */
const quick = [
  ...filesIn("access approvals audit chat-log commands config context engine files gate lib ports questions response"),
  ...filesIn("skill-runtime tracing turn-report"),
  "test/architecture.test.ts",
];

/** Their files share a worker, too, but take longer than `npm run test:quick` may. */
const shared = [
  ...filesIn("backup health platforms/discord platforms/slack providers retention service storage transcription"),
  ...filesIn("usage web"),
  // In one process with others, embeddings.test.ts fails.
  "test/memory/!(embeddings).test.ts",
];

// Every worker compiles the same packages again without it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/compiled");

const inOneWorker = { isolate: false, restoreMocks: true, unstubEnvs: true, unstubGlobals: true };

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longFolders.findIndex((folder) => moduleId.includes(folder));
      return place < 0 ? longFolders.length : place;
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  // Tests run modules of the page without its server, which serves this file under this path.
  resolve: { alias: { "/local/vendor/diff-lines.js": join(import.meta.dirname, "src/lib/diff-lines.js") } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...{ name: "quick", include: quick },
          ...inOneWorker,
        },
      },
      {
        extends: true,
        test: {
          ...{ name: "shared", include: shared },
          ...inOneWorker,
        },
      },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: [...quick, ...shared, ...(process.env.CHAOS_SEEDS === undefined ? chaosOnly : [])],
        },
      },
    ],
    // For busy machines: whole processes and browsers are started.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Most of the long ones wait: for processes, locks, clocks of services.
    maxWorkers: 4,
    sequence: { sequencer: LongFirst },
    // Somebody's own tokens in a checkout's .env must never reach a test.
    env: { REMORA_ENV_FILE: "/dev/null" },
    setupFiles: ["test/patience.ts"],
  },
});
