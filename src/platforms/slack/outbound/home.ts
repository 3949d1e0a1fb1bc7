/** App Home, Slack's page for the app. Each button runs the command of the same name. */
import { z } from "zod";
import { messageOf } from "../../../lib/errors.ts";
import type { Author } from "../../../ports/message.ts";
import { withTimeout } from "../../shared/with-timeout.ts";
import { anyAnswer } from "../api/api.ts";
import { isRefusal, isSlackError, isTokenProblem, plainOf } from "../api/api-problems.ts";
import { openDirectMessages } from "../api/direct-message.ts";
import { openView, updateView, type View } from "../api/views.ts";
import { placeOf } from "../conversation-id.ts";
import type { Handling } from "../interactions/handling.ts";
import { maxAnswerMs, maxTextObjectLength } from "../limits.ts";
import { button, modal, plainText } from "./blocks.ts";
import { type Block, renderMrkdwn } from "./render.ts";

export interface HomePage {
  status: string[];
  memory: string[];
}

export interface HomeOptions extends Handling {
  page(person: Author): Promise<HomePage>;
  commands(): { usage: string; description: string }[];
}

export interface Home {
  opened(event: unknown): Promise<void>;
  click(body: unknown): Promise<void>;
  forget(body: unknown): Promise<View>;
}

export const homeActions = { memory: "home_memory", export: "home_export", forget: "home_forget" } as const;
export const forgetCallback = "home_forget_yes";

const openedSchema = z.object({ user: z.string(), tab: z.string().optional() });
const clickSchema = z.object({
  user: z.object({ id: z.string() }),
  trigger_id: z.string(),
  actions: z.array(z.object({ action_id: z.string() })).min(1),
});
const submittedSchema = z.object({ user: z.object({ id: z.string() }) });
const notShown = "I can't show this page at the moment. `/remora help` lists what I can do.";
const maxSections = 40;
const maxSectionLength = maxTextObjectLength - 100;

export function createHome(options: HomeOptions): Home {
  const { api, handlers, identity, people, ephemeral, log } = options;

  async function publish(userId: string): Promise<void> {
    const person = await people.author(userId);
    const { status, memory } = await options.page(person);
    const commands = options.commands().map(({ usage, description }) => `- \`/remora ${usage}\` — ${description}`);
    const blocks: Block[] = [
      header("Status"),
      ...sections(status.join("\n")),
      header("What I remember about you"),
      ...sections(memory.join("\n")),
      {
        type: "actions",
        elements: [
          button("Show it", homeActions.memory),
          button("Send it to me", homeActions.export),
          button("Forget me…", homeActions.forget, undefined, "danger"),
        ],
      },
      header("Commands"),
      ...sections(commands.join("\n")),
    ];
    const show = (shown: Block[]) =>
      api.call("views.publish", { user_id: userId, view: { type: "home", blocks: shown } }, anyAnswer);
    await show(blocks).catch(async (thrown: unknown) => {
      if (!isRefusal(thrown) && !isTokenProblem(thrown)) throw thrown;
      log.warn({ error: messageOf(thrown) }, "Slack refused App Home; showing a short one");
      await show(sections(notShown));
    });
  }

  /** Runs the command in the person's DM, where private answers belong. */
  async function run(userId: string, name: string, rest: string): Promise<{ text: string; channel: string }> {
    const [{ teamId: team }, by, channel] = await Promise.all([
      identity(),
      people.author(userId),
      openDirectMessages(api, userId),
    ]);
    const place = placeOf({ team, channel, thread: null }, userId);
    const { text } = await handlers.onCommand({ ...place, name, rest, by, at: Date.now() });
    return { text, channel };
  }

  /** The trigger expires after three seconds, so the modal opens before its text is ready. */
  async function show(trigger: string, userId: string, name: string): Promise<void> {
    const id = await openView(api, trigger, note("What I remember", "One moment…"));
    const text = await run(userId, name, "").then((done) => done.text, failureText);
    await updateView(api, id, note("What I remember", text)).catch(async (thrown: unknown) => {
      // The person has already closed the modal.
      if (!isSlackError(thrown, "not_found")) await sendLate(userId, text);
    });
  }

  async function send(userId: string): Promise<void> {
    const { text, channel } = await run(userId, "export", "");
    await ephemeral.markdown({ userId, channel, thread: null }, text);
  }

  async function forgetNow(userId: string): Promise<string> {
    try {
      const { text } = await run(userId, "forget", "me yes");
      void publish(userId).catch(() => {});
      return text;
    } catch (thrown) {
      return failureText(thrown);
    }
  }

  async function sendLate(userId: string, text: string): Promise<void> {
    try {
      await ephemeral.markdown({ userId, channel: await openDirectMessages(api, userId), thread: null }, text);
    } catch (thrown) {
      log.warn({ error: messageOf(thrown) }, "could not tell a person the result of their click in App Home");
    }
  }

  return {
    async opened(event) {
      const parsed = openedSchema.safeParse(event);
      if (!parsed.success || (parsed.data.tab ?? "home") !== "home") return;
      await publish(parsed.data.user).catch((thrown: unknown) =>
        log.warn({ error: messageOf(thrown) }, "could not publish App Home"),
      );
    },
    async click(body) {
      const parsed = clickSchema.safeParse(body);
      if (!parsed.success) return;
      const { user, trigger_id: trigger, actions } = parsed.data;
      try {
        switch (actions[0]?.action_id) {
          case homeActions.memory:
            return await show(trigger, user.id, "memory");
          case homeActions.export:
            return await send(user.id);
          case homeActions.forget:
            await openView(api, trigger, forgetModal());
        }
      } catch (thrown) {
        log.warn({ error: messageOf(thrown) }, "an App Home button failed");
        await sendLate(user.id, failureText(thrown));
      }
    },
    async forget(body) {
      const { user } = submittedSchema.parse(body);
      const forgetting = forgetNow(user.id);
      const text = await withTimeout(maxAnswerMs, forgetting);
      if (text === undefined) void forgetting.then((late) => sendLate(user.id, late));
      const view = note("Forget me", text ?? "Working on it. I'll message you when it's done.");
      return { response_action: "update", view };
    },
  };
}

function failureText(thrown: unknown): string {
  return `That didn't work: ${plainOf(thrown)}`;
}

function forgetModal(): View {
  const text =
    "This deletes our DM from my memory. In channels, it deletes the exchanges you took part in and the decisions you made, with their history. You can't undo it.";
  const view = modal("Forget me", sections(text), "Cancel");
  return { ...view, callback_id: forgetCallback, submit: plainText("Forget me") };
}

function note(title: string, markdown: string): View {
  return modal(title, sections(markdown));
}

function header(text: string): Block {
  return { type: "header", text: plainText(text) };
}

function sections(markdown: string): Block[] {
  const parts = renderMrkdwn(markdown, maxSectionLength);
  const shown = parts.filter((part) => part.trim() !== "").slice(0, maxSections);
  const texts = shown.length === 0 ? ["Nothing yet."] : shown;
  return texts.map((text) => ({ type: "section", text: { type: "mrkdwn", text } }));
}
