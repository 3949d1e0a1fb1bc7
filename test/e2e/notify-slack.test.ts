/** Reaching the people who can answer a card, through Slack. */
import { createSlackDouble } from "../doubles/slack/double.ts";
import type { SeenMessage } from "../doubles/slack/see.ts";
import type { Person } from "../doubles/slack/state.ts";
import { type NotifyDriver, type Seen, tellNotifications } from "./notify-story.ts";

async function createDriver(): Promise<NotifyDriver> {
  const slack = await createSlackDouble();
  const [cara, dora] = [slack.workspace.addPerson({ name: "Cara" }), slack.workspace.addPerson({ name: "Dora" })];
  const people: Record<string, Person> = { ann: slack.ann, ben: slack.ben, cara, dora };
  const group = slack.workspace.addGroup("ops", [slack.ben]);
  const personCalled = (name: string) => people[name] ?? slack.ann;
  const names = new Map([...Object.entries(people).map(([name, { id }]) => [id, name] as const), [group.id, "ops"]]);

  const seen = (channel: Person | undefined, message: SeenMessage): Seen => ({
    id: message.ts,
    text: message.readable,
    pings: message.pings.map((id) => names.get(id) ?? id),
    buttons: message.buttons.map(({ label }) => label),
    place: channel === undefined ? "thread" : (names.get(channel.id) ?? ""),
  });
  const agents = (message: SeenMessage) => message.isAgents;

  return {
    env: () => ({ SLACK_BOT_TOKEN: slack.botToken, SLACK_API_URL: slack.apiUrl, SLACK_APP_TOKEN: slack.appToken }),
    approver: (name) => `user:slack:${personCalled(name).id}`,
    role: `role:${group.id}`,
    connect: async () => {},
    close: () => slack.stop(),
    until: (find) => slack.until(find, 30_000) as never,
    async ask(text) {
      const said = slack.people.say({ as: slack.ann, in: slack.general, text: `@Remora ${text}` });
      return {
        thread: () =>
          slack
            .see({ in: slack.general, thread: said.ts })
            .filter(agents)
            .map((each) => seen(undefined, each)),
      };
    },
    dm(name) {
      const person = personCalled(name);
      return slack
        .see({ in: slack.workspace.direct(person) })
        .filter(agents)
        .map((each) => seen(person, each));
    },
    async click(name, { id, place }, button) {
      const as = personCalled(name);
      const channel = place === "thread" ? slack.general : slack.workspace.direct(personCalled(place));
      await slack.interactions.click({ as, on: { channel, ts: id }, button }).acknowledged();
    },
  };
}

tellNotifications("Slack", createDriver);
