/** Changes to a configured folder, through Slack. */
import { describe } from "vitest";
import { createSlackDouble } from "../doubles/slack/double.ts";
import { readableView, type SeenMessage } from "../doubles/slack/see.ts";
import type { StoredView } from "../doubles/slack/state.ts";
import { isObject, type JsonObject, objectsIn } from "../doubles/slack/wire.ts";
import { type ChangesDriver, tellChanges } from "./changes-story.ts";

/** Answers have buttons too. */
const isCard = ({ metadata }: SeenMessage) =>
  isObject(metadata?.event_payload) && String(metadata.event_payload.key).startsWith("card:");

/** The ticked boxes of the form, as the client sends them: the options that name one of these paths. */
function ticked(view: StoredView, paths: string[]): Record<string, JsonObject> {
  const groups = objectsIn(view.view.blocks).flatMap(({ type, element }) =>
    type === "input" && isObject(element) ? [element] : [],
  );
  const entries = groups.map(({ action_id: id, options }) => {
    const chosen = objectsIn(options).filter((option) => paths.some((path) => JSON.stringify(option).includes(path)));
    return [String(id), { type: "checkboxes", selected_options: chosen }] as const;
  });
  return Object.fromEntries(entries);
}

async function createDriver(): Promise<ChangesDriver> {
  const slack = await createSlackDouble();
  // Slack would let one channel wait for a minute; slack.test.ts runs under its rates.
  slack.limits.isEnforced = false;
  const env = { SLACK_BOT_TOKEN: slack.botToken, SLACK_API_URL: slack.apiUrl, SLACK_APP_TOKEN: slack.appToken };
  return {
    conversation: `slack:${slack.ann.teamId}:${slack.general.id}`,
    env,
    connect: async () => {},
    close: () => slack.stop(),
    async ask(text) {
      const said = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${text}` });
      const own = () => slack.see({ in: slack.general, thread: said.ts }).filter((message) => message.isAgents);
      const newest = async () => await slack.until(() => own().findLast(isCard), 20_000);
      const click = async (button: string, as = slack.ann) => {
        const { ts } = await newest();
        await slack.interactions.click({ as, on: { channel: slack.general, ts }, button }).acknowledged();
      };
      return {
        async say(more) {
          slack.people.say({ as: slack.ann, in: slack.general, thread: said, text: more });
        },
        answers: async () =>
          own()
            .filter((message) => !isCard(message))
            .map(({ readable }) => readable)
            .join("\n"),
        cards: async () =>
          own()
            .filter(isCard)
            .map(({ readable, buttons }) => ({ text: readable, buttons: buttons.map(({ label }) => label) })),
        press: (button, by = "Ann") => click(button, by === "Ann" ? slack.ann : slack.ben),
        async whole() {
          const { buttons, readable } = await newest();
          const hasDiff = buttons.some(({ label }) => label === "Show diff");
          if (hasDiff) await click("Show diff");
          const view = () => readableView(slack.views.stack(slack.ann).at(-1)?.view ?? {});
          const modal = hasDiff ? await slack.until(() => /^(?!One moment)./s.exec(view()) && view(), 20_000) : "";
          const direct = slack.see({ in: slack.workspace.direct(slack.ann), as: slack.ann });
          const files = [...own(), ...direct].flatMap(({ files }) => files.map(({ content }) => content));
          return [readable, modal, ...files].join("\n");
        },
        async allow() {
          const on = { channel: slack.general, ts: (await newest()).ts };
          slack.interactions.click({ as: slack.ann, on, option: "Allow here for 30 min…" });
          const view = await slack.until(() => slack.views.stack(slack.ann).at(-1), 20_000);
          await slack.interactions.submit({ as: slack.ann, view }).acknowledged();
        },
        async choose(paths) {
          await click("Choose files…");
          const view = await slack.until(() => slack.views.stack(slack.ann).at(-1), 20_000);
          const values = ticked(view, paths);
          await slack.interactions.submit({ as: slack.ann, view, values }).acknowledged();
        },
      };
    },
  };
}

describe("changes on Slack", () => {
  tellChanges(createDriver);
});
