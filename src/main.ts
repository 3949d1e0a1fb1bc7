/** Loads a command's code only if that command is called. Results are written to stdout, logs to stderr. */
import { enableCompileCache } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, Option } from "commander";
import { RemoraError } from "./lib/errors.ts";

enableCompileCache();
const root = dirname(dirname(fileURLToPath(import.meta.url)));

const program = new Command("remora")
  .description("A self-hosted agent that asks before anything risky, loses nothing, and shows why.")
  .showHelpAfterError();

program
  .command("start")
  .description("start the agent with its platforms and its page")
  .addOption(
    new Option("--role <role>", "with Redis: receive messages, work on them, or both")
      .choices(["all", "platforms", "worker"])
      .default("all"),
  )
  .action(async (options) => {
    const { takeEnvironment } = await import("./cli/environment.ts");
    await (await import("./cli/start.ts")).start(takeEnvironment(), root, options);
  });

const skills = program.command("skills").description("list, check, create and add skills");
skills
  .command("check")
  .argument("[folders...]", "skills folders; default: the configured ones")
  .option("--json", "print one JSON array instead of text")
  .description("check every SKILL.md, and run its gate_tests")
  .action(async (folders: string[], options) =>
    (await import("./cli/skills.ts")).checkSkillsCommand(process.env, root, folders, options),
  );

skills
  .command("list")
  .option("--conversation <id>", "show which skills this conversation or channel may use")
  .option("--json", "print one JSON array instead of text")
  .description("list the loaded skills with their tools, patterns and files")
  .action(async (options) => (await import("./cli/skills-list.ts")).listSkillsCommand(process.env, root, options));
skills
  .command("new")
  .argument("<name>", "lower-case letters, digits and single hyphens")
  .description("create a working example in the workspace, with a plugin, patterns and tests")
  .action(async (name: string) => (await import("./cli/skills-new.ts")).newSkillCommand(process.env, root, name));
skills
  .command("add")
  .argument("<source>", "a folder, or the address of a git repository (https, ssh or file)")
  .option("--skill <names...>", "add these skills of the source")
  .option("--all", "add all skills of the source")
  .option("--yes", "do not ask; refused for a skill with declarations that a person must read")
  .option("--force", "replace a skill of the same name; keeps a backup of one in the workspace")
  .description("show what skills may do, then copy them into the workspace; runs none of their code")
  .action(async (source: string, options) =>
    (await import("./cli/skills-add.ts")).addSkillsCommand(process.env, root, source, options),
  );

const gate = program.command("gate").description("the safety gate");
gate
  .command("test")
  .option("--skills <folders...>", "skills folders whose patterns apply; default: the configured ones")
  .addOption(new Option("--matching <mode>", "how patterns are matched").choices(["exact", "extended"]))
  .option("--json", "print one JSON line per call instead of text")
  .description("classify calls: reads JSON lines {tool,args} from standard input, prints one line each")
  .action(async (options) => (await import("./cli/gate.ts")).gateTestCommand(process.env, root, options));

const approvals = program.command("approvals").description("list and answer approvals");
approvals
  .command("list")
  .option("--json", "print one JSON array of cards")
  .description("list open approvals in full, with their reasons and approvers")
  .action(async (options) => (await import("./cli/approvals.ts")).approvalsListCommand(process.env, root, options));
approvals
  .command("approve")
  .argument("<id>", "id of a card or an approval, or its first characters")
  .option("--json", "print one JSON object {accepted, text}")
  .description("as the operator, let the call run or keep the changes")
  .action(async (id: string, options) =>
    (await import("./cli/approvals.ts")).approvalsDecideCommand(process.env, root, "approve", id, options),
  );
approvals
  .command("deny")
  .argument("<id>", "id of a card or an approval, or its first characters")
  .option("--reason <text>", "reason for the model and for people")
  .option("--json", "print one JSON object {accepted, text}")
  .description("as the operator, refuse the call or discard the changes")
  .action(async (id: string, options) =>
    (await import("./cli/approvals.ts")).approvalsDecideCommand(process.env, root, "deny", id, options),
  );
approvals
  .command("why")
  .argument("<id>", "id of a card or an approval, or its first characters")
  .description("print the rules that ask, with their files and lines")
  .action(async (id: string) => (await import("./cli/approvals.ts")).approvalsWhyCommand(process.env, root, id));
approvals
  .command("diff")
  .argument("<id>", "id of a card about changes, or its first characters")
  .description("print the whole diff of a card")
  .action(async (id: string) => (await import("./cli/approvals.ts")).approvalsDiffCommand(process.env, root, id));

const audit = program.command("audit").description("verify and export the audit log");
audit
  .command("verify")
  .option("--json", "print one JSON object {chains, lines, problems, notes}")
  .description("find deleted, changed, moved or added lines; exit code 1 if there are any")
  .action(async (options) => (await import("./cli/audit.ts")).auditVerifyCommand(process.env, root, options));
audit
  .command("export")
  .option("--since <date>", "from this date or time on, such as 2026-01-31", "1970-01-01")
  .description("print the lines for other systems")
  .action(async (options) => (await import("./cli/audit.ts")).auditExportCommand(process.env, root, options));

const memory = program.command("memory").description("what the agent remembers");
memory
  .command("search")
  .argument("[query]", "words to search for")
  .option("--scope <scope>", "dm:<user>, channel:<id> or shared", "shared")
  .option("--limit <count>", "maximum number of results", "10")
  .option("--json", "print one JSON array of {path, heading, at, scope, score, text}")
  .option("--batch", "read JSON lines {query, scope, limit} from standard input, print one JSON array each")
  .description("search episodes and notes of one scope and the shared memory")
  .action(async (query: string | undefined, options) =>
    (await import("./cli/memory.ts")).memorySearchCommand(process.env, root, query, options),
  );
memory
  .command("status")
  .option("--json", "print one JSON object {passages, embeddings: {model, address, embedded, problem}}")
  .description("show how much is indexed, and how much of it can be found by meaning")
  .action(async (options) => (await import("./cli/memory-status.ts")).memoryStatusCommand(process.env, root, options));

program
  .command("explain")
  .argument("<turn>", "id of a turn, or its first characters")
  .description("show what the model saw in a turn, and why")
  .action(async (turn: string) => (await import("./cli/explain.ts")).explainCommand(process.env, root, turn));

program
  .command("doctor")
  .option("--json", "print one JSON object")
  .description("check the installation: settings, folders, skills, models, platforms, sandbox")
  .action(async (options) => (await import("./cli/doctor.ts")).doctorCommand(process.env, root, options));

try {
  await program.parseAsync();
} catch (thrown) {
  if (!(thrown instanceof RemoraError)) throw thrown;
  process.stderr.write(`${thrown.message}\n`);
  // Ends the process even if connections are still open.
  process.exit(1);
}
