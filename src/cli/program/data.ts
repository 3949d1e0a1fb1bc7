/** The commands about memory, backups and everything else that is kept. Their code is loaded only if they are called. */
import type { Command } from "commander";

export function addDataCommands(program: Command, root: string): void {
  program
    .command("prune")
    .option("--dry-run", "only say what would be removed")
    .option("--json", "print one JSON array of {name, days, items, bytes}")
    .description(
      "remove old histories, task files, outputs, snapshots and unused working folders, as the agent does daily",
    )
    .action(async (options) => (await import("../prune.ts")).pruneCommand(process.env, root, options));

  const memory = program.command("memory").description("what the agent remembers");

  memory
    .command("search")
    .argument("[query]", "words to search for")
    .option("--scope <scope>", "dm:<user>, channel:<id>, shared, or all that there are", "all")
    .option("--limit <count>", "maximum number of results", "10")
    .option("--json", "print one JSON array of {path, heading, at, scope, score, text}")
    .option("--batch", "read JSON lines {query, scope, limit} from standard input, print one JSON array each")
    .description("search what it remembers, everywhere or in one scope and the shared memory")
    .action(async (query: string | undefined, options) =>
      (await import("../memory.ts")).memorySearchCommand(process.env, root, query, options),
    );

  memory
    .command("status")
    .option("--json", "print one JSON object {passages, embeddings: {model, address, embedded, problem}}")
    .description("show how much is indexed, and how much of it can be found by meaning")
    .action(async (options) => (await import("../memory-status.ts")).memoryStatusCommand(process.env, root, options));

  program
    .command("backup")
    .argument("<file>", "a file that does not exist yet, or a folder for a file with the date in its name")
    .option("--with-secrets", "include tokens, keys and the token of the page")
    .option("--json", "print one JSON object")
    .description("save databases, memory, files and settings to one file, also while the agent runs")
    .action(async (file: string, options) =>
      (await import("../backup.ts")).backupCommand(process.env, root, file, options),
    );

  program
    .command("restore")
    .argument("<file>", "a file that `remora backup` wrote")
    .option("--into <folder>", "restore into a new folder instead of this installation")
    .option("--replace", "keep the present content under another name, and restore over it")
    .option("--dry-run", "check the file, and change nothing")
    .description("put a backup back, all of it or nothing")
    .action(async (file: string, options) =>
      (await import("../restore.ts")).restoreCommand(process.env, root, file, options),
    );

  program
    .command("import")
    .argument("<from>", "openclaw, hermes or claude")
    .argument("<folder>", "such as ~/.openclaw, ~/.hermes, ~/.claude or a project")
    .option("--apply", "import what the preview shows")
    .option("--scope <scope>", "who can read imported notes: shared, dm:<user> or channel:<id>")
    .description("take over persona, memory and skills of another agent; without --apply only shows what would happen")
    .action(async (from: string, folder: string, options) =>
      (await import("../import.ts")).importCommand(process.env, root, from, folder, options),
    );
}
