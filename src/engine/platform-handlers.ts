/** Routes events from all platforms. Each promise resolves when its event is durably stored. */
import type { Log } from "../lib/log.ts";
import { diskFullNotice, isDiskFull } from "../lib/shortage.ts";
import type { Access, RequestLimits } from "../ports/access.ts";
import type { Approvals } from "../ports/approval.ts";
import type { ChatLog } from "../ports/chat-log.ts";
import type { Commands } from "../ports/command.ts";
import type { ContextBuilder } from "../ports/context.ts";
import type { Conversations } from "../ports/conversation.ts";
import { type Author, messageKey, type Notice, silence } from "../ports/message.ts";
import type { PlatformHandlers } from "../ports/platform.ts";
import type { Questions } from "../ports/question.ts";
import { withSkill } from "./asked-skill.ts";

export interface PlatformHandlersOptions extends Pick<PlatformHandlers, "onFooter"> {
  conversations: Conversations;
  approvals: Approvals;
  questions: Questions;
  commands: Commands;
  context: ContextBuilder;
  access: Access;
  requestLimits: RequestLimits;
  chatLog: ChatLog;
  /** Why new messages can't be accepted now, for the person who wrote. */
  refusal(): Notice | undefined;
  /** The person, with the time zone that they have set. */
  withZone(platform: string, person: Author): Promise<Author>;
  /** Returns the main name of a skill for any of its names, if the conversation may use the skill. */
  skillNamed(asked: string, conversationId: string): string | undefined;
  log: Log;
}

export function createPlatformHandlers(options: PlatformHandlersOptions): PlatformHandlers {
  const { conversations, approvals, questions, commands, context, access, chatLog, log } = options;
  return {
    async onMessage(message) {
      chatLog.add(message);
      if (!message.isAddressed) return undefined;
      const verdict = await access.check(message);
      if (verdict.type === "refused") {
        const { platform, author, conversationId } = message;
        log.info({ platform, person: author.id, conversationId, why: verdict.why }, "a message was refused");
        return verdict.notice ?? silence;
      }
      const refusal = options.refusal();
      if (refusal !== undefined) return refusal;
      // A message that says only `stop` works like the command. If nothing is running, it is an ordinary message.
      const isStop = /^\s*stop[.!]*\s*$/i.test(message.text);
      if (isStop && (await conversations.stopFor(message))) return silence;
      const besides = isStop ? await conversations.stopBeside(message) : 0;
      if (besides > 0)
        return { text: besides === 1 ? "Stopped." : `Stopped ${besides} requests, in all threads here.` };
      const asked = withSkill(message, options.skillNamed);
      if ("notice" in asked) return asked.notice;
      const request = options.requestLimits.admit(message);
      if (request.type === "limited") {
        const { platform, author, conversationId } = message;
        log.warn({ platform, person: author.id, conversationId, why: request.why }, "a request was left out");
        return request.notice ?? silence;
      }
      const author = await options.withZone(message.platform, message.author);
      const accepted = { ...asked.message, author };
      context.prepare(accepted);
      try {
        await conversations.accept(accepted);
        return undefined;
      } catch (thrown) {
        if (isDiskFull(thrown)) return diskFullNotice;
        throw thrown;
      }
    },
    onAnswer: (answer) => approvals.answer(answer),
    onPick: (pick) => questions.answer(pick),
    onFooter: options.onFooter,
    async onCommand(command) {
      const verdict = await access.check({ ...command, author: command.by, isDirect: command.scope.startsWith("dm:") });
      if (verdict.type === "allowed") return await commands.handle(command);
      return { text: verdict.notice?.text ?? `I can't do that: ${verdict.why}.`, isPrivate: true };
    },
    async onEdited(platform, id, text, attachments) {
      chatLog.edit(platform, id, text);
      const key = messageKey(platform, id);
      await context.amend(key, { type: "edited", text }, await conversations.edit(key, text, attachments));
    },
    async onDeleted(platform, id) {
      chatLog.remove(platform, id);
      const key = messageKey(platform, id);
      await context.amend(key, { type: "deleted" }, await conversations.remove(key));
    },
    unanswered: conversations.unanswered,
  };
}
