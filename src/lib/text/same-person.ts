import { foldText, wordsOf } from "./words.ts";

/** True if `asked` is the person's id, a mention of the person, their name, or words of it. */
export function isSamePerson(asked: string, { id, name }: { id: string; name: string }): boolean {
  const plain = plainName(asked);
  if (plain === id || foldText(plain) === foldText(name)) return true;
  const [words, own] = [wordsOf(plain), wordsOf(name)];
  return words.length > 0 && words.every((word) => own.includes(word));
}

/** Strips the mention syntax: `<@U1>`, `<@!1>`, `@Ann`. */
function plainName(asked: string): string {
  return asked
    .trim()
    .replace(/^<?@?!?/, "")
    .replace(/(?:\|[^>]*)?>$/, "");
}
