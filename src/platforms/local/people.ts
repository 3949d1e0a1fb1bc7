/** Adds people to the local chat. Derives their ids from their names. */
import type { Person } from "./chat-message.ts";
import { agent } from "./chat-message.ts";
import type { ChatStore } from "./chat-store.ts";
import { Refusal } from "./inbound.ts";
import { maxNameLength, maxPeople } from "./limits.ts";

export function createPerson(store: ChatStore, givenName: string): Person {
  const name = givenName.replace(/\s+/gu, " ").trim();
  const hasLetters = /[\p{L}\p{N}]/u.test(name) && !/\p{C}/u.test(name);
  if (!hasLetters || name.length > maxNameLength)
    throw new Refusal(400, `A name needs 1 to ${maxNameLength} characters, including a letter or digit.`);
  const people = store.people();
  if (people.length >= maxPeople) throw new Refusal(409, `This chat already has the maximum of ${maxPeople} people.`);
  const taken = new Set([agent.id, ...people.map((person) => person.id)]);
  const base = slugOf(name) || "person";
  let id = base;
  for (let number = 2; taken.has(id); number++) id = `${base}-${number}`;
  store.addPerson({ id, name });
  return { id, name };
}

function slugOf(name: string): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}
