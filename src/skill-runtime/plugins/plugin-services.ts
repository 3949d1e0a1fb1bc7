/**
 * Binds the services of a call to its conversation and requester so that no tool argument can name others. Both come
 * from the turn's record in the ledger, because the call may run in another process.
 */
import { RemoraError } from "../../lib/errors.ts";
import type { ChatPlace } from "../../ports/chat.ts";
import type { AskDirectly, ChatSearch } from "../../ports/chat-services.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { type Origin, originOf, originOfPerson } from "../../ports/origin.ts";
import type { Platform } from "../../ports/platform.ts";
import type {
  AskPerson,
  PluginChat,
  PluginMemory,
  PluginSchedules,
  PluginServices,
  SaidAnswer,
} from "../../ports/plugin.ts";
import type { QuestionAnswer, Questions, WordsForm } from "../../ports/question.ts";
import type { Schedules } from "../../ports/schedule.ts";
import type { Skill } from "../../ports/skill.ts";
import type { ToolScope } from "../../ports/tool.ts";
import type { TurnRecord } from "../../ports/turn.ts";
import type { TurnFiles } from "../../ports/turn-files.ts";
import { type Payer, payerOf } from "../../ports/usage.ts";

export interface PluginServicesOptions {
  ledger: Ledger;
  searchChat: ChatSearch;
  askDirectly: AskDirectly;
  memoryFor(scope: ToolScope, payer: () => Promise<Payer>, onRead: BoundCall["onRead"]): PluginMemory;
  files: TurnFiles;
  questions: Questions;
  schedules: Schedules;
  platform(name: string): Platform | undefined;
}

export interface BoundCall {
  id: string;
  tool: string;
  skill: Pick<Skill, "name">;
  scope: ToolScope;
  onRead(origins: readonly Origin[]): void;
  /** The call has read what may not be stored (ephemeral.ts). */
  onEphemeral(): void;
}

export function createPluginServices(options: PluginServicesOptions) {
  const { ledger, memoryFor, questions, schedules } = options;

  async function turnOf({ scope: { turnId } }: BoundCall): Promise<TurnRecord> {
    const entry = await ledger.get("turn", turnId);
    if (entry !== undefined) return entry.body;
    throw new RemoraError({ code: "turn.missing", place: `turn ${turnId}`, message: "is no longer in the ledger" });
  }

  async function chatOf(turn: TurnRecord) {
    const { platform: name } = turn.target;
    const chat = options.platform(name)?.chat;
    if (chat !== undefined) return chat;
    throw chatError(turn, "platform.unsupported", "can't be read or written by tools");
  }

  /** A request that was moved to a direct message means the place where it was asked, if its person can still read there. */
  async function readPlace(call: BoundCall, turn: TurnRecord, place: ChatPlace): Promise<ChatPlace> {
    const askedAt = turn.messages.at(-1)?.askedAt;
    if (askedAt === undefined || place.channel !== undefined) return place;
    const { conversationId } = askedAt;
    const mayRead = await options.platform(turn.target.platform)?.mayRead?.(conversationId, call.scope.requester);
    return mayRead === true ? { ...place, conversationId } : place;
  }

  /** Rejects, with what the model is told, if not everybody who reads the answer can read the channel. */
  async function checkReadable(call: BoundCall, turn: TurnRecord, place: ChatPlace): Promise<void> {
    if (place.channel === undefined) return;
    const { isOpenHere, isRestricted, name } = await (await chatOf(turn)).audience(place);
    if (!isOpenHere) throw chatError(turn, "platform.closed-here", await options.askDirectly(turn, name));
    if (isRestricted) call.onRead([originOf("place", name)]);
  }

  async function fetchFile(call: BoundCall, place: ChatPlace, messageId: string, name: string, signal: AbortSignal) {
    const turn = await turnOf(call);
    const { workingFolder, conversationId, target } = turn;
    await checkReadable(call, turn, place);
    const attachments = await (await chatOf(turn)).files?.(await readPlace(call, turn, place), messageId);
    if (attachments === undefined) throw chatError(turn, "platform.unsupported", "files can't be fetched from there");
    const index = attachments.findIndex((each) => isNamed(each.name, name));
    const attachment = attachments[index];
    if (attachment === undefined) {
      const has = attachments.length === 0 ? "none" : attachments.map((each) => each.name).join(", ");
      throw chatError(turn, "platform.unknown-file", `message ${messageId} has no file ${name}: it has ${has}`);
    }
    const message = { platform: target.platform, id: messageId, conversationId, attachments };
    const canFetch = attachment.source !== undefined;
    // Nobody is asked about it, so it must take nobody's work away.
    const wanted = { message, index, workingFolder, payer: payerOf(turn), keepsChanged: true };
    const file = canFetch ? await options.files.fetch(wanted, signal) : attachment;
    const { path, problem = "the file can't be fetched" } = file;
    if (path === undefined) throw chatError(turn, "platform.unreadable-file", problem);
    call.onRead([originOf("attachment", file.name)]);
    return { ...file, path };
  }

  function chatFor(call: BoundCall, signal: AbortSignal): PluginChat {
    const { conversationId, requester, turnId } = call.scope;
    const key = `${turnId}-${call.id}`;
    const placeOf = (channel?: string): ChatPlace => ({
      conversationId,
      requester,
      ...(channel === undefined ? {} : { channel }),
    });
    const chat = async () => await chatOf(await turnOf(call));
    return {
      async history({ channel, ...wanted }) {
        const turn = await turnOf(call);
        await checkReadable(call, turn, placeOf(channel));
        return await (await chatOf(turn)).history(await readPlace(call, turn, placeOf(channel)), wanted);
      },
      async search({ channel, ...query }) {
        const turn = await turnOf(call);
        const found = await options.searchChat(turn, await chatOf(turn), placeOf(channel), query);
        const { lines, restricted, closed, isEphemeral, notice } = found;
        const [first] = closed;
        if (channel !== undefined && first !== undefined)
          throw chatError(turn, "platform.closed-here", await options.askDirectly(turn, `#${first.name}`));
        if (isEphemeral) call.onEphemeral();
        call.onRead(lines.map(({ author }) => originOfPerson(author)));
        call.onRead(restricted.map(({ name }) => originOf("place", `#${name}`)));
        return { lines, closed: closed.length, ...(notice === undefined ? {} : { notice }) };
      },
      fetchFile: ({ channel, messageId, name }) => fetchFile(call, placeOf(channel), messageId, name, signal),
      post: async ({ channel, ...message }) => await (await chat()).post(placeOf(channel), { ...message, key }),
      async react({ channel, messageId, emoji }) {
        const turn = await turnOf(call);
        await (await chatOf(turn)).react(placeOf(channel), messageId ?? turn.target.messageId, emoji);
      },
      openThread: async ({ channel, ...thread }) =>
        await (await chat()).openThread(placeOf(channel), { ...thread, key }),
    };
  }

  function schedulesFor(call: BoundCall): PluginSchedules {
    const { conversationId, requester: owner, scope } = call.scope;
    return {
      async add(schedule) {
        const { target, messages } = await turnOf(call);
        const { channelId, spaceId } = messages.at(-1) ?? {};
        return await schedules.add({
          ...{ platform: target.platform, conversationId, scope, owner, ...schedule },
          ...(channelId === undefined ? {} : { channelId }),
          ...(spaceId === undefined ? {} : { spaceId }),
        });
      },
      list: () => schedules.list(owner, scope),
      remove: (id) => schedules.remove(id, owner, scope),
    };
  }

  function askFor(call: BoundCall, signal: AbortSignal): AskPerson {
    const { requester, turnId } = call.scope;
    let asked = 0;
    async function ask(question: string, answers: readonly string[] | WordsForm): Promise<string | SaidAnswer> {
      const number = asked++;
      const turn = await turnOf(call);
      const of = { jobId: `${turnId}-${call.id}`, tool: call.tool, skill: call.skill.name, number };
      const answer = await questions.ask({ target: turn.target, requester, ...of, question, answers }, signal);
      return typeof answer === "string" ? answer : await saidFor(call, turn, answer, signal);
    }
    return ask as AskPerson;
  }

  /** Its files are the person's, like those of a message. */
  async function saidFor(
    call: BoundCall,
    turn: TurnRecord,
    { text, attachments, messageId: id }: Exclude<QuestionAnswer, string>,
    signal: AbortSignal,
  ): Promise<SaidAnswer> {
    const { target, conversationId, workingFolder } = turn;
    const message = { platform: target.platform, id, conversationId, attachments };
    const payer = payerOf(turn);
    const files: SaidAnswer["files"] = [];
    for (const [index, given] of attachments.entries()) {
      const wanted = { message, index, workingFolder, payer, keepsChanged: true };
      const file = given.source === undefined ? given : await options.files.fetch(wanted, signal);
      const { name, mimeType, bytes, path, problem } = file;
      const isThere = path !== undefined;
      if (isThere) call.onRead([originOf("attachment", name)]);
      const why = problem ?? "the file can't be fetched";
      files.push({ name, mimeType, bytes, ...(isThere ? { path } : { problem: why }) });
    }
    return { text, files };
  }

  return (call: BoundCall, signal: AbortSignal): PluginServices => ({
    memory: memoryFor(call.scope, async () => payerOf(await turnOf(call)), call.onRead),
    chat: chatFor(call, signal),
    schedules: schedulesFor(call),
    ask: askFor(call, signal),
  });
}

/** Also matches a long name that was shown with its end cut off. */
function isNamed(whole: string, shown: string): boolean {
  return whole === shown || (shown.endsWith("…") && whole.startsWith(shown.slice(0, -1)));
}

function chatError({ target }: TurnRecord, code: string, message: string): RemoraError {
  return new RemoraError({ code, place: `platform ${target.platform}`, message });
}
