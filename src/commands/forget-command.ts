/**
 * `/remora forget` removes memory, and reports what was removed and what remains. Does nothing without a final `yes`.
 *
 *   forget me     removes a person's DM and, in channels, the turns they took part in and the decisions they made
 *   forget here   removes everything in this place; in a channel only for owners, because it belongs to all members
 */
import type { CommandHandler } from "../ports/command.ts";
import type { ConversationRegistry } from "../ports/conversation.ts";
import type { Author, InboundCommand, Scope } from "../ports/message.ts";

type Owner = { scope: Scope } | { userId: string };

export interface ForgetOptions {
  conversations: ConversationRegistry;
  memory(owner: Owner): Promise<{ files: number; entries: number }>;
  /** Removes a person's messages, or those of a channel, from the chat log. */
  messages(owner: { platform: string; userId: string } | { platform: string; channelId: string }): Promise<void>;
  /** With `person`, removes only exchanges with this person and a summary that covers any of them. */
  history(conversationId: string, person?: { platform: string; userId: string }): Promise<void>;
  /** Returns the number of removed files. */
  tasks(isTheirs: (task: { conversationId: string; requesterId: string }) => boolean): Promise<number>;
  snapshots(scopes: ReadonlySet<Scope>): Promise<number>;
  outputs(scope: Scope): Promise<void>;
  isOwner(platform: string, by: Author): boolean;
}

interface Removed {
  files: number;
  entries: number;
  histories: number;
  tasks: number;
  snapshots: number;
}

export function forgetCommand(options: ForgetOptions): CommandHandler {
  const { conversations } = options;

  async function forgetPerson({ platform, by }: InboundCommand): Promise<Removed> {
    const shared = (await conversations.list()).filter(({ userIds }) => userIds.includes(by.id));
    const forgotten = await options.memory({ userId: by.id });
    await options.messages({ platform, userId: by.id });
    for (const { id } of shared) await options.history(id, { platform, userId: by.id });
    await options.outputs(`dm:${by.id}`);
    // Other people's prompts may quote this person, so the snapshots of all these scopes are removed.
    const scopes = new Set<Scope>([`dm:${by.id}`, ...shared.map(({ scope }) => scope)]);
    const tasks = await options.tasks((task) => task.requesterId === by.id);
    return { ...forgotten, histories: shared.length, tasks, snapshots: await options.snapshots(scopes) };
  }

  async function forgetPlace({ platform, scope, conversationId }: InboundCommand): Promise<Removed> {
    const known = (await conversations.list()).filter((conversation) => conversation.scope === scope);
    const ids = new Set([conversationId, ...known.map(({ id }) => id)]);
    const forgotten = await options.memory({ scope });
    if (scope.startsWith("channel:")) await options.messages({ platform, channelId: scope.slice("channel:".length) });
    for (const id of ids) await options.history(id);
    await options.outputs(scope);
    const tasks = await options.tasks((task) => ids.has(task.conversationId));
    return { ...forgotten, histories: known.length, tasks, snapshots: await options.snapshots(new Set([scope])) };
  }

  async function run(command: InboundCommand): Promise<string> {
    const { rest, scope, platform, by } = command;
    const [what, answer] = rest.trim().toLowerCase().split(/\s+/);
    if (what !== "me" && what !== "here") return usageText;
    if (what === "here" && scope.startsWith("channel:") && !options.isOwner(platform, by)) return ownersOnlyText;
    if (answer !== "yes") return what === "me" ? askMeText : askHereText;
    const removed = what === "me" ? await forgetPerson(command) : await forgetPlace(command);
    return `${removedText(removed)}\n\n${what === "me" ? staysOfPersonText : staysText}`;
  }

  return { usage: "forget me|here", description: "remove what I remember about you, or in this place", run };
}

const usageText =
  "`/remora forget me` removes what I remember about you. `/remora forget here` removes what I remember in this place. Both ask you to confirm.";

const ownersOnlyText =
  "A channel's memory belongs to everyone in it, so only owners can remove it. `/remora forget me` removes your part.";

const askMeText =
  "This removes your DM with me from memory. In channels it removes your exchanges with me, what I read of your other messages, and your decisions, with their history (summaries that include you go completely), your messages from what I can search, task files and prompt snapshots. It can't be undone. To confirm: `/remora forget me yes`";

const askHereText =
  "This removes everything I remember in this place: notes, searchable messages, history, task files and prompt snapshots. It can't be undone. To confirm: `/remora forget here yes`";

const staysText =
  "Not removed: messages on the platform, files in working folders and their undo copies, changes that wait for an answer, the event log, the journal of turns and approvals (kept for recovery and audit), and the counts of `/remora usage`. Requests that are running now are remembered when they end.";

const staysOfPersonText = `${staysText} Notes of channels, shared notes, and what others said about you stay too.`;

function removedText({ files, entries, histories, tasks, snapshots }: Removed): string {
  const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
  return `Removed: ${[
    counted(files, "memory file", "memory files"),
    counted(entries, "entry in a shared file", "entries in shared files"),
    `the history of ${counted(histories, "conversation", "conversations")}`,
    counted(tasks, "task file", "task files"),
    counted(snapshots, "prompt snapshot", "prompt snapshots"),
  ].join(", ")}.`;
}
