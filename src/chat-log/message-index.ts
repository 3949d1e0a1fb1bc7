/**
 * The messages of the chat log and their full-text index. Every query names the channels to search, so a message of
 * another channel is never even a candidate. Runs in its own thread (log-worker.ts), because SQLite would block the
 * main thread for too long.
 */
import { pragma } from "../lib/index-database.ts";
import { inTransaction } from "../lib/sqlite.ts";
import { isSamePerson } from "../lib/text/same-person.ts";
import { askedTermsOf, emptyWords, termsOf } from "../lib/text/words.ts";
import type { ChatLogChange, ChatLogOwner, LoggedMessage } from "../ports/chat-log.ts";
import { openLogDatabase } from "./log-database.ts";

export interface LogQuery {
  platform: string;
  channels: readonly string[];
  text: string;
  author?: string;
  after?: number;
  before?: number;
  limit: number;
}

export interface MessageIndex {
  /** Applies the changes in one transaction. Returns people whose names are unknown. */
  apply(changes: readonly ChatLogChange[]): UnnamedPerson[];
  /**
   * Best first: messages with all words, then those with only some. A query without words finds the newest messages.
   */
  find(query: LogQuery): LoggedMessage[];
  ofPerson(platform: string, userId: string): LoggedMessage[];
  /** Removes messages older than `olderThan`, then the oldest ones beyond `maxBytes`. Yields after each part. */
  prune(olderThan: number, maxBytes: number): Generator<void>;
  /** Overwrites removed text so that the file contains no trace of it. */
  purge(): void;
  close(): void;
}

export interface UnnamedPerson {
  platform: string;
  id: string;
}

/** More terms than this would make the search slower but not better. */
const maxTerms = 16;
const prunedAtOnce = 2_000;

type Row = Record<string, unknown>;

export function createMessageIndex(file: string, onProblem: (message: string) => void): MessageIndex {
  const { database, statements } = openLogDatabase(file, onProblem);

  function add(change: Extract<ChatLogChange, { type: "add" }>): UnnamedPerson[] {
    const { platform, id, channelId, authorId, authorName, text, at, link } = change;
    statements.addPlace.run(platform, channelId);
    const place = Number(statements.placeId.get(platform, channelId)?.id);
    statements.addPerson.run(platform, authorId, authorName);
    const author = statements.personId.get(platform, authorId);
    const person = Number(author?.id);
    const added = statements.addMessage.run({ platform, message: id, place, person, at, text, link });
    if (added.changes > 0) addTerms(Number(added.lastInsertRowid), text, place, person);
    if (authorName !== authorId && author?.name !== authorName) statements.rename.run(authorName, platform, authorId);
    return authorName === authorId && author?.name === authorId ? [{ platform, id: authorId }] : [];
  }

  function addTerms(row: number, text: string, place: number, person: number): void {
    statements.addTerms.run(row, termsOf(text).join(" "), `c${place}`, `p${person}`);
  }

  function edit({ platform, id, text }: Extract<ChatLogChange, { type: "edit" }>): void {
    const row = statements.messageRow.get(platform, id);
    if (row === undefined) return;
    statements.removeTerms.run(Number(row.id));
    statements.setText.run(text, Number(row.id));
    addTerms(Number(row.id), text, Number(row.place), Number(row.person));
  }

  function removeRow(id: number): void {
    statements.removeTerms.run(id);
    statements.removeMessage.run(id);
  }

  function remove({ platform, id, at }: Extract<ChatLogChange, { type: "remove" }>): void {
    const row = statements.messageRow.get(platform, id);
    if (row !== undefined) removeRow(Number(row.id));
    // Remember the removal, because another process may still report the message.
    statements.addRemoved.run(platform, id, at);
  }

  function forget(owner: ChatLogOwner): void {
    const isPerson = "userId" in owner;
    const found = isPerson
      ? statements.personId.get(owner.platform, owner.userId)
      : statements.placeId.get(owner.platform, owner.channelId);
    if (found === undefined) return;
    const id = Number(found.id);
    for (const row of (isPerson ? statements.ofPerson : statements.ofPlace).all(id, -1)) removeRow(Number(row.id));
    if (isPerson) statements.removePerson.run(id);
  }

  function applyOne(change: ChatLogChange): UnnamedPerson[] {
    switch (change.type) {
      case "add":
        return add(change);
      case "edit":
        edit(change);
        return [];
      case "remove":
        remove(change);
        return [];
      case "name":
        statements.rename.run(change.name, change.platform, change.id);
        return [];
      case "forget":
        forget(change.owner);
        return [];
      default:
        return change satisfies never;
    }
  }

  function peopleNamed(platform: string, author: string): number[] {
    const all = statements.peopleOf.all(platform);
    const named = all.filter(({ person, name }) => isSamePerson(author, { id: String(person), name: String(name) }));
    return named.map(({ id }) => Number(id));
  }

  function placesOf({ platform, channels }: LogQuery): number[] {
    const seen = new Set(channels);
    return statements.placesOf
      .all(platform)
      .flatMap(({ id, channel }) => (seen.has(String(channel)) ? [Number(id)] : []));
  }

  function find(query: LogQuery): LoggedMessage[] {
    const { text, author, limit } = query;
    const places = placesOf(query);
    const people = author === undefined ? undefined : peopleNamed(query.platform, author);
    if (places.length === 0 || people?.length === 0 || limit <= 0) return [];
    const range = { after: query.after ?? 0, before: query.before ?? Number.MAX_SAFE_INTEGER, limit };
    const terms = termsAsked(text);
    if (terms.length === 0) return newest(places, people, range);
    const within = [
      `place : (${listed("c", places)})`,
      ...(people === undefined ? [] : [`person : (${listed("p", people)})`]),
    ];
    const isTimed = query.after !== undefined || query.before !== undefined;
    const matching = (join: string) => {
      const match = [...within, `body : (${terms.join(join)})`].join(" AND ");
      return isTimed ? statements.findWithin.all({ ...range, match }) : statements.find.all({ match, limit });
    };
    const found = matching(" AND ");
    const some = found.length >= limit || terms.length === 1 ? [] : matching(" OR ");
    const rows = new Map([...found, ...some].map((row) => [row.row, row]));
    return [...rows.values()].slice(0, limit).map(loggedMessage);
  }

  function newest(
    places: number[],
    people: number[] | undefined,
    range: { after: number; before: number; limit: number },
  ) {
    const found =
      people === undefined
        ? places.flatMap((place) => statements.newestIn.all({ ...range, place }))
        : people.flatMap((person) => statements.newestOf.all({ ...range, person, places: JSON.stringify(places) }));
    const messages = found.map(loggedMessage).sort((one, other) => other.at - one.at);
    return messages.slice(0, range.limit);
  }

  const oldRows = (olderThan: number) => statements.olderThan.all(olderThan, prunedAtOnce);

  function removeRows(rows: readonly Row[]): void {
    inTransaction(database, () => {
      for (const { id } of rows) removeRow(Number(id));
    });
  }

  /** Estimates how many messages exceed the limit. Adds some room, or every new message would remove another. */
  function excess(maxBytes: number): number {
    const pages = pragma(database, "page_count") - pragma(database, "freelist_count");
    const usedBytes = pages * pragma(database, "page_size");
    return usedBytes <= maxBytes ? 0 : Math.ceil(count() * (1 - (0.9 * maxBytes) / usedBytes));
  }

  const count = () => Number(statements.count.get()?.count ?? 0);

  return {
    apply(changes) {
      const unnamed = new Map<string, UnnamedPerson>();
      inTransaction(database, () => {
        for (const person of changes.flatMap(applyOne)) unnamed.set(`${person.platform} ${person.id}`, person);
      });
      return [...unnamed.values()];
    },
    find,
    ofPerson: (platform, userId) => statements.allOfPerson.all(platform, userId).map(loggedMessage),
    *prune(olderThan, maxBytes) {
      statements.pruneRemoved.run(olderThan);
      for (let rows = oldRows(olderThan); rows.length > 0; rows = oldRows(olderThan)) {
        removeRows(rows);
        yield;
      }
      for (let left = excess(maxBytes); left > 0; left -= prunedAtOnce) {
        removeRows(statements.oldest.all(Math.min(left, prunedAtOnce)));
        yield;
      }
    },
    purge() {
      database.exec("INSERT INTO terms (terms) VALUES ('optimize'); PRAGMA wal_checkpoint (TRUNCATE); VACUUM;");
    },
    close: () => database.close(),
  };
}

/** Queries can't inject FTS5 syntax, because terms contain only letters, marks and digits, and are quoted. */
function termsAsked(text: string): string[] {
  const all = [...new Map(askedTermsOf(text).map((term) => [term.text, term])).values()];
  const telling = all.filter((term) => !emptyWords.has(term.text));
  const kept = (telling.length > 0 ? telling : all).slice(0, maxTerms);
  return kept.map(({ text: word, isPrefix }) => `"${word}"${isPrefix ? " *" : ""}`);
}

function listed(letter: string, ids: readonly number[]): string {
  return ids.map((id) => `"${letter}${id}"`).join(" OR ");
}

function loggedMessage(row: Row): LoggedMessage {
  return {
    platform: String(row.platform),
    id: String(row.message),
    channelId: String(row.channel),
    author: { id: String(row.person), name: String(row.name) },
    text: String(row.text),
    at: Number(row.at),
    link: String(row.link),
  };
}
