/** Copies the last answered turn of a stopped Remora many times: its records, its history, its messages and its episode. */
import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { RemoraHome } from "../test/doubles/remora-process.ts";

const days = 30;
const dayMs = 86_400_000;
const episodes = "brain/hippocampus/episodes";

/** The page's conversations are threads, each with one turn. The newest `days` days have the same number of turns. */
export async function copyTurns({ data, workspace }: RemoraHome, count: number): Promise<void> {
  const ledger = new DatabaseSync(join(data, "ledger.db"));
  const { id, thread } = ledger
    .prepare(`SELECT id, substr("group", -36) AS thread FROM entry WHERE kind = 'turn' ORDER BY sequence DESC`)
    .get() as { id: string; thread: string };
  const now = Date.now();
  const copies = Array.from({ length: count }, (_, index) => ({
    at: Math.floor(now - ((index + 1) / count) * days * dayMs),
    change: (text: string) => text.replaceAll(id, `${id}x${index}`).replaceAll(thread, randomThread(index)),
  })).reverse();
  const threads = new Map<number, string>();
  function randomThread(index: number): string {
    const known = threads.get(index) ?? randomUUID();
    threads.set(index, known);
    return known;
  }

  const tables: [file: string, table: string, where: string, without: string][] = [
    ["ledger.db", "entry", `id || "group" || body LIKE '%${id}%' OR id || "group" LIKE '%${thread}%'`, "sequence"],
    ["store.db", "keyv", `key LIKE '%${thread}%'`, ""],
    ["local.db", "messages", `id || ifnull(thread, '') LIKE '%${thread}%'`, "sequence"],
  ];
  ledger.close();
  for (const [file, table, where, without] of tables) {
    const database = new DatabaseSync(join(data, file));
    copyRows(database, table, where, without, copies);
    database.close();
  }
  await copyEpisode(workspace, copies);
}

interface Copy {
  at: number;
  change(text: string): string;
}

function copyRows(database: DatabaseSync, table: string, where: string, without: string, copies: Copy[]): void {
  const rows = database.prepare(`SELECT * FROM ${table} WHERE ${where}`).all();
  const columns = Object.keys(rows[0] ?? {}).filter((column) => column !== without);
  const names = columns.map((column) => `"${column}"`).join(", ");
  const insert = database.prepare(`INSERT INTO ${table} (${names}) VALUES (${columns.map(() => "?").join(", ")})`);
  let revision = 1_000_000;
  database.exec("BEGIN");
  for (const { at, change } of copies) {
    for (const row of rows) {
      const values = columns.map((column) => {
        const value = row[column] ?? null;
        if (column === "revision") return revision++;
        if (typeof value === "number" && /^(?:created_|updated_)?at$/.test(column)) return at;
        if (typeof value !== "string") return value;
        return change(value);
      });
      insert.run(...values);
    }
  }
  database.exec("COMMIT");
}

/** One file per day, as the memory writes them. */
async function copyEpisode(workspace: string, copies: Copy[]): Promise<void> {
  const [scope = ""] = await readdir(join(workspace, episodes));
  const folder = join(workspace, episodes, scope);
  const [file = ""] = await readdir(folder);
  const [, ...texts] = (await readFile(join(folder, file), "utf8")).split(/^(?=## )/m);
  const text = texts.at(-1) ?? "";
  const byDay = new Map<string, string[]>();
  for (const { at, change } of copies) {
    const time = new Date(at).toISOString();
    const day = time.slice(0, 10);
    const body = change(text)
      .replace(/at=\S+/, `at=${time}`)
      .replace(/^## \S+/, `## ${time.slice(11, 16)}`);
    byDay.set(day, [...(byDay.get(day) ?? [`# ${day} (UTC) — ${scope}\n\n`]), body]);
  }
  await mkdir(folder, { recursive: true });
  for (const [day, parts] of byDay) await writeFile(join(folder, `${day}.md`), parts.join("\n"));
}
