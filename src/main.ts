/**
 * The command line. Each command's code is loaded only when it is called: `remora --help` reads nothing else, and
 * `start` is not slowed down by the others. Results go to standard output, logs to standard error.
 */
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
  .description("start the agent: its platforms, its page, and everything behind them")
  .addOption(
    new Option("--role <role>", "with Redis: take messages in, work on them, or both")
      .choices(["all", "platforms", "worker"])
      .default("all"),
  )
  .action(async (options) => {
    const { takeEnvironment } = await import("./cli/environment.ts");
    await (await import("./cli/start.ts")).start(takeEnvironment(), root, options);
  });

const skills = program.command("skills").description("look after skills");
skills
  .command("check")
  .argument("[folders...]", "folders of skills; default: those of the configuration")
  .option("--json", "one JSON array instead of text")
  .description("read every SKILL.md, report what is wrong with it, and run its gate_tests")
  .action(async (folders: string[], options) =>
    (await import("./cli/skills.ts")).checkSkillsCommand(process.env, root, folders, options),
  );

skills
  .command("list")
  .option("--conversation <id>", "as that conversation, or the channel it is in, may use them")
  .option("--json", "one JSON array instead of text")
  .description("the skills in force: tools, patterns, and where they are from")
  .action(async (options) => (await import("./cli/skills-list.ts")).listSkillsCommand(process.env, root, options));
skills
  .command("new")
  .argument("<name>", "small letters, digits and single hyphens")
  .description("make a working example in the workspace, with a plugin, patterns and their tests")
  .action(async (name: string) => (await import("./cli/skills-new.ts")).newSkillCommand(process.env, root, name));
skills
  .command("add")
  .argument("<source>", "a folder, or the address of a git repository (https, ssh or file)")
  .option("--skill <names...>", "of several skills in it, these")
  .option("--all", "of several skills in it, all of them")
  .option("--yes", "do not ask; refused for a skill that declares what a person has to see")
  .option("--force", "also in place of a skill of the same name; one in the workspace is kept as a backup")
  .description("copy skills into the workspace, after showing what they may do; runs none of their code")
  .action(async (source: string, options) =>
    (await import("./cli/skills-add.ts")).addSkillsCommand(process.env, root, source, options),
  );

const gate = program.command("gate").description("the safety gate");
gate
  .command("test")
  .option("--skills <folders...>", "folders of skills whose patterns apply; default: those of the configuration")
  .addOption(new Option("--matching <mode>", "how patterns are matched").choices(["exact", "extended"]))
  .option("--json", "one JSON line a call instead of text")
  .description("classify calls: JSON lines {tool,args} on standard input, one line each out, in the same order")
  .action(async (options) => (await import("./cli/gate.ts")).gateTestCommand(process.env, root, options));

const approvals = program.command("approvals").description("what waits for a person's answer");
approvals
  .command("list")
  .option("--json", "one JSON array of cards")
  .description("the calls and changes that wait, whole, with why they ask and who may answer")
  .action(async (options) => (await import("./cli/approvals.ts")).approvalsListCommand(process.env, root, options));
approvals
  .command("approve")
  .argument("<id>", "a card's or an approval's id, or its beginning")
  .option("--json", "one JSON object {accepted, text}")
  .description("let the call run, or keep the changes, as the operator")
  .action(async (id: string, options) =>
    (await import("./cli/approvals.ts")).approvalsDecideCommand(process.env, root, "approve", id, options),
  );
approvals
  .command("deny")
  .argument("<id>", "a card's or an approval's id, or its beginning")
  .option("--reason <text>", "why, for the model and the people")
  .option("--json", "one JSON object {accepted, text}")
  .description("refuse the call, or discard the changes, as the operator")
  .action(async (id: string, options) =>
    (await import("./cli/approvals.ts")).approvalsDecideCommand(process.env, root, "deny", id, options),
  );
approvals
  .command("diff")
  .argument("<id>", "the id of a card about changes, or its beginning")
  .description("print the whole diff of the changes that a card asks about")
  .action(async (id: string) => (await import("./cli/approvals.ts")).approvalsDiffCommand(process.env, root, id));

const audit = program.command("audit").description("the log of everything that had an effect");
audit
  .command("verify")
  .option("--json", "one JSON object {chains, lines, problems, notes}")
  .description("find lines that were deleted, changed, moved or added; exit code 1 when there are any")
  .action(async (options) => (await import("./cli/audit.ts")).auditVerifyCommand(process.env, root, options));
audit
  .command("export")
  .option("--since <date>", "from this day or time on, such as 2026-01-31", "1970-01-01")
  .description("print the lines, for other systems")
  .action(async (options) => (await import("./cli/audit.ts")).auditExportCommand(process.env, root, options));

const memory = program.command("memory").description("what the agent remembers");
memory
  .command("search")
  .argument("[query]", "what to look for")
  .option("--scope <scope>", "dm:<user>, channel:<id> or shared", "shared")
  .option("--limit <count>", "at most this many results", "10")
  .option("--json", "one JSON array of {path, heading, at, scope, score, text}")
  .option("--batch", "JSON lines {query, scope, limit} on standard input, one JSON array a line out")
  .description("search episodes and knowledge of one scope, and what is shared")
  .action(async (query: string | undefined, options) =>
    (await import("./cli/memory.ts")).memorySearchCommand(process.env, root, query, options),
  );

program
  .command("explain")
  .argument("<turn>", "a turn's id, or its beginning")
  .description("what the model was shown in a turn, and why")
  .action(async (turn: string) => (await import("./cli/explain.ts")).explainCommand(process.env, root, turn));

program
  .command("doctor")
  .option("--json", "one JSON object")
  .description("check the installation: settings, folders, skills, models, sandbox")
  .action(async (options) => (await import("./cli/doctor.ts")).doctorCommand(process.env, root, options));

try {
  await program.parseAsync();
} catch (thrown) {
  if (!(thrown instanceof RemoraError)) throw thrown;
  process.stderr.write(`${thrown.message}\n`);
  // What it had opened by then, such as connections, must not keep the process.
  process.exit(1);
}
