/**
 * What a service itself claims in an error message. It may repeat there what a person has written, mostly as a quotation, and
 * rules that read words must not take that for the service's own.
 */

/** Names of fields, tools and parameters, which stay. */
const quotedName = /(?<![\p{L}\p{N}])(["'`])([\w.[\]/:-]+)\1(?![\p{L}\p{N}])/gu;
const marks = ["\u0001", "\u0002", "\u0003"];
const quotes = ['"', "'", "`"];
/**
 * From the first opening mark to the last closing one, because what is quoted can contain marks itself; to the end if the
 * service has cut it off. An apostrophe within a word is no mark.
 */
const quotations = [
  /".*(?:"|$)/s,
  /(?<![\p{L}\p{N}])'.*(?:'(?![\p{L}\p{N}])|$)/su,
  /`.*(?:`|$)/s,
  /[“„].*(?:[”“]|$)/s,
  /‘.*(?:’(?![\p{L}\p{N}])|$)/su,
  /«.*(?:»|$)/s,
  /「.*(?:」|$)/s,
];
/** Gateways and libraries put these before the service's message. */
const lead = /^(?:[\w .-]{0,60}(?:error|exception)\b[\w .-]{0,20}(?::| -) *|[45]\d\d(?: -|:)? +)/i;

export function claimOf(message: string): string {
  const kept = message.replaceAll(quotedName, (_all, mark: string, name: string) => {
    const stands = marks[quotes.indexOf(mark)] ?? "";
    return `${stands}${name}${stands}`;
  });
  const own = quotations.reduce((left, quotation) => left.replace(quotation, "…"), kept);
  const restored = marks.reduce((left, stands, index) => left.replaceAll(stands, quotes[index] ?? ""), own);
  return withoutLead(restored);
}

/** Up to the first mark that ends a sentence or introduces something. */
export function firstClauseOf(claim: string): string {
  return /^(?:[^.:;!?\n]|[.:](?=\S))*/.exec(claim)?.[0] ?? "";
}

function withoutLead(text: string): string {
  const rest = text.replace(lead, "");
  return rest === text ? text.trim() : withoutLead(rest);
}
