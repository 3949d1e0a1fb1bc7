/** What a message says in words, also if it is none of text. Nothing that people sent is read as silence. */
import type { APIMessage, APIMessageSnapshotFields, APIPoll } from "discord.js";

const unreadable = "[A message without text, of a kind that I can't read.]";

export function saidIn(message: APIMessage): string {
  const { content, poll, attachments, sticker_items: stickers = [], message_snapshots: forwarded = [] } = message;
  const said = content || (poll === undefined ? cardTitles(message).join("\n") : pollText(poll));
  return said === "" && attachments.length + stickers.length + forwarded.length === 0 ? unreadable : said;
}

/** Discord leaves out some kinds of content when a message is forwarded, polls for example. */
export function saidInForward(message: APIMessageSnapshotFields): string {
  const { content, attachments, sticker_items: stickers = [] } = message;
  const said = content || cardTitles(message).join("\n");
  return said === "" && attachments.length + stickers.length === 0 ? unreadable : said;
}

function pollText({ question, answers, results, allow_multiselect: isForSeveral }: APIPoll): string {
  const counts = new Map(results?.answer_counts.map(({ id, count }) => [id, count]));
  const lines = answers.map(({ answer_id: id, poll_media: { text = "", emoji } }) => {
    const sign = emoji?.id == null ? (emoji?.name ?? "") : `:${emoji.name}:`;
    const votes = counts.get(id);
    return `- ${[sign, text].filter((part) => part !== "").join(" ")}${votes === undefined ? "" : ` (votes: ${votes})`}`;
  });
  return [`Poll: ${question.text ?? ""}${isForSeveral ? " (several answers allowed)" : ""}`, ...lines].join("\n");
}

/** The first line of each item of a card, or the titles of a question or an older card. */
function cardTitles({ embeds, components = [] }: Pick<APIMessage, "embeds" | "components">): string[] {
  const titles = embeds.map(({ title }) => title ?? "");
  const texts = components.flatMap((component) =>
    "components" in component ? [component, ...component.components] : [component],
  );
  const firstLines = texts.flatMap((part) => ("content" in part ? [part.content.split("\n", 1)[0] ?? ""] : []));
  return [...titles, ...firstLines].filter((line) => line !== "" && !line.startsWith("-# "));
}
