/** Who can approve: everybody for their own requests, or named people and roles. */
import { RemoraError } from "../lib/errors.ts";
import type { DiscordReady } from "./discord-step.ts";
import { type Person, type Setup, variable } from "./services.ts";
import type { SlackReady } from "./slack-step.ts";

const path = ["safety", "approvers"];
const ownersPath = ["safety", "owners"];
const platforms = [
  { name: "Slack", token: "SLACK_BOT_TOKEN", other: "discord" },
  { name: "Discord", token: "DISCORD_TOKEN", other: "slack" },
];

/** Resolves to true if the first person who mentions Remora is to be suggested. */
export async function chooseApprovers(
  setup: Setup,
  ready: { slack: SlackReady | undefined; discord: DiscordReady | undefined },
): Promise<boolean> {
  const { ask, flags, config } = setup;
  const given = flags.approver?.filter((text) => text.trim() !== "");
  if (given !== undefined && given.length > 0) {
    if (given.includes("first")) return true;
    await saveApprovers(
      setup,
      given.map((text) => approverOf(text, "--approver")),
    );
    return false;
  }
  const present = config.get(path);
  const isSet = Array.isArray(present) && JSON.stringify(present) !== '["requester"]';
  const hasChat = ready.slack !== undefined || ready.discord !== undefined;
  if (!hasChat && !isSet) return false;
  const chosen = await ask.select({
    message: "Who can approve risky actions?",
    flag: "--approver",
    initial: isSet ? "keep" : ask.isInteractive ? "first" : "requester",
    choices: [
      ...(isSet ? [{ value: "keep" as const, label: `Keep ${(present as unknown[]).join(", ")}` }] : []),
      { value: "first" as const, label: "The first person who mentions me", hint: "you confirm it here" },
      { value: "people" as const, label: "People I choose now" },
      { value: "requester" as const, label: "The person who asks", hint: "everybody approves their own requests" },
    ],
  });
  if (chosen === "people") {
    const { approvers, people } = await choosePeople(setup, ready);
    await saveApprovers(setup, approvers, people);
  }
  if (chosen === "requester") await saveApprovers(setup, ["requester"]);
  return chosen === "first";
}

async function choosePeople(
  setup: Setup,
  { slack, discord }: { slack: SlackReady | undefined; discord: DiscordReady | undefined },
): Promise<{ approvers: string[]; people: Person[] }> {
  const { ask, services } = setup;
  const listed =
    slack === undefined
      ? undefined
      : await ask.during("Reading who is in your workspace", () => services.listSlackPeople(slack.botToken));
  if (listed?.problem !== undefined) {
    const whom = listed.people.length === 0 ? "your people" : "all of your people";
    ask.warn(`Slack did not list ${whom} (${listed.problem}). Enter their ids instead.`);
  }
  const people: Person[] = [
    ...(listed?.people ?? []),
    ...(discord?.owner === undefined
      ? []
      : [{ id: `discord:${discord.owner.id}`, name: discord.owner.name, hint: "created the Discord application" }]),
  ];
  const typed = "type";
  const choices = [
    ...people.map(({ id, name, hint }) => ({ value: `user:${id}`, label: name, hint })),
    { value: typed, label: "Somebody else, by id" },
  ];
  const question = { message: "Who? Choose one or more.", flag: "--approver", choices, initial: [] };
  const chosen = people.length === 0 ? [typed] : await ask.several(question);
  const named = chosen.filter((value) => value !== typed);
  if (!chosen.includes(typed)) return { approvers: named, people };
  const text = await ask.text({
    message:
      "Their ids, separated by commas (Slack: profile → ⋮ → Copy member ID; Discord: right-click → Copy User ID)",
    flag: "--approver",
    initial: "",
    problemOf: (answer) => problemOfIds(answer),
  });
  return { approvers: [...named, ...idsIn(text).map((id) => approverOf(id, "--approver"))], people };
}

export function hasOwner({ config }: Pick<Setup, "config">): boolean {
  const owners = config.get(ownersPath);
  return Array.isArray(owners) && owners.length > 0;
}

function problemOfIds(answer: string): string | undefined {
  if (idsIn(answer).length === 0) return "Enter at least one id.";
  try {
    for (const id of idsIn(answer)) approverOf(id, "--approver");
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof RemoraError)) throw thrown;
    return thrown.message.replace(/^\[[^\]]*\]\s*/, "");
  }
}

function idsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((id) => id !== "");
}

/** An id alone says by its form which service it belongs to. */
function approverOf(text: string, place: string): string {
  const id = text.trim();
  if (id === "requester" || /^(?:user|role):(?:(?:slack|discord|local):)?[\w.-]+$/.test(id)) return id;
  if (/^[UW][A-Z0-9]{6,}$/.test(id)) return `user:slack:${id}`;
  if (/^S[A-Z0-9]{6,}$/.test(id)) return `role:slack:${id}`;
  if (/^\d{15,21}$/.test(id)) return `user:discord:${id}`;
  const message = `“${id.slice(0, 60)}” is not an id. Use requester, user:slack:U012AB3CD, user:discord:80351110224678912 or role:…`;
  throw new RemoraError({ code: "setup.approver", place, message });
}

/** The first person becomes the owner too, if there is none yet. `people` are those whose names are known. */
export async function saveApprovers(
  setup: Setup,
  approvers: string[],
  people: readonly Pick<Person, "id" | "name">[] = [],
): Promise<void> {
  const { ask, config } = setup;
  const unique = [...new Set(approvers)];
  const first = hasOwner(setup) ? undefined : unique.find((entry) => entry.startsWith("user:"));
  const named = (entry: string) => {
    const name = people.find(({ id }) => entry === `user:${id}`)?.name;
    return name === undefined ? entry : `${name} (${entry})`;
  };
  await config.set([[path, unique], ...(first === undefined ? [] : [[ownersPath, [first]] as const])]);
  ask.done(
    unique.join() === "requester"
      ? "Everybody approves their own requests."
      : `Can approve: ${unique.map(named).join(", ")}`,
  );
  if (first !== undefined) {
    ask.done(`Owner: ${named(first)}`);
    ask.say(
      `Owners get a message when something breaks, and can approve what nobody else can. To change them: safety.owners in ${config.path}`,
    );
  }
  for (const { name, token, other } of platforms) {
    const isOnlyOther = unique.every((id) => id.split(":").includes(other));
    if (isOnlyOther && variable(setup, token) !== undefined)
      ask.warn(`Nobody can approve on ${name} yet. Add somebody to safety.approvers in ${config.path}.`);
  }
}
