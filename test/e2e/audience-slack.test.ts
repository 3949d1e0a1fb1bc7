/** Who reads a private channel's words, on Slack. */
import { createSlackDouble } from "../doubles/slack/double.ts";
import { type AudienceDriver, tellAudience } from "./audience-story.ts";

async function createDriver(): Promise<AudienceDriver> {
  const slack = await createSlackDouble();
  const { ann, ben, general } = slack;
  const mallory = slack.workspace.addPerson({ name: "Mallory" });
  general.members.add(mallory.id);
  const hidden = slack.workspace.addChannel({ name: "hidden", isPrivate: true, members: [ann, ben] });
  const people = { ann, mallory };
  const direct = (who: "ann" | "mallory") => slack.workspace.direct(people[who]);
  const agentsIn = (channel: typeof general, who?: typeof ann) =>
    slack
      .see({ in: channel, ...(who === undefined ? {} : { as: who }) })
      .filter(({ isAgents }) => isAgents)
      .map(({ readable, files }) => [readable, ...files.map(({ content }) => content)].join("\n"))
      .join("\n");
  const cardIn = () =>
    slack.see({ in: direct("ann") }).findLast(({ buttons }) => buttons.some(({ label }) => label === "Deny"));
  return {
    env: { SLACK_BOT_TOKEN: slack.botToken, SLACK_APP_TOKEN: slack.appToken, SLACK_API_URL: slack.apiUrl },
    ...{ open: general.id, hidden: hidden.id },
    async confide(text, file) {
      const files = file === undefined ? {} : { files: [{ name: file.name, content: file.content }] };
      const said = slack.people.say({ as: ben, in: hidden, text, ...files });
      await said.acknowledged();
      return `${hidden.id}:${said.ts}`;
    },
    async say(who, text, { thread, isMention = false, isDirect = false } = {}) {
      const said = slack.people.say({
        ...{ as: people[who], in: isDirect ? direct(who) : general, text: `${isMention ? "@Remora " : ""}${text}` },
        ...(thread === undefined ? {} : { thread }),
      });
      return thread ?? said.ts;
    },
    agentsInOpen: () => agentsIn(general, mallory),
    agentsInDirect: (who) => agentsIn(direct(who), people[who]),
    besideLine: () =>
      slack
        .sessions(ann)
        .filter(({ isAgents, root }) => isAgents && !root.startsWith("You asked in"))
        .map(({ root }) => root),
    openCard: () => cardIn()?.readable ?? "",
    async click(button) {
      const on = { channel: direct("ann"), ts: cardIn()?.ts ?? "" };
      await slack.interactions.click({ as: ann, on, button }).acknowledged();
    },
    openDms(areOpen) {
      if (!areOpen) slack.failNext("conversations.open", { type: "error", error: "cannot_dm_bot" });
    },
    close: () => slack.stop(),
  };
}

tellAudience("Slack", createDriver);
