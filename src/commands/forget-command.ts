/**
 * `/remora forget`: removes what is remembered, and says what that was and what stays.
 *
 *   forget me     the person's own: their DM, and in channels the turns they took part in and the decisions they made
 *   forget here   everything of this place; in a channel, which belongs to all its members, only for owners
 *
 * Nothing is removed before it is asked for a second time with `yes`.
 */

import type { CommandHandler } from "../ports/command.ts";
import type { ConversationRegistry } from "../ports/conversation.ts";
import type { Author, InboundCommand, Scope } from "../ports/message.ts";

type Owner = { scope: Scope } | { userId: string };

export interface ForgetOptions {
  conversations: ConversationRegistry;
  /** Episodes, notes and preference history, with the search index. */
  memory(owner: Owner): Promise<{ files: number; entries: number }>;
  /** A conversation's history; with a person, only the exchanges that they took part in. */
  history(conversationId: string, person?: { platform: string; userId: string }): Promise<void>;
  /** Task files for which this is true; returns how many. */
  tasks(isTheirs: (task: { conversationId: string; requesterId: string }) => boolean): Promise<number>;
  /** Snapshots of turns that happened in these scopes; returns how many. */
  snapshots(scopes: ReadonlySet<Scope>): Promise<number>;
  /** Outputs of calls that were too long for the model. */
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
    const theirs = (await conversations.list()).filter(({ userIds }) => userIds.includes(by.id));
    const forgotten = await options.memory({ userId: by.id });
    for (const { id } of theirs) await options.history(id, { platform, userId: by.id });
    await options.outputs(`dm:${by.id}`);
    // Where the person spoke, others' prompts may have shown it as well.
    const scopes = new Set<Scope>([`dm:${by.id}`, ...theirs.map(({ scope }) => scope)]);
    const tasks = await options.tasks((task) => task.requesterId === by.id);
    return { ...forgotten, histories: theirs.length, tasks, snapshots: await options.snapshots(scopes) };
  }

  async function forgetPlace({ scope, conversationId }: InboundCommand): Promise<Removed> {
    const known = (await conversations.list()).filter((conversation) => conversation.scope === scope);
    const ids = new Set([conversationId, ...known.map(({ id }) => id)]);
    const forgotten = await options.memory({ scope });
    for (const id of ids) await options.history(id);
    await options.outputs(scope);
    const tasks = await options.tasks((task) => ids.has(task.conversationId));
    return { ...forgotten, histories: known.length, tasks, snapshots: await options.snapshots(new Set([scope])) };
  }

  async function run(command: InboundCommand): Promise<string> {
    const { rest, scope, platform, by } = command;
    const [what, answer] = rest.trim().toLowerCase().split(/\s+/);
    if (what !== "me" && what !== "here") return usageText;
    if (what === "here" && scope.startsWith("channel:") && !options.isOwner(platform, by)) return notYoursText;
    if (answer !== "yes") return what === "me" ? askMeText : askHereText;
    const removed = what === "me" ? await forgetPerson(command) : await forgetPlace(command);
    return `${removedText(removed)}\n\n${what === "me" ? staysOfPersonText : staysText}`;
  }

  return { usage: "forget me|here", description: "remove what is remembered of you, or in this place", run };
}

const usageText =
  "`/remora forget me` removes what is remembered of you, `/remora forget here` what is remembered in this place. Both ask again first.";

const notYoursText =
  "What is remembered in a channel belongs to everyone in it, so only the people in safety.owners may remove all of it. `/remora forget me` removes your part.";

const askMeText =
  "This removes your DM with me from memory, and in channels the turns you took part in and the decisions you made, with their history, task files and prompt snapshots. It can't be undone. To do it: `/remora forget me yes`";

const askHereText =
  "This removes everything that is remembered in this place, notes too, with its history, task files and prompt snapshots. It can't be undone. To do it: `/remora forget here yes`";

const staysText =
  "Not removed: messages on the platform itself, files in working folders and what Undo keeps of them, changes that wait for an answer, the event log and the journal of turns and approvals (kept for a while, for recovery and audit), and the figures of `/remora usage`. What is running now is remembered when it ends.";

const staysOfPersonText = `${staysText} Notes of channels, shared notes, and what others said about you stay as well.`;

function removedText({ files, entries, histories, tasks, snapshots }: Removed): string {
  const counted = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
  return `Removed: ${[
    counted(files, "memory file", "memory files"),
    counted(entries, "entry of files that stay", "entries of files that stay"),
    `the history of ${counted(histories, "conversation", "conversations")}`,
    counted(tasks, "task file", "task files"),
    counted(snapshots, "prompt snapshot", "prompt snapshots"),
  ].join(", ")}.`;
}
