/** The `/remora` commands, in the order in which help lists them. */
import { rm } from "node:fs/promises";
import { exportCommand } from "../commands/export-command.ts";
import { forgetCommand } from "../commands/forget-command.ts";
import { grantsCommand } from "../commands/grants-command.ts";
import { memoryCommand } from "../commands/memory-command.ts";
import { newCommand } from "../commands/new-command.ts";
import { createCommands } from "../commands/registry.ts";
import { skillCommand } from "../commands/skill-command.ts";
import { skillsCommand } from "../commands/skills-command.ts";
import { statusCommand } from "../commands/status-command.ts";
import { stopCommand } from "../commands/stop-command.ts";
import { undoCommand } from "../commands/undo-command.ts";
import { usageCommand } from "../commands/usage-command.ts";
import { forgetSnapshots } from "../context/forget-snapshots.ts";
import type { OwnedMemory } from "../memory/memory.ts";
import type { Access } from "../ports/access.ts";
import type { Commands } from "../ports/command.ts";
import type { Author, Scope } from "../ports/message.ts";
import type { Platform } from "../ports/platform.ts";
import type { ConversationParts } from "./conversations.ts";
import type { Models } from "./models.ts";
import type { AppOptions } from "./options.ts";
import type { SandboxParts } from "./sandbox.ts";
import type { State } from "./state.ts";
import type { Tools } from "./tools.ts";

export interface CommandsParts {
  sandbox: SandboxParts;
  models: Models;
  tools: Tools;
  memory: OwnedMemory;
  parts: ConversationParts;
  access: Access;
  isOwner(platform: string, person: Author): boolean;
  connected(): Iterable<Platform>;
}

export function buildCommands(
  { settings: { config, workspace }, log }: AppOptions,
  { ledger }: State,
  { memory, sandbox, models, tools, parts, access, isOwner, connected }: CommandsParts,
): Commands {
  const { conversations, approvals, context, registry } = parts;

  async function forgetShown(scopes: ReadonlySet<Scope>): Promise<number> {
    context.flush();
    return await forgetSnapshots(workspace, async (turnId) => {
      const turn = await ledger.get("turn", turnId);
      // If the ledger no longer has the turn, its owner is unknown, so remove its snapshots too.
      return turn === undefined || scopes.has(turn.body.scope);
    });
  }

  return createCommands(
    [
      stopCommand(conversations),
      newCommand((conversationId) => context.forget(conversationId)),
      statusCommand(conversations, () =>
        [...connected()].map((platform) => ({ name: platform.name, detail: platform.health().detail })),
      ),
      grantsCommand(approvals),
      undoCommand(sandbox.drafts),
      skillsCommand(tools.toolbox.skillsFor),
      models.choice.command,
      skillCommand,
      access.command,
      usageCommand({ meter: models.usage, ledger, limits: config.limits, isOwner }),
      memoryCommand(memory),
      exportCommand(memory),
      forgetCommand({
        conversations: registry,
        memory: memory.forget,
        history: context.forget,
        tasks: tools.taskFiles.forget,
        snapshots: forgetShown,
        outputs: (scope) => rm(sandbox.outputsFolder(scope), { recursive: true, force: true }),
        isOwner,
      }),
    ],
    log,
  );
}
