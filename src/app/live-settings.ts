/**
 * Reads the settings again on a signal or when a file has been saved. What can change while Remora runs (config/live-keys.ts)
 * changes at once, all of it or nothing; the log names what needs a restart. A file with a mistake changes nothing.
 * Changes to safety settings are in the audit log before they are in force.
 */
import { devNull } from "node:os";
import { dirname } from "node:path";
import { type FSWatcher, watch } from "chokidar";
import { applyLive, changesBetween, type SettingChange } from "../config/live-keys.ts";
import { formatProblem, type LoadResult } from "../config/load.ts";
import { messageOf } from "../lib/errors.ts";
import type { Audit } from "../ports/audit.ts";
import type { StatusLine } from "../ports/health.ts";
import type { AppOptions } from "./options.ts";

export interface LiveSettings {
  /** Calls the listener after each change, before any other work continues. */
  onApplied(listener: () => void): void;
  /** Never rejects. The result is in the log and in `status`. */
  reload(): Promise<void>;
  watch(): void;
  /** Empty if the settings in force are those of the files. */
  status(): StatusLine[];
  close(): Promise<void>;
}

/** Editors write a file in several steps, and half a file is a different configuration. */
const quietMs = 300;
const maxNamedSettings = 5;

export function createLiveSettings(options: AppOptions, audit: Audit): LiveSettings {
  const { settings, log } = options;
  const listeners: (() => void)[] = [];
  let problem: StatusLine | undefined;
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  async function reloadNow(load: () => LoadResult): Promise<void> {
    const result = load();
    const refused = result.type === "invalid" ? result.problems.map(formatProblem) : problemsOfEmptyFile(result);
    if (refused.length > 0) {
      log.error({ problems: refused }, "the new settings have problems, so the earlier ones stay in force");
      problem = { name: "settings", state: "warning", detail: refusedText(refused) };
      return;
    }
    if (result.type === "ok") await apply(result);
  }

  /** An editor empties a file before it writes; and who removes the file has not decided on all the defaults. */
  function problemsOfEmptyFile(result: LoadResult): string[] {
    const isFromFile = ({ sources }: typeof settings) => sources.some(({ source }) => source === "file");
    if (result.type === "invalid" || isFromFile(result.settings) || !isFromFile(settings)) return [];
    return [`[${settings.configFile}] is empty or missing. Restart Remora to use the defaults.`];
  }

  async function apply({ settings: next }: Extract<LoadResult, { type: "ok" }>): Promise<void> {
    const changes = changesBetween(settings, next);
    const live = changes.filter(({ isLive }) => isLive);
    for (const { key, from, to } of live.filter(({ isSafety }) => isSafety))
      await audit.record("settings.changing", { key, from, to, file: next.configFile });
    applyLive(settings, next, changes);
    for (const listener of listeners) listener();
    if (live.some(({ key }) => key === "log.level")) options.setLogLevel?.(settings.config.log.level);
    for (const { key, from, to } of live) log.info({ key, from, to }, `${key} is ${to} now; it was ${from}`);
    const waiting = changes.filter(({ isLive }) => !isLive);
    for (const { key } of waiting) log.warn({ key }, `${key} has changed and needs a restart`);
    for (const warning of next.warnings.filter((one) => !settings.warnings.includes(one))) log.warn({}, warning);
    settings.warnings = next.warnings;
    if (changes.length === 0) log.info({}, "the settings were read again; nothing has changed");
    problem = waiting.length === 0 ? undefined : { name: "settings", state: "warning", detail: waitingText(waiting) };
  }

  function reload(): Promise<void> {
    const { reloadSettings: load } = options;
    if (load === undefined) return running;
    running = running
      .then(() => reloadNow(load))
      .catch((thrown: unknown) => {
        log.error({ error: messageOf(thrown) }, "the settings could not be read again; the earlier ones stay in force");
        problem = { name: "settings", state: "warning", detail: refusedText([messageOf(thrown)]) };
      });
    return running;
  }

  return {
    onApplied: (listener) => void listeners.push(listener),
    reload,
    watch() {
      if (options.reloadSettings === undefined) return;
      const files = [settings.configFile, settings.envFile].filter((file) => file !== devNull);
      const folders = files.map((file) => dirname(file));
      watcher = watch([...new Set(folders)], {
        ...{ ignoreInitial: true, depth: 0 },
        ignored: (path) => !files.includes(path) && !folders.includes(path),
      });
      watcher.on("all", () => {
        clearTimeout(timer);
        timer = setTimeout(() => void reload(), quietMs).unref();
      });
      watcher.on("error", (thrown) =>
        log.warn({ error: messageOf(thrown) }, "can't watch the settings: send SIGHUP after a change"),
      );
    },
    status: () => (problem === undefined ? [] : [problem]),
    async close() {
      await watcher?.close();
      clearTimeout(timer);
      await running;
    },
  };
}

function refusedText([first = "", ...others]: readonly string[]): string {
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return `the file has a problem, so the earlier settings stay in force: ${first}${more}`;
}

function waitingText(waiting: readonly SettingChange[]): string {
  const named = waiting.slice(0, maxNamedSettings).map(({ key }) => key);
  const more = waiting.length > named.length ? ` and ${waiting.length - named.length} more` : "";
  return `changed, and needs a restart: ${named.join(", ")}${more}`;
}
