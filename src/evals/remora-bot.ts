/**
 * The agent itself as a bot that plays tasks: the same start, page and services as those that people use, in this process and in
 * a temporary installation. Each task begins with a new one, so that nothing of earlier tasks is left, no reminder of
 * theirs comes due, and no turn of theirs runs on.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import type { App } from "../app/app.ts";
import { hasLedger, withLedger } from "../cli/open-state.ts";
import { settingsFor } from "../cli/settings.ts";
import { start } from "../cli/start.ts";
import type { Environment } from "../config/environment.ts";
import type { Settings } from "../config/settings.ts";
import { createFileOrder } from "../lib/file-order.ts";
import { silentLog } from "../lib/log.ts";
import { createKnowledge } from "../memory/knowledge.ts";
import { folderNameOf } from "../memory/places.ts";
import type { Scope } from "../ports/message.ts";
import { originOfPerson } from "../ports/origin.ts";
import { installProxies } from "../proxy/install.ts";
import { openLedger } from "../storage/open-state.ts";
import { readToken } from "../web/page-token.ts";
import type { Bot, BotSession } from "./bot.ts";
import { openConversation } from "./conversation.ts";
import { readEffects } from "./read-effects.ts";
import type { Task } from "./task.ts";
import { createTemporaryHome } from "./temporary-home.ts";
import { usableModel } from "./usable-model.ts";

export interface RemoraBotOptions {
  /** Of the operator: settings, model and keys. */
  env: Environment;
  /** The operator's working folder. */
  root: string;
  /** More folders with skills. */
  skills?: readonly string[];
  /** In tables. */
  name?: string;
  /** Ends the check of the model. Rejects with its reason. */
  signal?: AbortSignal | undefined;
}

const person = { id: "ann", name: "Ann" };
const channel = "general";
const maxTitle = 60;

/** Rejects with what to do if the settings are wrong, or if no model answers but the demo. */
export async function createRemoraBot({ env, root, skills, name = "remora", signal }: RemoraBotOptions): Promise<Bot> {
  const settings = settingsFor(env, root);
  await installProxies(settings.proxies);
  const model = await usableModel(settings, signal);
  const off = await switchedOffSkills(settings);
  const home = await createTemporaryHome({ env, root, settings, model, skills });

  async function open(task: Task): Promise<BotSession> {
    await home.renew();
    const scope: Scope = task.where === "dm" ? `dm:${person.id}` : `channel:${channel}`;
    const folder = join(home.workspace, "files", folderNameOf(scope));
    await writeFiles(folder, task);
    await writeNotes(home.workspace, scope, task.notes);
    const ledger = await openLedger({ data: home.data, redis: null, log: silentLog });
    const closing = [ledger.close];
    const close = async () => {
      for (const end of closing.toReversed()) await end();
    };
    try {
      for (const skill of off) await ledger.create("skill-switch", skill, { state: "off", body: {}, group: "skills" });
      const app = await startInProcess(home.env, root);
      closing.push(app.close);
      const token = await readToken(join(home.data, "page-token"));
      const conversation = await openConversation({
        ...{ url: app.report().url ?? "", token, person: person.id, files: task.files, ledger },
        place: task.where === "dm" ? { dm: true } : { channel },
      });
      closing.push(async () => conversation.close());
      const { workspace } = home;
      const effects = () => readEffects({ ledger, folder, workspace, cards: conversation.cards() });
      return { say: conversation.say, effects, close };
    } catch (thrown) {
      await close();
      throw thrown;
    }
  }

  return { name, hasCards: true, open, close: home.remove };
}

/** Of the operator's agent. */
async function switchedOffSkills(settings: Settings): Promise<string[]> {
  if (!hasLedger(settings)) return [];
  const entries = await withLedger(settings, (ledger) => ledger.list("skill-switch", { states: ["off"] }));
  return entries.map(({ id }) => id);
}

async function startInProcess(env: Environment, root: string): Promise<App> {
  let app: App | undefined;
  const ignored = new PassThrough().resume();
  await start(
    env,
    root,
    { role: "all" },
    { stdout: ignored, stderr: ignored, stopWith: () => ({ use: (created) => (app = created) }) },
  );
  if (app === undefined) throw new TypeError("the start has not named its app");
  return app;
}

/** Files that a turn attaches come with it. */
async function writeFiles(folder: string, { files, turns }: Task): Promise<void> {
  const attached = new Set(turns.flatMap(({ attach }) => attach));
  await mkdir(folder, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    if (attached.has(path)) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/** As the tool `remember` does for the person of the task. */
async function writeNotes(workspace: string, scope: Scope, notes: readonly string[]): Promise<void> {
  const knowledge = createKnowledge({ workspace, inOrder: createFileOrder(workspace), redact: (text) => text });
  const origins = scope.startsWith("channel:") ? [originOfPerson(person)] : [];
  const titles = new Set<string>();
  for (const [index, note] of notes.entries()) {
    const [line = ""] = note.trim().split("\n");
    const title = titles.has(line.slice(0, maxTitle)) ? `${index + 1}. ${line}` : line;
    titles.add(line.slice(0, maxTitle));
    await knowledge.write(scope, title, note, origins);
  }
}
