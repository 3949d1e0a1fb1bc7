import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * Whole processes take longest. Begun last, as small files are by default, the last of them would run alone. A project's
 * files stay together, because a worker ends as soon as the next file is of another project.
 */
const longFolders = ["/test/e2e/chaos/", "/test/e2e/", "/test/tool-queue/"];
const projectsInOrder = ["apart", "shared"];

/** Too long for every run: `npm run chaos` runs it, with more seeds. */
const chaosOnly = ["test/e2e/draft-kills/random.test.ts"];

/** Each has a process of its own: it changes what the others of a process would see, or fails in one with others. */
const apart = ["test/memory/embeddings.test.ts", "test/proxy/clients.test.ts"];

// Tests ask whether it is set, and empty is not.
if (process.env.CHAOS_SEEDS === "") delete process.env.CHAOS_SEEDS;

// Every worker compiles the same packages again without it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/compiled");

/** Files share a worker, because importing the code takes longer than most of them do. */
const inOneWorker = { isolate: false, restoreMocks: true, unstubEnvs: true, unstubGlobals: true };

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ranks = ({ moduleId, project }: TestSpecification) => {
      const folder = longFolders.findIndex((name) => moduleId.includes(name));
      return [projectsInOrder.indexOf(project.name), folder < 0 ? longFolders.length : folder] as const;
    };
    return (await super.sort(files)).toSorted((one, other) => {
      const [[project, folder], [otherProject, otherFolder]] = [ranks(one), ranks(other)];
      return project - otherProject || folder - otherFolder;
    });
  }
}

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...{ name: "shared", include: ["test/**/*.test.ts"] },
          exclude: [...apart, ...(process.env.CHAOS_SEEDS === undefined ? chaosOnly : [])],
          ...inOneWorker,
        },
      },
      {
        extends: true,
        test: { name: "apart", include: apart },
      },
    ],
    // For busy machines: whole processes and browsers are started.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Most of the long ones wait: for processes, locks, clocks of services.
    maxWorkers: 5,
    sequence: { sequencer: LongFirst },
    // Somebody's own tokens in a checkout's .env must never reach a test.
    env: { REMORA_ENV_FILE: "/dev/null" },
    setupFiles: ["test/patience.ts"],
    // Node loads the code as it does for people. Vite would transform 1,300 modules first, and each call of an import costs more.
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
