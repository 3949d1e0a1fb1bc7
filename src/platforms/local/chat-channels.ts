/** The channels of the local chat. Two exist from the start, and everybody on the page can add more. */
import type { DatabaseSync } from "node:sqlite";

export interface ChatChannels {
  /** Oldest first. */
  names(): string[];
  has(name: string): boolean;
  /** False if the channel exists already. */
  add(name: string): boolean;
}

export const channelsSchema = "CREATE TABLE IF NOT EXISTS channels (name TEXT PRIMARY KEY) STRICT;";

export function createChatChannels(database: DatabaseSync): ChatChannels {
  const known = database.prepare("SELECT 1 FROM channels WHERE name = :name");
  return {
    names: () =>
      database
        .prepare("SELECT name FROM channels ORDER BY rowid")
        .all()
        .map(({ name }) => `${name}`),
    has: (name) => known.get({ name }) !== undefined,
    add(name) {
      const { changes } = database.prepare("INSERT INTO channels VALUES (:name) ON CONFLICT DO NOTHING").run({ name });
      return Number(changes) > 0;
    },
  };
}
