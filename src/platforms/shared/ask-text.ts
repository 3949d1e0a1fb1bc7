/** Unlike all other commands, `/remora ask TEXT` and `/remora skill NAME TEXT` are messages to the agent. */

export function askText(commandName: string, rest: string): string | undefined {
  const text = rest.trim();
  if (commandName === "ask") return text === "" ? undefined : text;
  return commandName === "skill" && /^\S+\s+\S/.test(text) ? `/skill ${text}` : undefined;
}
