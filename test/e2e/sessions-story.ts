/**
 * A day and the next morning of Ann on Slack: in her direct messages, and in a channel where Ben approves. At each step, what
 * stands in the list of sessions and in the open thread. `scripts/screenshots/` draws what slack.test.ts checks.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Scene } from "../../scripts/screenshots/story-model.ts";
import type { SlackDouble } from "../doubles/slack/double.ts";
import type { Said } from "../doubles/slack/people.ts";
import type { SeenMessage } from "../doubles/slack/see.ts";
import type { Channel, SessionStatus } from "../doubles/slack/state.ts";

export interface SessionRow {
  title: string;
  status: SessionStatus | undefined;
  hasStop: boolean;
  isOpen: boolean;
}

export interface SessionStep {
  caption: string;
  /** The newest activity first. */
  rows: SessionRow[];
  thread: SeenMessage[];
}

interface Stage {
  slack: SlackDouble;
  channel: Channel;
  steps: SessionStep[];
  isPictured: boolean;
}

const dayMs = 24 * 3_600_000;
const patienceMs = 60_000;
const call = (tool: string, input: object) => ({ tool, input });
const post = (text: string) => ({ calls: [call("chat_post", { channel: "#announcements", text })] });

/** `thinkMs`: how long the model takes for what uses tools. Their plan appears after two seconds. */
export const sessionScenes = (thinkMs: number): Scene[] => [
  {
    when: "working days",
    thinkMs,
    steps: [
      {
        calls: [call("shell_exec", { command: "date -d 2026-12-18 +%j" })],
      },
      post("15 working days are left until the release on 18 December."),
    ],
    answer: "15 working days are left until 18 December, and #announcements knows.",
  },
  { when: "HTTP 451", steps: [], answer: "It means that the page was withheld for legal reasons." },
  {
    when: "watch the deployment",
    steps: [{ calls: [call("shell_exec", { command: "until ls | grep -q deployed; do sleep 1; done" })] }],
    answer: "The deployment is done.",
  },
  { when: "without the 8th", steps: [], answer: "Then 14 working days are left." },
  { when: "Good morning", steps: [], answer: "Good morning! Nothing waits for you." },
  {
    when: "what is new in 1.4.2",
    thinkMs,
    steps: [
      { calls: [call("read_file", { path: "CHANGELOG.md" })] },
      post("1.4.2 is out: paying by card is twice as fast."),
    ],
    answer: "Done: #announcements knows that 1.4.2 is out, and that paying by card is twice as fast.",
  },
  { when: "since when is it out", steps: [], answer: "Since yesterday." },
  { when: "when is the next release", steps: [], answer: "On 18 December." },
];

/** `requester` would do for Ann's direct messages; in the channel, Ben answers. */
export function sessionSettings({ slack: { ben } }: Pick<Stage, "slack">): object {
  return { safety: { tools: { chat_post: { approvers: ["requester", `user:slack:${ben.id}`] } } } };
}

/** Moves Slack's clock by a day. With `isPictured`, waits until the plan of the tools can be seen. */
export async function tellSessions({
  slack,
  workspace,
  isPictured,
}: {
  slack: SlackDouble;
  workspace: string;
  isPictured: boolean;
}): Promise<Record<"dm" | "channel", SessionStep[]>> {
  const { ann, ben } = slack;
  slack.workspace.addChannel({ name: "announcements", members: [ann, ben] });
  const website = slack.workspace.addChannel({ name: "website", members: [ann, ben] });
  const folder = join(workspace, "files", `channel:${website.id}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "CHANGELOG.md"), "## 1.4.2\n\n- Paying by card is twice as fast.\n");
  const direct = { slack, channel: slack.workspace.direct(ann), steps: [], isPictured };
  const team = { slack, channel: website, steps: [], isPictured };
  const days = await tellDirect(direct);
  const version = await tellTeam(team);
  slack.clock.advance(dayMs);
  await tellNextDay(direct, team, { days, version });
  return { dm: direct.steps, channel: team.steps };
}

async function tellDirect(stage: Stage): Promise<Said> {
  const { slack } = stage;
  const { ann } = slack;
  const days = write(stage, "How many working days until 18 December? Tell everybody");
  await begun(stage, days);
  keep(stage, "Ann writes: the thread is a session at once, and has a stop button", days);
  const card = await cardIn(stage, days);
  await state(stage, days, "suspended");
  const page = write(stage, "What does HTTP 451 mean?");
  await answered(stage, page, "legal reasons");
  keep(stage, "A card waits. A second message is a session of its own, and does not wait", days);
  await click(stage, ann, card);
  await answered(stage, days, "knows");
  keep(stage, "Ann approves", days);
  const long = write(stage, "Please watch the deployment and tell me when it is done");
  await planIn(stage, long);
  keep(stage, "Something that takes long", long);
  slack.people.stopStream(ann, { ts: long.ts, channel: stage.channel });
  await answered(stage, long, "Stopped");
  await state(stage, long, "active");
  keep(stage, "Ann presses Slack's stop button", long);
  await command(stage, "new");
  await state(stage, long, "closed");
  keep(stage, "/remora new: the newest session is over", long);
  return days;
}

async function tellTeam(stage: Stage): Promise<Said> {
  const { ben } = stage.slack;
  const version = write(stage, "@Remora please announce what is new in 1.4.2");
  await begun(stage, version);
  keep(stage, "Ann mentions Remora in #website", version);
  const card = await cardIn(stage, version);
  await state(stage, version, "suspended");
  keep(stage, "The session needs somebody", version);
  await click(stage, ben, card);
  await answered(stage, version, "Done");
  keep(stage, "Ben approves", version);
  return version;
}

async function tellNextDay(
  direct: Stage,
  team: Stage,
  { days, version }: { days: Said; version: Said },
): Promise<void> {
  const caption = "The next day: a reply goes on with yesterday's session, a new message begins another one";
  write(direct, "And without the 8th?", days);
  await answered(direct, days, "14 working days");
  await answered(direct, write(direct, "Good morning!"), "Good morning!");
  keep(direct, caption, days);
  write(team, "@Remora since when is it out?", version);
  await answered(team, version, "Since yesterday");
  await answered(team, write(team, "@Remora when is the next release?"), "18 December");
  keep(team, caption, version);
}

function write({ slack, channel }: Stage, text: string, thread?: Said): Said {
  return slack.people.say({ as: slack.ann, in: channel, text, ...(thread === undefined ? {} : { thread }) });
}

function until({ slack, channel }: Stage, { ts }: Said, fits: (message: SeenMessage) => boolean): Promise<SeenMessage> {
  const look = () => slack.see({ in: channel, thread: ts }).find((message) => message.isAgents && fits(message));
  return slack.until(look, patienceMs);
}

async function begun(stage: Stage, said: Said): Promise<void> {
  await (stage.isPictured ? planIn(stage, said) : state(stage, said, "processing"));
}

function planIn(stage: Stage, said: Said): Promise<SeenMessage> {
  return until(stage, said, hasPlan);
}

function hasPlan({ blocks }: SeenMessage): boolean {
  return blocks.some(({ type }) => type === "plan" || type === "task_card");
}

function cardIn(stage: Stage, said: Said): Promise<SeenMessage> {
  return until(stage, said, ({ buttons }) => buttons.some(({ label }) => label === "Approve"));
}

async function state({ slack, channel }: Stage, { ts }: Said, status: SessionStatus): Promise<void> {
  await slack.until(() => slack.sessions.of(channel, ts)?.status === status, patienceMs);
}

/** Also the line below the answer, instead of the plan. */
async function answered(stage: Stage, said: Said, words: string): Promise<void> {
  await until(
    stage,
    said,
    (message) => message.readable.includes(words) && message.streaming !== "in_progress" && !hasPlan(message),
  );
  await state(stage, said, "active");
}

async function click({ slack, channel }: Stage, as: typeof slack.ann, { ts }: SeenMessage): Promise<void> {
  await slack.interactions.click({ as, on: { channel, ts }, button: "Approve" }).acknowledged();
}

/** Returns the answer, which only the person sees. */
async function command({ slack, channel }: Stage, text: string): Promise<string> {
  const { ann } = slack;
  const told = () => slack.see({ in: channel, as: ann }).filter(({ isEphemeral }) => isEphemeral);
  const before = told().length;
  await slack.interactions.command({ as: ann, in: channel, command: "/remora", text }).acknowledged();
  const [answer] = await slack.until(() => (told().length > before ? told().slice(before) : undefined), patienceMs);
  return answer?.readable ?? "";
}

function keep({ slack, channel, steps }: Stage, caption: string, open: Said): void {
  const threads =
    channel.type === "im"
      ? slack.timeline(slack.ann).map(({ ts, title }) => ({ ts, title }))
      : slack.sessions
          .list()
          .filter((session) => session.channel === channel.id)
          .map(({ threadTs, title = "" }) => ({ ts: threadTs, title }));
  const rows = threads.map(({ ts, title }) => {
    const session = slack.sessions.of(channel, ts);
    const hasStop = session?.history.at(-1)?.isStoppable ?? false;
    return { title, status: session?.status, hasStop, isOpen: ts === open.ts };
  });
  steps.push({
    caption,
    rows,
    thread: slack.see({ in: channel, thread: open.ts }).map((each) => ({ ...each })),
  });
}
