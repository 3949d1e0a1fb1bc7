/**
 * Draws Discord messages roughly as its clients do, for the screenshots in `docs/images/`: content, embeds, and both
 * generations of components.
 */
import { Marked } from "marked";
import { escapeHtml, type Fields, fields, list } from "./escape.ts";
import type { Names } from "./slack-html.ts";

/** The moment of the drawn cards: 2026-11-02 14:02 UTC, as in test/fixtures/cards.ts. */
const drawnAt = Date.UTC(2026, 10, 2, 14, 2);

const styles: Record<number, string> = { 1: "primary", 2: "", 3: "success", 4: "danger", 5: "link" };

export interface DiscordMessage {
  content?: string | undefined;
  embeds?: readonly unknown[] | undefined;
  components?: readonly unknown[] | undefined;
}

export function discordMessage(message: DiscordMessage, names: Names): string {
  const content = message.content ? `<div class="text">${markdown(message.content, names)}</div>` : "";
  const embeds = (message.embeds ?? []).map((embed) => embedHtml(fields(embed), names)).join("");
  return `${content}${embeds}${(message.components ?? []).map((each) => component(fields(each), names)).join("")}`;
}

const parser = new Marked({ breaks: true, renderer: { html: ({ text }) => escapeHtml(text) } });

/** Discord's markdown has subtext, timestamps and mentions that Markdown does not have. */
function markdown(text: string, names: Names): string {
  const withSubtext = text.replace(/^-# (.*)$/gm, (_all, line) => `@@small@@${line}@@end@@`);
  const nameOf = (id: string) => escapeHtml(names.get(id) ?? id);
  return parser
    .parse(withSubtext, { async: false })
    .replace(/@@small@@([\s\S]*?)@@end@@/g, "<small>$1</small>")
    .replace(/&lt;@[&!]?(?:amp;)?(\w+)&gt;/g, (_all, id) => `<span class="mention">@${nameOf(id)}</span>`)
    .replace(/&lt;#(\w+)&gt;/g, (_all, id) => `<span class="mention">#${nameOf(id)}</span>`)
    .replace(/&lt;t:(\d+)(?::(\w))?&gt;/g, (_all, seconds, style) => timestamp(Number(seconds), style));
}

/** As somebody sees it when the card is new. */
function timestamp(seconds: number, style: string | undefined): string {
  const minutes = Math.round((seconds * 1000 - drawnAt) / 60_000);
  if (style === "R") return minutes === 60 ? "in an hour" : `in ${minutes} minutes`;
  return new Date(seconds * 1000).toISOString().slice(11, 16);
}

function embedHtml(embed: Fields, names: Names): string {
  const rows = list(embed.fields).map(
    (field) => `<p><b>${escapeHtml(String(field.name))}</b><br>${markdown(String(field.value), names)}</p>`,
  );
  const color = `#${Number(embed.color ?? 0x4f545c)
    .toString(16)
    .padStart(6, "0")}`;
  const title = embed.title === undefined ? "" : `<b>${escapeHtml(String(embed.title))}</b>`;
  const footer =
    fields(embed.footer).text === undefined ? "" : `<small>${escapeHtml(String(fields(embed.footer).text))}</small>`;
  return `<div class="embed" style="border-color:${color}">${title}${markdown(String(embed.description ?? ""), names)}${rows.join("")}${footer}</div>`;
}

function component(value: Fields, names: Names): string {
  const children = () =>
    list(value.components)
      .map((each) => component(each, names))
      .join("");
  switch (value.type) {
    case 1:
      return `<div class="actions">${children()}</div>`;
    case 2: {
      const emoji = fields(value.emoji).name === undefined ? "" : `${escapeHtml(String(fields(value.emoji).name))} `;
      return `<span class="button ${styles[Number(value.style)] ?? ""}">${emoji}${escapeHtml(String(value.label ?? ""))}</span>`;
    }
    case 3:
    case 5:
    case 6:
      return `<span class="button wide">${escapeHtml(String(value.placeholder ?? "Choose"))} ▾</span><span class="menu">${list(
        value.options,
      )
        .map((option) => `<span>${escapeHtml(String(option.label))}</span>`)
        .join("")}</span>`;
    case 9:
      return `<div class="section"><div>${children()}</div>${component(fields(value.accessory), names)}</div>`;
    case 10:
      return `<div class="text">${markdown(String(value.content), names)}</div>`;
    case 13:
      return `<div class="file">📄 ${escapeHtml(String(fields(value.file).url ?? "file").replace("attachment://", ""))}</div>`;
    case 14:
      return value.divider === false ? "<br>" : "<hr>";
    case 17:
      return `<div class="embed" style="border-color:#${Number(value.accent_color ?? 0x4f545c)
        .toString(16)
        .padStart(6, "0")}">${children()}</div>`;
    default:
      return `<span class="unknown">[component ${escapeHtml(String(value.type))}]</span>`;
  }
}
