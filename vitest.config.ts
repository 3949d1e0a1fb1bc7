import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Whole processes take longest, and wait most of the time. */
const longFolders = ["/test/e2e/chaos/", "/test/e2e/", "/test/tool-queue/"];
/** A project's files stay together, because a worker ends as soon as the next file is of another project. */
const projectsInOrder = ["apart", "shared"];

/** Too long for every run: `npm run chaos` runs it, with more seeds. */
const chaosOnly = ["test/e2e/draft-kills/random.test.ts"];

/** `npm run oracle` runs it. The shorter hostile commands are in every run. */
const oracleOnly = process.env.ORACLE_COMMANDS === undefined ? ["test/e2e/oracle/**"] : [];

/** Each has a process of its own: it changes what the others of a process would see, or fails in one with others. */
const apart = [
  "test/memory/embeddings.test.ts",
  // Moves its clock by days, and with it whatever earlier files of a process have left to wait.
  "test/platforms/slack/session-states.test.ts",
  "test/proxy/clients.test.ts",
];

// Tests ask whether it is set, and empty is not.
if (process.env.CHAOS_SEEDS === "") delete process.env.CHAOS_SEEDS;

// Every worker compiles the same packages again without it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/compiled");

/**
 * Workers wait often, and V8 would use each wait to go through all that their files have loaded. So it does that only once the
 * heap has doubled. A larger young generation saves copies, but costs more: each spawn copies the page tables of all memory.
 */
const garbageCollection = [
  ...["--no-memory-reducer", "--heap-growing-percent=100"],
  ...["--min-semi-space-size=16", "--max-semi-space-size=16"],
];

/** Files share a worker, because importing the code takes longer than most of them do. */
const inOneWorker = { isolate: false, restoreMocks: true, unstubEnvs: true, unstubGlobals: true };

/**
 * Begun last, as small files are by default, the last of the long ones would run alone. Begun together, all would wait
 * at the same time. So they alternate with the largest of the others.
 */
class LongEarly extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const folderOf = ({ moduleId }: TestSpecification) => longFolders.findIndex((name) => moduleId.includes(name));
    const sorted = await super.sort(files);
    const long = sorted.filter((file) => folderOf(file) >= 0).toSorted((one, other) => folderOf(one) - folderOf(other));
    const others = sorted.filter((file) => folderOf(file) < 0);
    const places = new Map([long, others].flatMap((group) => group.map((file, index) => [file, index] as const)));
    const projectOf = ({ project }: TestSpecification) => projectsInOrder.indexOf(project.name);
    return sorted.toSorted(
      (one, other) => projectOf(one) - projectOf(other) || (places.get(one) ?? 0) - (places.get(other) ?? 0),
    );
  }
}

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          ...{ name: "shared", include: ["test/**/*.test.ts"] },
          exclude: [...apart, ...oracleOnly, ...(process.env.CHAOS_SEEDS === undefined ? chaosOnly : [])],
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
    maxWorkers: 7,
    execArgv: garbageCollection,
    sequence: { sequencer: LongEarly },
    // Somebody's own tokens in a checkout's .env must never reach a test.
    env: { REMORA_ENV_FILE: "/dev/null" },
    setupFiles: ["test/patience.ts"],
    // Node loads the code as it does for people. Vite would transform 1,300 modules first, and each call of an import costs more.
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
