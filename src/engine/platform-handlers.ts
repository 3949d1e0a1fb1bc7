/** What comes in from any platform goes to whom it concerns; each promise resolves when it is durably kept. */

import type { Log } from "../lib/log.ts";
import type { Access } from "../ports/access.ts";
import type { Approvals } from "../ports/approval.ts";
import type { Commands } from "../ports/command.ts";
import type { ContextBuilder } from "../ports/context.ts";
import type { Conversations } from "../ports/conversation.ts";
import type { PlatformHandlers } from "../ports/platform.ts";
import type { Questions } from "../ports/question.ts";
import { withSkill } from "./asked-skill.ts";
import { messageKey } from "./conversation/inbox.ts";

export interface PlatformHandlersOptions {
  conversations: Conversations;
  approvals: Approvals;
  questions: Questions;
  commands: Commands;
  context: ContextBuilder;
  access: Access;
  /** The own name of a skill that may be used in the conversation, by any name that it is known by. */
  skillNamed(asked: string, conversationId: string): string | undefined;
  log: Log;
}

export function createPlatformHandlers(receivers: PlatformHandlersOptions): PlatformHandlers {
  const { conversations, approvals, questions, commands, context, access, log } = receivers;
  return {
    async onMessage(message) {
      if (!message.isAddressed) return undefined;
      const verdict = await access.check(message);
      if (verdict.type === "refused") {
        const { platform, author, conversationId } = message;
        log.info({ platform, person: author.id, conversationId, why: verdict.why }, "a message is not answered");
        return verdict.notice;
      }
      // The word alone stops, like the command; where nothing runs it is a message like any other.
      const isStop = /^\s*stop[.!]*\s*$/i.test(message.text);
      if (isStop && (await conversations.stopFor(message))) return undefined;
      const asked = withSkill(message, receivers.skillNamed);
      if ("notice" in asked) return asked.notice;
      context.prepare(asked.message);
      await conversations.accept(asked.message);
      return undefined;
    },
    onAnswer: (answer) => approvals.answer(answer),
    onPick: (pick) => questions.answer(pick),
    async onCommand(command) {
      const verdict = await access.check({ ...command, author: command.by, isDirect: command.scope.startsWith("dm:") });
      if (verdict.type === "allowed") return await commands.handle(command);
      return { text: verdict.notice?.text ?? `I can't do that: ${verdict.why}.`, isPrivate: true };
    },
    onEdited: (platform, id, text) => conversations.edit(messageKey(platform, id), text),
    onDeleted: (platform, id) => conversations.remove(messageKey(platform, id)),
  };
}
