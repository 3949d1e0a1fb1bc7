/**
 * Asks a turn's request again in a direct message with its requester, because it needs text that not everybody in its own
 * conversation can read. What is read there is shown, and kept in memory, only there.
 */
import { messageOf } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Access } from "../../ports/access.ts";
import type { AskDirectly } from "../../ports/chat-services.ts";
import { copyTurnId } from "../../ports/copies.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { InboundMessage, ReplyTarget } from "../../ports/message.ts";
import { isPlatformAway } from "../../ports/platform.ts";
import type { Reach } from "../../ports/reach.ts";
import { requesterOf, type TurnRecord } from "../../ports/turn.ts";
import type { Delivery } from "../../ports/turn-deps.ts";
import { scheduleOf } from "../../ports/usage.ts";
import { originalsOf } from "./inbox.ts";

export interface AskDirectlyOptions {
  ledger: Pick<Ledger, "get">;
  reach(platform: string): Reach | undefined;
  access: Pick<Access, "check">;
  /** Must ignore a message that is already known. */
  accept(message: InboundMessage): Promise<unknown>;
  openReply(target: ReplyTarget): Promise<Pick<Delivery, "note">>;
  log: Log;
}

const maxShownWords = 200;
/** What a schedule puts before the person's own words. */
const scheduleHead = /^\[[^\]\n]* UTC[^\]\n]*\]\n/;
const closed = "Not read: not everybody in this conversation can read that.";

export function createAskDirectly({ ledger, access, log, ...options }: AskDirectlyOptions): AskDirectly {
  async function messageFor(turn: TurnRecord, conversationId: string, place: string): Promise<InboundMessage> {
    const author = requesterOf(turn);
    const { platform } = turn.target;
    const messages = await originalsOf(ledger, turn);
    const scheduleId = scheduleOf(turn);
    const skill = turn.messages.at(-1)?.skill;
    return {
      // Fixed, so that several calls, or a repetition after a crash, start one turn.
      id: `schedule:direct-${turn.id}:${turn.startedAt}`,
      ...{ platform, conversationId, scope: `dm:${author.id}`, author },
      text: `[I asked this in ${place}. You answer it here, because not everybody there can read what it needs:]\n${messages.map(({ text }) => text).join("\n\n")}`,
      ...(skill === undefined ? {} : { skill }),
      ...(scheduleId === undefined ? {} : { scheduleId }),
      attachments: messages.flatMap(({ attachments }) => attachments),
      ...{ isAddressed: true, isDirect: true, at: turn.startedAt },
      askedAt: { conversationId: turn.conversationId, messageId: turn.messages[0]?.id ?? "" },
    };
  }

  async function tell(turn: TurnRecord, message: InboundMessage, place: string, source: string): Promise<string> {
    const { platform, conversationId, id: messageId } = message;
    const turnId = copyTurnId(turn.id, message.author.id);
    const reply = await options.openReply({ platform, conversationId, turnId, messageId });
    const words = shortened(turn.messages.map(({ text }) => text.replace(scheduleHead, "")).join(" "));
    const line = `You asked in ${place}: “${words}” Not everybody there can read ${source}, so I answer here.`;
    return await reply.note({ key: "direct", line: [line] });
  }

  return async (turn, source) => {
    const { platform, conversationId, messageId } = turn.target;
    const { id, name, isBot } = requesterOf(turn);
    const reach = options.reach(platform);
    if (isBot || reach === undefined) return `${closed} Say so; a person can ask me in a direct message.`;
    try {
      const [direct, place] = await Promise.all([reach.direct(id), reach.place(conversationId, messageId)]);
      const message = await messageFor(turn, direct, place.name);
      if ((await access.check(message)).type === "refused")
        return `${closed} ${name} may not ask me in direct messages, so say only that you can't show it here.`;
      const said = await tell(turn, message, place.name, source);
      await options.accept({ ...message, conversationId: reach.below?.(direct, said) ?? direct });
      return `${closed} I have asked it again in a direct message with ${name}, and answer there. Say that in one sentence; do not try it again here.`;
    } catch (thrown) {
      if (isPlatformAway(thrown)) throw thrown;
      log.warn({ turnId: turn.id, error: messageOf(thrown) }, "could not ask a request again in a direct message");
      return `${closed} I also can't write to ${name} directly. Say that ${name} can allow direct messages from me and ask again, or write to me directly.`;
    }
  };
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= maxShownWords ? line : `${line.slice(0, maxShownWords - 1).toWellFormed()}…`;
}
