/** What a command says: `/remora ask TEXT`, and `/remora skill NAME TEXT`, are messages like any other. */

/** What is said by it; undefined for every other command, and when there is nothing to say. */
export function saidByCommand(name: string, rest: string): string | undefined {
  const text = rest.trim();
  if (name === "ask") return text === "" ? undefined : text;
  return name === "skill" && /^\S+\s+\S/.test(text) ? `/skill ${text}` : undefined;
}
