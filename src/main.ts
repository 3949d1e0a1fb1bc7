/** Loads a command's code only if that command is called. Results are written to stdout, logs to stderr. */
import { enableCompileCache } from "node:module";
import { Argument, Command, Option } from "commander";
import { installedVersion } from "./cli/version.ts";
import { workingFolder } from "./cli/working-folder.mjs";
import { RemoraError } from "./lib/errors.ts";

enableCompileCache();
const root = workingFolder();

const program = new Command("remora")
  .description("A self-hosted agent that asks before anything risky, loses nothing, and shows why.")
  .version(installedVersion, "-V, --version", "print the version")
  // remora.mjs takes it before this runs.
  .option("--env-file <file>", "read settings and secrets from this file instead of .env")
  .configureOutput({ outputError: (text, write) => write(oneLineError(text)) });

/** Commander's error and its suggestion on one line, with the command whose help says more. */
function oneLineError(text: string): string {
  const [sentence = "", suggestion = ""] = text.trim().split("\n");
  return `${sentence} ${suggestion || "(--help shows what there is)"}\n`;
}

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

program
  .command("init")
  .description("set up the model, Slack and Discord, and start; run it again to go on or to change something")
  .addOption(new Option("--provider <name>", "who answers").choices(["anthropic", "openai", "ollama", "compatible"]))
  .option("--model <name>", "the model's name; default: a good one of the provider")
  .option("--model-url <url>", "the address of a compatible server or of Ollama")
  .option("--model-key-file <path>", "a file with the model's key")
  .option("--slack-bot-token-file <path>", "a file with Slack's bot token (xoxb-…)")
  .option("--slack-app-token-file <path>", "a file with Slack's app token (xapp-…)")
  .option("--discord-token-file <path>", "a file with Discord's bot token")
  .option(
    "--approver <ids...>",
    "who can approve: user:slack:U…, user:discord:…, requester, or first (who mentions it)",
  )
  .option("--workspace <folder>", "the folder for memory, files and skills")
  .option("--skills-folder <folders...>", "more folders with skills")
  .option("--port <port>", "the port of the page and the dashboard")
  .option("--yes", "ask nothing: use flags, what is already set, and defaults")
  .option("--no-start", "only write the settings")
  .action(async (options) => (await import("./cli/init.ts")).initCommand(process.env, root, options));

const skills = program.command("skills").description("list, check, create, add, update and remove skills");
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
  .argument("[name]", "lower-case letters, digits and single hyphens; asked on a terminal")
  .option("--description <text>", "what it does, and when to use it")
  .option("--triggers <words...>", "words that call for it")
  .option("--instructions <text>", "what the model should do; without it, the skill has a skeleton to fill in")
  .option("--tool", "create a working example with code instead")
  .description("create a skill in the workspace; on a terminal, asks what it should do, and lets the model write it")
  .action(async (name: string | undefined, options) =>
    (await import("./cli/skills-new.ts")).newSkillCommand(process.env, root, name, options),
  );
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
skills
  .command("update")
  .argument("[names...]", "skills that were added with skills add; default: all of them")
  .option("--yes", "do not ask; refused if a new version may do more than the old one")
  .description("fetch skills again from where they came from, and show what differs before replacing them")
  .action(async (names: string[], options) =>
    (await import("./cli/skills-update.ts")).updateSkillsCommand(process.env, root, names, options),
  );
skills
  .command("remove")
  .argument("<name>", "a skill in the workspace")
  .option("--yes", "do not ask")
  .description("take a skill out of the workspace; keeps a backup")
  .action(async (name: string, options) =>
    (await import("./cli/skills-remove.ts")).removeSkillCommand(process.env, root, name, options),
  );
for (const [verb, isOn] of [
  ["enable", true],
  ["disable", false],
] as const)
  skills
    .command(verb)
    .argument("<name>", "a skill's name")
    .description(isOn ? "turn a skill on again" : "turn a skill off for everybody; its rules still apply")
    .action(async (name: string) =>
      (await import("./cli/skills-switch.ts")).switchSkillCommand(process.env, root, name, isOn),
    );

const gate = program.command("gate").description("the safety gate");
gate
  .command("test")
  .argument("[command...]", "a shell command, in quotes; without it, JSON lines are read from standard input")
  .option("--tool <name>", "the tool that gets the command; default: shell_exec")
  .option("--skills <folders...>", "skills folders whose patterns apply; default: the configured ones")
  .addOption(new Option("--matching <mode>", "how patterns are matched").choices(["exact", "extended"]))
  .option("--json", "print one JSON line per call instead of text")
  .description("say what the gate decides about a command, or about calls as JSON lines {tool,args}")
  .action(async (words: string[], options) =>
    (await import("./cli/gate.ts")).gateTestCommand(process.env, root, words, options),
  );

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

const accounts = program.command("accounts").description("who can sign in to the dashboard with a password");
accounts
  .command("add")
  .argument("<name>", "lower-case letters, digits, dots, hyphens and underscores")
  .requiredOption("--role <role>", "viewer, approver or operator")
  .description("add an account; asks for its password, or reads it from standard input")
  .action(async (name: string, options) =>
    (await import("./cli/accounts.ts")).accountsAddCommand(process.env, root, name, options),
  );
accounts
  .command("list")
  .option("--json", "print one JSON array of {name, role, createdAt}")
  .description("list the local accounts")
  .action(async (options) => (await import("./cli/accounts.ts")).accountsListCommand(process.env, root, options));
accounts
  .command("remove")
  .argument("<name>", "name of an account")
  .description("remove an account, and end its sessions")
  .action(async (name: string) => (await import("./cli/accounts.ts")).accountsRemoveCommand(process.env, root, name));
accounts
  .command("role")
  .argument("<name>", "name of an account")
  .argument("<role>", "viewer, approver or operator")
  .description("change what an account may do, at once")
  .action(async (name: string, role: string) =>
    (await import("./cli/accounts.ts")).accountsRoleCommand(process.env, root, name, role),
  );
accounts
  .command("password")
  .argument("<name>", "name of an account")
  .description("change the password, and end the account's sessions")
  .action(async (name: string) => (await import("./cli/accounts.ts")).accountsPasswordCommand(process.env, root, name));
accounts
  .command("sign-out")
  .argument("<identity>", "an account's name, or an identity such as slack:U0123")
  .description("end all sessions of a person")
  .action(async (identity: string) =>
    (await import("./cli/accounts.ts")).accountsSignOutCommand(process.env, root, identity),
  );

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

program
  .command("prune")
  .option("--dry-run", "only say what would be removed")
  .option("--json", "print one JSON array of {name, days, items, bytes}")
  .description(
    "remove old histories, task files, outputs, snapshots and unused working folders, as the agent does daily",
  )
  .action(async (options) => (await import("./cli/prune.ts")).pruneCommand(process.env, root, options));

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
    (await import("./cli/memory.ts")).memorySearchCommand(process.env, root, query, options),
  );
memory
  .command("status")
  .option("--json", "print one JSON object {passages, embeddings: {model, address, embedded, problem}}")
  .description("show how much is indexed, and how much of it can be found by meaning")
  .action(async (options) => (await import("./cli/memory-status.ts")).memoryStatusCommand(process.env, root, options));

const config = program
  .command("config")
  .option("--changed", "only what differs from the defaults")
  .option("--json", "print one JSON array of {key, value, source, place, isDefault}")
  .description("print every setting in force, and where it comes from; never the values of secrets")
  .action(async (options) => (await import("./cli/config.ts")).configCommand(process.env, root, options));
config
  .command("get")
  .argument("<key>", "a setting, such as safety.quorum, or a group, such as safety")
  .option("--json", "print one JSON array of {key, value, source, place, isDefault}")
  .description("print one setting, or one group of settings")
  .action(async (key: string, options) =>
    (await import("./cli/config.ts")).configGetCommand(process.env, root, key, options),
  );
config
  .command("check")
  .argument("[file]", "default: the file that the next start would read")
  .description("check a configuration file; prints one line per problem, exit code 1 if there are any")
  .action(async (file: string | undefined) =>
    (await import("./cli/config.ts")).configCheckCommand(process.env, root, file),
  );

const service = program.command("service").description("run Remora as a service of systemd or launchd");
service
  .command("install")
  .option("--system", "a service of the machine instead of this user's; needs root")
  .option("--run-as <user>", "with --system: whose rights it has; default: the owner of the working folder")
  .option("--yes", "do not ask")
  .description("show the service, ask, then start it now and with the machine; replaces an earlier one")
  .action(async (options) => (await import("./cli/service.ts")).serviceInstallCommand(process.env, root, options));
service
  .command("uninstall")
  .option("--system", "the machine's service instead of this user's")
  .option("--yes", "do not ask")
  .description("stop the service and remove it; keeps settings, data and workspace")
  .action(async (options) => (await import("./cli/service.ts")).serviceUninstallCommand(process.env, root, options));
service
  .command("status")
  .option("--system", "the machine's service instead of this user's")
  .description("show what the service manager knows")
  .action(async (options) =>
    (await import("./cli/service.ts")).serviceShowCommand(process.env, root, "status", [], options),
  );
service
  .command("logs")
  .argument("[args...]", "for journalctl, such as -f or -n 50")
  .option("--system", "the machine's service instead of this user's")
  .allowUnknownOption()
  .description("show the service's log")
  .action(async (args: string[], options) =>
    (await import("./cli/service.ts")).serviceShowCommand(process.env, root, "logs", args, options),
  );

program
  .command("completion")
  .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
  .description("print a completion script for a shell; its first lines say where it goes")
  .action(async (shell: "bash" | "zsh" | "fish") =>
    (await import("./cli/completion.ts")).completionCommand(shell, program),
  );

program
  .command("explain")
  .argument("<turn>", "id of a turn, or its first characters")
  .description("show what the model saw in a turn, and why")
  .action(async (turn: string) => (await import("./cli/explain.ts")).explainCommand(process.env, root, turn));

program
  .command("logs")
  .option("--turn <id>", "what happened in this turn, from the log and the event log; its first characters are enough")
  .option("--since <time>", "30m, 2h, 7d, or a date or time such as 2026-01-31T12:00:00Z")
  .addOption(new Option("--level <level>", "this level and above").choices(["debug", "info", "warn", "error"]))
  .option("--follow", "go on with new lines until Ctrl+C")
  .option("--json", "print JSON lines")
  .description("show the log of the last hour, or what happened in one turn")
  .action(async (options) => (await import("./cli/logs.ts")).logsCommand(process.env, root, options));

program
  .command("backup")
  .argument("<file>", "a file that does not exist yet, or a folder for a file with the date in its name")
  .option("--with-secrets", "include tokens, keys and the token of the page")
  .option("--json", "print one JSON object")
  .description("save databases, memory, files and settings to one file, also while the agent runs")
  .action(async (file: string, options) =>
    (await import("./cli/backup.ts")).backupCommand(process.env, root, file, options),
  );
program
  .command("restore")
  .argument("<file>", "a file that `remora backup` wrote")
  .option("--into <folder>", "restore into a new folder instead of this installation")
  .option("--replace", "keep the present content under another name, and restore over it")
  .option("--dry-run", "check the file, and change nothing")
  .description("put a backup back, all of it or nothing")
  .action(async (file: string, options) =>
    (await import("./cli/restore.ts")).restoreCommand(process.env, root, file, options),
  );
program
  .command("import")
  .argument("<from>", "openclaw, hermes or claude")
  .argument("<folder>", "such as ~/.openclaw, ~/.hermes, ~/.claude or a project")
  .option("--apply", "import what the preview shows")
  .option("--scope <scope>", "who can read imported notes: shared, dm:<user> or channel:<id>")
  .description("take over persona, memory and skills of another agent; without --apply only shows what would happen")
  .action(async (from: string, folder: string, options) =>
    (await import("./cli/import.ts")).importCommand(process.env, root, from, folder, options),
  );
program
  .command("upgrade")
  .option("--check", "only show what a newer version changes")
  .option("--yes", "do not ask")
  .option("--to <version>", "a tag or branch instead of the newest version")
  .option("--back", "put code and data back as they were before the last upgrade")
  .description("show what is new, back up, install it, restart the service and check it; goes back if a step fails")
  .action(async (options) => (await import("./cli/upgrade.ts")).upgradeCommand(process.env, root, options));

program
  .command("doctor")
  .option("--json", "print one JSON object {isHealthy, checks, repaired}")
  .option("--fix", "repair what can be repaired, after asking")
  .option("--yes", "with --fix: do not ask")
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
