/**
 * An installation for tasks: the operator's settings, model, skills and brain files, with a workspace and data of its own, and
 * without chat services, so that nothing of the operator's own installation is touched.
 */
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import { delimiter, join, relative, sep } from "node:path";
import { parse, stringify } from "yaml";
import { readEnvFile } from "../config/env-file.ts";
import type { Environment } from "../config/environment.ts";
import { packageFolder, type Settings } from "../config/settings.ts";
import { ifMissing } from "../lib/errors.ts";
import { isJsonObject } from "../lib/json.ts";
import type { JsonObject } from "../ports/message.ts";

export interface TemporaryHome {
  env: Environment;
  workspace: string;
  data: string;
  /** As before the first task. At the same paths, so that prompts stay the same. */
  renew(): Promise<void>;
  remove(): Promise<void>;
}

export interface HomeOptions {
  env: Environment;
  root: string;
  /** Of `env` and `root`. */
  settings: Settings;
  /** The one that plays, as `provider/model`: no other one may answer in its place. */
  model: string;
  /** More folders with skills. */
  skills?: readonly string[] | undefined;
}

/** With their values, a second process would take the messages of the operator's agent, or write where it writes. */
const leftOutVariables = /^(?:(?:SLACK|DISCORD|REDIS|OTEL)_\w+|REMORA_PORT_WRAPPERS)$/;
/** What the operator's agent has learned, in the folder `brain`. */
const learned = /^(?:hippocampus|basalganglia|cortex|corpus|motor[/\\]tasks|prefrontal[/\\]\.debug)(?:[/\\]|$)/;
const copiedFolders = ["brain", "skills", "knowledge", ".agents"];
/** Running turns of a task that took too long are not waited for. */
const graceMs = 1;

export async function createTemporaryHome({
  env,
  root,
  settings,
  model,
  skills = [],
}: HomeOptions): Promise<TemporaryHome> {
  const folder = await mkdtemp(join(tmpdir(), "remora-eval-"));
  const [workspace, data, config] = [join(folder, "workspace"), join(folder, "data"), join(folder, "remora.yaml")];
  const given = readEnvFile(env, root).env;
  const source = await readFile(settings.configFile, "utf8").catch(ifMissing(""));
  await writeFile(config, stringify(changedSettings(parse(source), given, model)), { mode: 0o600 });
  const kept = Object.entries(given).filter(([name]) => !leftOutVariables.test(name));
  const from = existsSync(join(settings.workspace, "brain")) ? settings.workspace : join(packageFolder, "workspace");
  return {
    ...{ workspace, data },
    env: {
      ...Object.fromEntries(kept),
      ...{ REMORA_ENV_FILE: devNull, REMORA_CONFIG: config, REMORA_WORKSPACE: workspace, REMORA_DATA: data },
      ...{ REMORA_MODEL: model, REMORA_PORT: "0", LOG_LEVEL: "warn" },
      REMORA_SKILLS: [...(given.REMORA_SKILLS || "").split(delimiter), ...skills].join(delimiter),
    },
    async renew() {
      for (const own of [workspace, data]) {
        await rm(own, { recursive: true, force: true });
        await mkdir(own, { mode: 0o700 });
      }
      for (const name of copiedFolders) await copyFolder(from, workspace, name);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function copyFolder(from: string, to: string, name: string): Promise<void> {
  const brain = join(from, "brain") + sep;
  const filter = (path: string) => !(path.startsWith(brain) && learned.test(relative(brain, path)));
  if (existsSync(join(from, name))) await cp(join(from, name), join(to, name), { recursive: true, filter });
}

/** One person at the page plays all approvers. A request for the model's health would count as one of a task. */
function changedSettings(raw: unknown, env: Environment, model: string): JsonObject {
  const settings = isJsonObject(raw) ? withLeftOut(raw, env) : {};
  const part = (name: string) => objectIn(settings[name]);
  const { web: _web, tracing: _tracing, folders: _folders, ...kept } = settings;
  const tools = Object.entries(objectIn(part("safety").tools));
  return {
    ...kept,
    models: { ...part("models"), order: model.split("/", 1) },
    local: { enabled: true },
    log: { ...part("log"), keepDays: 0 },
    health: { ...part("health"), modelCall: false },
    shutdown: { graceMs },
    safety: {
      ...part("safety"),
      quorum: 1,
      tools: Object.fromEntries(tools.map(([tool, rule]) => [tool, { ...objectIn(rule), quorum: 1 }])),
    },
  };
}

/** A setting of a skill may use a variable that turns on a chat service. */
function withLeftOut(raw: JsonObject, env: Environment): JsonObject {
  const filled = (text: string) =>
    text.replace(/\$\{([A-Za-z_]\w*)(?::-[^}]*)?\}/g, (whole, name: string) =>
      leftOutVariables.test(name) ? (env[name] ?? whole) : whole,
    );
  return JSON.parse(JSON.stringify(raw, (_key, value: unknown) => (typeof value === "string" ? filled(value) : value)));
}

function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
