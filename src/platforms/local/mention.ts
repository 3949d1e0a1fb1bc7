/** Finds `@remora` in a text, and removes it if it only addresses the agent. */

/** Does not match in an address (`me@remora.dev`) or at the start of another name (`@remora-fan`). */
const mention = /(?<![\p{L}\p{N}_.+-])@remora(?![\p{L}\p{N}_-]|\.\p{L})/iu;
const leadingMention = new RegExp(`^\\s*${mention.source}[,:]?[^\\S\\n]*`, "iu");

export function hasMention(text: string): boolean {
  return mention.test(text);
}

export function withoutMention(text: string): string {
  return text.replace(leadingMention, "");
}
