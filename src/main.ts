/** Loads a command's code only if that command is called. Results are written to stdout, logs to stderr. */
import { enableCompileCache } from "node:module";
import { Command, Option } from "commander";
import { addDataCommands } from "./cli/program/data.ts";
import { addOperationsCommands } from "./cli/program/operations.ts";
import { hintFor } from "./cli/program/other-words.ts";
import { addPeopleCommands } from "./cli/program/people.ts";
import { addSkillCommands } from "./cli/program/skills.ts";
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
  const [, unknown = ""] = /unknown command '(.*)'/.exec(sentence) ?? [];
  const hint = unknown === process.argv[2] ? hintFor(unknown) : undefined;
  return `${sentence} ${hint === undefined ? suggestion || "(--help shows what there is)" : `(${hint})`}\n`;
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

addSkillCommands(program, root);
addPeopleCommands(program, root);
addDataCommands(program, root);
addOperationsCommands(program, root);

try {
  await program.parseAsync();
} catch (thrown) {
  if (!(thrown instanceof RemoraError)) throw thrown;
  process.stderr.write(`${thrown.message}\n`);
  // Ends the process even if connections are still open.
  process.exit(1);
}
