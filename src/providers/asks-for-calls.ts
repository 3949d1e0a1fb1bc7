/** Whether somebody wants to read a call, so that one in the answer is an example. */
import type { ModelRequest } from "../ports/provider.ts";

type Asked = Pick<ModelRequest, "tools" | "named" | "messages">;

/** In the words of most languages. */
const asksForExample =
  /(?<!\.)\bjson\b|\b(?:function|tool)[- ]?(?:call|use)|\bapi\b|\bschema\b|\bsyntax|\bexample|\bbeispiel|\bejemplo|\bexemple|\besempio|\b[ck]onfigura[tc]ion/i;

/** Someone who asks for JSON, or how to call a tool, wants to read it. Looks only at the person's latest words, not at files or the runtime tag. */
export function asksForCalls({ tools, named = [], messages }: Asked): boolean {
  const texts = messages.flatMap((message) =>
    message.role === "user" ? [message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n")] : [],
  );
  const said = texts.map((all) =>
    [...all.matchAll(/<message\b[^>]*>\n([\s\S]*?)\n<\/message>/g)].map(([, words = ""]) => words),
  );
  const text = said.findLast((words) => words.length > 0)?.join("\n") ?? texts.at(-1) ?? "";
  // One word alone, such as recall, is also a word.
  const names = [...tools, ...named].map(({ name }) => name).filter((name) => name.includes("_"));
  return asksForExample.test(text) || names.some((name) => text.includes(name));
}
