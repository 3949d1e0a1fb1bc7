/** What can be read in an embed: a card of a bot or webhook, or what Discord shows of a linked page. */
import { type Fields, fieldsOf, joined, listOf, nameOf, textOf } from "./fields.ts";

const types = ["", "rich", "image", "video", "gifv", "article", "link", "auto_moderation_message", "gift"];

/** `said`: the text above the embed. An address in it is not repeated. */
export function embedText(value: unknown, said: string): string {
  const embed = fieldsOf(value);
  if (embed === undefined) return textOf(value);
  const type = textOf(embed.type);
  if (type === "poll_result") return pollResultText(embed);
  const unknown = types.includes(type) ? "" : `[an embed of type ${nameOf(type)}]`;
  const text = joined([
    unknown,
    ...headLines(embed, said),
    ...fieldLines(embed),
    ...mediaLines(embed, said),
    foot(embed),
  ]);
  return text === "" ? (isOnlyLink(embed, said) ? "" : "[an embed without text]") : text;
}

function isOnlyLink(embed: Fields, said: string): boolean {
  const url = textOf(embed.url);
  return url !== "" && said.includes(url);
}

function headLines(embed: Fields, said: string): string[] {
  const [provider, author] = [fieldsOf(embed.provider), fieldsOf(embed.author)];
  const lines = [
    provider === undefined ? textOf(embed.provider) : linked(textOf(provider.name), textOf(provider.url), said),
    author === undefined ? textOf(embed.author) : linked(textOf(author.name), textOf(author.url), said),
    linked(textOf(embed.title), textOf(embed.url), said),
    textOf(embed.description),
  ];
  return lines.filter((line, index) => lines.indexOf(line) === index && !(line !== "" && said === line));
}

export function linked(text: string, url: string, said: string): string {
  if (url === "" || said.includes(url) || text.includes(url)) return text;
  return text === "" ? url : `${text} (${url})`;
}

function fieldLines(embed: Fields): string[] {
  return listOf(embed.fields).map((value) => {
    const field = fieldsOf(value);
    if (field === undefined) return textOf(value);
    // Discord's own cards name their fields as its programs do.
    const isOwn = textOf(embed.type) === "auto_moderation_message";
    const name = isOwn ? textOf(field.name).replaceAll("_", " ") : textOf(field.name);
    const [label, content] = [visible(name), visible(textOf(field.value))];
    return label === "" || content === "" ? label + content : `${label}: ${content}`;
  });
}

/** A field has to have a name, so apps write an invisible character if they want none. */
function visible(text: string): string {
  return /[^\p{C}\p{Z}]/u.test(text) ? text : "";
}

function mediaLines(embed: Fields, said: string): string[] {
  const isVideo = fieldsOf(embed.video) !== undefined;
  return [
    mediaLine("picture", embed.image, said),
    isVideo ? "" : mediaLine("picture", embed.thumbnail, said),
    mediaLine("video", embed.video, said),
  ];
}

/** Also for the pictures and files of components. */
export function mediaLine(kind: string, value: unknown, said: string, description?: unknown): string {
  if (value === undefined || value === null) return "";
  const media = fieldsOf(value);
  const about = textOf(description ?? media?.description);
  const url = media === undefined ? textOf(value) : textOf(media.url);
  const source = storedFile(url)?.name ?? (url === "" || said.includes(url) ? "" : url);
  const facts = [about, source].filter((fact) => fact !== "").join(", ");
  return facts === "" ? `[${kind}]` : `[${kind}: ${facts}]`;
}

/** The file that an address of Discord's own storage leads to. Files that a card shows are not among the message's own. */
export function storedFile(url: string): { id: string; name: string } | undefined {
  const [, id, name] = /^https?:\/\/[^/?#]+\/(?:ephemeral-)?attachments\/\d+\/(\d+)\/([^/?#]+)/.exec(url) ?? [];
  return id === undefined || name === undefined ? undefined : { id, name: decoded(name) };
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function foot(embed: Fields): string {
  const footer = fieldsOf(embed.footer);
  const text = footer === undefined ? textOf(embed.footer) : textOf(footer.text);
  return [text, textOf(embed.timestamp)].filter((part) => part !== "").join(" · ");
}

/** Discord's docs name the fields: https://docs.discord.com/developers/resources/message#embed-fields-by-embed-type */
function pollResultText(embed: Fields): string {
  const facts = new Map(
    listOf(embed.fields).map((value) => [textOf(fieldsOf(value)?.name), textOf(fieldsOf(value)?.value)]),
  );
  const known = (name: string) => facts.get(name) ?? "";
  const emoji = known("victor_answer_emoji_name");
  const winner = [emoji, known("victor_answer_text")].filter((part) => part !== "").join(" ");
  const votes =
    known("total_votes") === "" ? "" : ` ${known("victor_answer_votes") || "0"} of ${known("total_votes")} votes.`;
  const outcome = winner === "" ? "No single answer won." : `The most votes: ${winner}.`;
  return `[The poll has ended: ${known("poll_question_text")}] ${outcome}${votes}`;
}
