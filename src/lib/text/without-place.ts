/** Removes `[place] ` from an error's message for people. A proxy stays named, because only its name says what to correct. */
export function withoutPlace(message: string): string {
  const [, proxy, rest] = /^\[(proxy .*?\))\] (.*)$/s.exec(message) ?? [];
  if (proxy !== undefined && rest !== undefined) return `the ${proxy} ${rest}`;
  return message.replace(/^\[[^\]]*\]\s*/, "");
}
