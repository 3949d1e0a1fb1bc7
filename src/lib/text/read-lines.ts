/**
 * Yields the lines of a stream of text, split at "\n" alone. `node:readline` also splits at U+2028 and U+2029, which
 * stand unescaped in valid JSON.
 */
export async function* readLines(input: AsyncIterable<unknown>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const whole = (line: string) => (line.endsWith("\r") ? line.slice(0, -1) : line);
  let rest = "";
  for await (const chunk of input) {
    const text = typeof chunk === "string" ? chunk : decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = text.split("\n");
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? "";
    for (const line of lines) yield whole(line);
  }
  rest += decoder.decode();
  if (rest !== "") yield whole(rest);
}
