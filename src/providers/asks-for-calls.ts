/** Whether somebody wants to read a call, so that one in the answer is an example. */
import type { ModelRequest } from "../ports/provider.ts";

type Asked = Pick<ModelRequest, "tools" | "named" | "messages">;

/** In the words of most languages. */
const asksForExample =
  /(?<!\.)\bjson\b|\b(?:function|tool)[- ]?(?:call|use)|\bapi\b|\bschema\b|\bsyntax|\bexample|\bbeispiel|\bejemplo|\bexemple|\besempio|\b[ck]onfigura[tc]ion/i;

/** Someone who asks for JSON, or how to call a tool, wants to read it. Looks only at the person's latest words, not at files or the runtime tag. */
export function asksForCalls({ tools, named = [], messages }: Asked): boolean {
  const texts = messages.flatMap((message) => {
    if (message.role !== "user") return [];
    const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
    return [{ text, said: message.isWords === true ? [text] : taggedWords(text) }];
  });
  const text = texts.findLast(({ said }) => said.length > 0)?.said.join("\n") ?? texts.at(-1)?.text ?? "";
  // One word alone, such as recall, is also a word.
  const names = [...tools, ...named].map(({ name }) => name).filter((name) => name.includes("_"));
  return asksForExample.test(text) || names.some((name) => text.includes(name));
}

/** Of several messages. */
export function taggedWords(text: string): string[] {
  return [...text.matchAll(/<message\b[^>]*>\n?([\s\S]*?)\n?<\/message>/g)].map(([, words = ""]) => words);
}
