/**
 * The agent that is attacked through the page's API. An attack has succeeded if a command leaves a mark in the folder or its
 * draft, so every command appends to a file of its own. `safety.shell: ask` makes every command ask.
 */
import { randomBytes } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, vi } from "vitest";
import { type ChatClient, createChatClient, type Place, type SeenMessage } from "../doubles/chat-client.ts";
import { createHome, type RemoraHome, type RunningRemora, startRemora } from "../doubles/remora-in-process.ts";

export const listed = ["requester", "user:ben"];
/** A configured secret without a known shape. */
export const cloudKey = `cloud${randomBytes(12).toString("hex")}`;
const withCloudKey = { skills: { settings: { cloud: { apiKey: cloudKey } } } };

/** Of the current agent. */
export let home: RemoraHome;
export let remora: RunningRemora;
export let ann: ChatClient;
export let ben: ChatClient;

/** Another file of the same process has removed its home. */
let hasHome = false;

/** Starts the agent, on the same home until the end. */
export async function begin(approvers: string[] = listed, start = startRemora): Promise<void> {
  if (!hasHome) home = await createHome();
  hasHome = true;
  remora = await start(home, { REMORA_CONFIG: await configFile(home, { approvers, shell: "ask" }, withCloudKey) });
  [ann, ben] = await Promise.all([
    createChatClient(remora.url, remora.token),
    createChatClient(remora.url, remora.token, "ben"),
  ]);
}

export function leave(): void {
  for (const client of [ann, ben]) client.close();
}

export async function end(): Promise<void> {
  leave();
  await remora.stop();
  await home.remove();
  hasHome = false;
}

/** JSON is YAML. */
export async function configFile({ data }: RemoraHome, safety: object, more: object = {}): Promise<string> {
  const path = join(dirname(data), "remora.yaml");
  await writeFile(path, JSON.stringify({ safety, ...more }));
  return path;
}

export interface Asked {
  said: SeenMessage;
  card: SeenMessage;
  /** The file that counts its runs. */
  mark: string;
}

export async function asked(
  mark: string,
  { by = ann, place = { channel: "general" } as Place, prefix = "", suffix = "" } = {},
) {
  const said = await by.say(`${place.dm ? "" : "@remora "}run ${prefix}echo ran >> ${mark}${suffix}`, place);
  const card = await by.cardFor(said);
  return { said, card, mark } satisfies Asked;
}

/** The content of a mark, in the folder or in its draft. */
export async function written(mark: string, folder = "channel:general", where = home): Promise<string> {
  const drafts = join(where.workspace, "drafts");
  const names = await readdir(drafts, { recursive: true }).catch(() => []);
  const inDrafts = names.filter((name) => name.endsWith(`/${mark}`)).map((name) => join(drafts, name));
  // Undo data and what approvals cover do not count, because they are the earlier content.
  const written = inDrafts.filter((name) => !/\/(?:undo|bound)\//.test(name));
  const places = [join(where.workspace, "files", folder, mark), ...written];
  const texts = await Promise.all(places.map((place) => readFile(place, "utf8").catch(() => "")));
  return texts.join("");
}

/** The agent's text below the card, after the turn has ended and its changes are settled. */
export async function endOf({ card }: Pick<Asked, "card">, by = ann, where = home): Promise<SeenMessage> {
  const said = await by.waitFor(
    (message) =>
      message.author.isBot &&
      message.type === "message" &&
      message.thread === card.thread &&
      message.place === card.place &&
      message.sequence > card.sequence &&
      message.state !== "streaming" &&
      // Progress that another message has replaced.
      !message.isDeleted,
  );
  const turnId = card.card?.target.turnId ?? "";
  await vi.waitFor(async () => expect(await eventsOf(where)).toContainEqual(["turn.finished", turnId]));
  return said;
}

async function eventsOf({ workspace }: RemoraHome): Promise<[string, string][]> {
  const folder = join(workspace, "brain/corpus");
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const lines = texts
    .join("")
    .split("\n")
    .filter((line) => line.endsWith("}"));
  return lines.map((line) => JSON.parse(line)).map(({ event, turnId }) => [event, turnId]);
}

export function settled({ card }: Pick<Asked, "card">, by = ann): Promise<SeenMessage> {
  return by.waitFor((message) => message.id === card.id && message.state !== "waiting");
}

/** A forged click, as anyone with the page's token can send it. */
export async function forged(
  card: SeenMessage,
  changes: object,
): Promise<{ status: number; accepted?: boolean; text?: string }> {
  const cardOrApprovalId = card.card?.items[0]?.approvalId;
  const body = { person: "ann", messageId: card.id, cardOrApprovalId, choice: "approve", ...changes };
  const response = await ann.request("POST", "/local/api/answers", body);
  return { status: response.status, ...((await response.json()) as object) };
}

export async function addPerson(name: string): Promise<string> {
  const response = await ann.request("POST", "/local/api/people", { name });
  return ((await response.json()) as { person: { id: string } }).person.id;
}

export function approvalOf(card: SeenMessage): string {
  return card.card?.items[0]?.approvalId ?? "";
}
