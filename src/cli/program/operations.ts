/** The commands for running Remora: settings, service, logs, upgrades and checks. Their code is loaded only if they are called. */
import { Argument, type Command, Option } from "commander";

export function addOperationsCommands(program: Command, root: string): void {
  const config = program
    .command("config")
    .option("--changed", "only what differs from the defaults")
    .option("--json", "print one JSON array of {key, value, source, place, isDefault}")
    .description("print every setting in force, and where it comes from; never the values of secrets")
    .action(async (options) => (await import("../config.ts")).configCommand(process.env, root, options));

  config
    .command("get")
    .argument("<key>", "a setting, such as safety.quorum, or a group, such as safety")
    .option("--json", "print one JSON array of {key, value, source, place, isDefault}")
    .description("print one setting, or one group of settings")
    .action(async (key: string, options) =>
      (await import("../config.ts")).configGetCommand(process.env, root, key, options),
    );

  config
    .command("check")
    .argument("[file]", "default: the file that the next start would read")
    .description("check a configuration file; prints one line per problem, exit code 1 if there are any")
    .action(async (file: string | undefined) =>
      (await import("../config.ts")).configCheckCommand(process.env, root, file),
    );

  const service = program.command("service").description("run Remora as a service of systemd or launchd");

  service
    .command("install")
    .option("--system", "a service of the machine instead of this user's; needs root")
    .option("--run-as <user>", "with --system: whose rights it has; default: the owner of the working folder")
    .option("--yes", "do not ask")
    .description("show the service, ask, then start it now and with the machine; replaces an earlier one")
    .action(async (options) => (await import("../service.ts")).serviceInstallCommand(process.env, root, options));

  service
    .command("uninstall")
    .option("--system", "the machine's service instead of this user's")
    .option("--yes", "do not ask")
    .description("stop the service and remove it; keeps settings, data and workspace")
    .action(async (options) => (await import("../service.ts")).serviceUninstallCommand(process.env, root, options));

  service
    .command("status")
    .option("--system", "the machine's service instead of this user's")
    .description("show what the service manager knows")
    .action(async (options) =>
      (await import("../service.ts")).serviceShowCommand(process.env, root, "status", [], options),
    );

  service
    .command("logs")
    .argument("[args...]", "for journalctl, such as -f or -n 50")
    .option("--system", "the machine's service instead of this user's")
    .allowUnknownOption()
    .description("show the service's log")
    .action(async (args: string[], options) =>
      (await import("../service.ts")).serviceShowCommand(process.env, root, "logs", args, options),
    );

  program
    .command("completion")
    .addArgument(new Argument("<shell>").choices(["bash", "zsh", "fish"]))
    .description("print a completion script for a shell; its first lines say where it goes")
    .action(async (shell: "bash" | "zsh" | "fish") =>
      (await import("../completion.ts")).completionCommand(shell, program),
    );

  program
    .command("explain")
    .argument("[turn]", "id of a turn, or its first characters; newest: the newest turn; without it, a list of turns")
    .description("show what the model saw in a turn, and why")
    .action(async (turn?: string) => (await import("../explain.ts")).explainCommand(process.env, root, turn));

  program
    .command("logs")
    .option(
      "--turn <id>",
      "what happened in this turn, from the log and the event log; its first characters are enough",
    )
    .option("--since <time>", "30m, 2h, 7d, or a date or time such as 2026-01-31T12:00:00Z")
    .addOption(new Option("--level <level>", "this level and above").choices(["debug", "info", "warn", "error"]))
    .option("--follow", "go on with new lines until Ctrl+C")
    .option("--json", "print JSON lines")
    .description("show the log of the last hour, or what happened in one turn")
    .action(async (options) => (await import("../logs.ts")).logsCommand(process.env, root, options));

  program
    .command("upgrade")
    .option("--check", "only show what a newer version changes")
    .option("--yes", "do not ask")
    .option("--to <version>", "a tag or branch instead of the newest version")
    .option("--back", "put code and data back as they were before the last upgrade")
    .description("show what is new, back up, install it, restart the service and check it; goes back if a step fails")
    .action(async (options) => (await import("../upgrade.ts")).upgradeCommand(process.env, root, options));

  program
    .command("eval")
    .argument("[file]", "a file of tasks; default: evals.yaml in the working folder")
    .option("--model <name>", "provider/model that plays them; default: the one of the settings")
    .option("--only <tag-or-name>", "only the tasks with this tag or name")
    .option("--timeout <seconds>", "how long one answer may take", "300")
    .option("--out <folder>", "save the results and all requests to models there")
    .option("--repeat <times>", "how often each task is played", "1")
    .description("play tasks on the agent and judge what it did; exit code 0 only if all are solved")
    // As for what else keeps it from playing.
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
    .action(async (file: string | undefined, options) => {
      const { takeEnvironment } = await import("../environment.ts");
      await (await import("../eval.ts")).evalCommand(takeEnvironment(), root, file, options);
    });

  program
    .command("doctor")
    .option("--json", "print one JSON object {isHealthy, checks, repaired}")
    .option("--fix", "repair what can be repaired, after asking")
    .option("--yes", "with --fix: do not ask")
    .description("check the installation: settings, folders, skills, models, platforms, sandbox")
    .action(async (options) => (await import("../doctor.ts")).doctorCommand(process.env, root, options));
}
