/** The commands about approvals, accounts and the audit log. Their code is loaded only if they are called. */
import type { Command } from "commander";

export function addPeopleCommands(program: Command, root: string): void {
  const approvals = program.command("approvals").description("list and answer approvals");

  approvals
    .command("list")
    .option("--json", "print one JSON array of cards")
    .description("list open approvals in full, with their reasons and approvers")
    .action(async (options) => (await import("../approvals.ts")).approvalsListCommand(process.env, root, options));

  approvals
    .command("approve")
    .argument("<id>", "id of a card or an approval, or its first characters")
    .option("--json", "print one JSON object {accepted, text}")
    .description("as the operator, let the call run or keep the changes")
    .action(async (id: string, options) =>
      (await import("../approvals.ts")).approvalsDecideCommand(process.env, root, "approve", id, options),
    );

  approvals
    .command("deny")
    .argument("<id>", "id of a card or an approval, or its first characters")
    .option("--reason <text>", "reason for the model and for people")
    .option("--json", "print one JSON object {accepted, text}")
    .description("as the operator, refuse the call or discard the changes")
    .action(async (id: string, options) =>
      (await import("../approvals.ts")).approvalsDecideCommand(process.env, root, "deny", id, options),
    );

  approvals
    .command("why")
    .argument("<id>", "id of a card or an approval, or its first characters")
    .description("print the rules that ask, with their files and lines")
    .action(async (id: string) => (await import("../approvals.ts")).approvalsWhyCommand(process.env, root, id));

  approvals
    .command("diff")
    .argument("<id>", "id of a card about changes, or its first characters")
    .description("print the whole diff of a card")
    .action(async (id: string) => (await import("../approvals.ts")).approvalsDiffCommand(process.env, root, id));

  const accounts = program.command("accounts").description("who can sign in to the dashboard with a password");

  accounts
    .command("add")
    .argument("<name>", "lower-case letters, digits, dots, hyphens and underscores")
    .requiredOption("--role <role>", "viewer, approver or operator")
    .description("add an account; asks for its password, or reads it from standard input")
    .action(async (name: string, options) =>
      (await import("../accounts.ts")).accountsAddCommand(process.env, root, name, options),
    );

  accounts
    .command("list")
    .option("--json", "print one JSON array of {name, role, createdAt}")
    .description("list the local accounts")
    .action(async (options) => (await import("../accounts.ts")).accountsListCommand(process.env, root, options));

  accounts
    .command("remove")
    .argument("<name>", "name of an account")
    .description("remove an account, and end its sessions")
    .action(async (name: string) => (await import("../accounts.ts")).accountsRemoveCommand(process.env, root, name));

  accounts
    .command("role")
    .argument("<name>", "name of an account")
    .argument("<role>", "viewer, approver or operator")
    .description("change what an account may do, at once")
    .action(async (name: string, role: string) =>
      (await import("../accounts.ts")).accountsRoleCommand(process.env, root, name, role),
    );

  accounts
    .command("password")
    .argument("<name>", "name of an account")
    .description("change the password, and end the account's sessions")
    .action(async (name: string) => (await import("../accounts.ts")).accountsPasswordCommand(process.env, root, name));

  accounts
    .command("sign-out")
    .argument("<identity>", "an account's name, or an identity such as slack:U0123")
    .description("end all sessions of a person")
    .action(async (identity: string) =>
      (await import("../accounts.ts")).accountsSignOutCommand(process.env, root, identity),
    );

  const audit = program.command("audit").description("verify and export the audit log");

  audit
    .command("verify")
    .option("--json", "print one JSON object {chains, lines, problems, notes}")
    .description("find deleted, changed, moved or added lines; exit code 1 if there are any")
    .action(async (options) => (await import("../audit.ts")).auditVerifyCommand(process.env, root, options));

  audit
    .command("export")
    .option("--since <date>", "from this date or time on, such as 2026-01-31", "1970-01-01")
    .description("print the lines for other systems")
    .action(async (options) => (await import("../audit.ts")).auditExportCommand(process.env, root, options));
}
