/**
 * Draws Block Kit blocks roughly as Slack's clients do, for the screenshots in `docs/images/`. It knows the blocks that
 * Remora sends, and shows the type of any other block, so that nothing goes missing unnoticed.
 */
import { marked } from "marked";
import { escapeHtml, type Fields, fields, list } from "./escape.ts";

/** Names by id, for mentions. */
export type Names = ReadonlyMap<string, string>;

export function slackBlocks(blocks: readonly unknown[], names: Names): string {
  return withTasks(blocks.map(fields))
    .map((block) => blockHtml(block, names))
    .join("\n");
}

/** In a stream, tasks come after their plan; clients show them in it. */
function withTasks(blocks: readonly Fields[]): Fields[] {
  const whole: Fields[] = [];
  for (const block of blocks) {
    const last = whole.at(-1);
    if (block.type !== "task_card" || last?.type !== "plan") whole.push(block);
    else whole.splice(-1, 1, { ...last, tasks: [...list(last.tasks), block] });
  }
  return whole;
}

function blockHtml(block: Fields, names: Names): string {
  switch (block.type) {
    case "markdown":
      return `<div class="text">${marked.parse(String(block.text), { async: false })}</div>`;
    case "section":
      return `<div class="section"><div class="text">${textObject(block.text, names)}</div>${element(fields(block.accessory), names)}</div>`;
    case "header":
      return `<h3>${textObject(block.text, names)}</h3>`;
    case "context":
      return `<div class="context">${list(block.elements)
        .map((each) => textObject(each, names))
        .join(" ")}</div>`;
    case "actions":
    case "context_actions":
      return `<div class="actions">${list(block.elements)
        .map((each) => element(each, names))
        .join("")}</div>`;
    case "divider":
      return "<hr>";
    case "rich_text":
      return `<div class="text">${list(block.elements)
        .map((each) => richElement(each, names))
        .join("")}</div>`;
    case "plan":
      return `<div class="plan"><b>${plain(block.title)}</b>${list(block.tasks)
        .map((task) => taskHtml(task, names))
        .join("")}</div>`;
    case "task_card":
      return taskHtml(block, names);
    case "input":
      return `<label>${textObject(block.label, names)}</label>${element(fields(block.element), names)}`;
    default:
      return `<div class="unknown">[${escapeHtml(String(block.type))}]</div>`;
  }
}

function plain(value: unknown): string {
  return escapeHtml(typeof value === "string" ? value : String(fields(value).text ?? ""));
}

function taskHtml(task: Fields, names: Names): string {
  const signs: Record<string, string> = { complete: "✓", in_progress: "◌", error: "✗", pending: "·" };
  const details = fields(task.details).elements === undefined ? "" : richElements(fields(task.details), names);
  return `<div class="task"><span>${signs[String(task.status)] ?? "·"}</span> ${plain(task.title)} <small>${details}</small></div>`;
}

function textObject(value: unknown, names: Names): string {
  const { type, text = "" } = fields(value);
  return type === "mrkdwn" ? mrkdwn(String(text), names) : escapeHtml(String(text)).replaceAll("\n", "<br>");
}

/** Slack's own markup. Its text has `&`, `<` and `>` escaped already. */
function mrkdwn(text: string, names: Names): string {
  return text
    .replace(/<@([A-Z0-9]+)>/g, (_all, id) => mention(names.get(id) ?? id))
    .replace(/<!subteam\^([A-Z0-9]+)(?:\|[^>]*)?>/g, (_all, id) => mention(names.get(id) ?? id))
    .replace(/<!date\^(\d+)\^([^|^]*)[^|]*\|[^>]*>/g, (_all, seconds, form) => date(Number(seconds), form))
    .replace(/<(https?:[^|>]+)\|([^>]+)>/g, (_all, url, label) => `<a href="${url}">${label}</a>`)
    .replace(/<(https?:[^|>]+)>/g, (_all, url) => `<a href="${url}">${url}</a>`)
    .replace(/`([^`\n]+)`/g, "<code>$1</code>")
    .replace(/(^|\s)\*([^*\n]+)\*/g, "$1<b>$2</b>")
    .replace(/(^|\s)_([^_\n]+)_/g, "$1<i>$2</i>")
    .replaceAll("\n", "<br>");
}

/** In Slack's tokens, as somebody at UTC reads them now. What is in the past is a fixture's, and counts as today. */
function date(seconds: number, form: string): string {
  const time = new Date(seconds * 1000).toISOString().slice(11, 16);
  const day = seconds * 1000 > new Date().setUTCHours(24, 0, 0, 0) ? "Tomorrow" : "Today";
  return form
    .replace(/\{time(?:_secs)?\}/, time)
    .replace(/\{date\w*\}/, form.startsWith("{date") ? day : day.toLowerCase());
}

function mention(name: string): string {
  return `<span class="mention">@${escapeHtml(name)}</span>`;
}

function richElement(value: Fields, names: Names): string {
  switch (value.type) {
    case "rich_text_section":
      return `<p>${richElements(value, names)}</p>`;
    case "rich_text_preformatted":
      return `<pre>${richElements(value, names)}</pre>`;
    case "rich_text_quote":
      return `<blockquote>${richElements(value, names)}</blockquote>`;
    case "rich_text_list":
      return `<ul>${list(value.elements)
        .map((each) => `<li>${richElements(each, names)}</li>`)
        .join("")}</ul>`;
    default:
      return `<div class="unknown">[${escapeHtml(String(value.type))}]</div>`;
  }
}

function richElements(value: Fields, names: Names): string {
  return list(value.elements)
    .map((each) => inline(each, names))
    .join("");
}

function inline(value: Fields, names: Names): string {
  const { bold, italic, code, strike } = fields(value.style);
  const wrap = (html: string) =>
    [bold && "b", italic && "i", strike && "s", code && "code"].reduce<string>(
      (inner, tag) => (tag ? `<${tag}>${inner}</${tag}>` : inner),
      html,
    );
  switch (value.type) {
    case "text":
      return wrap(escapeHtml(String(value.text)).replaceAll("\n", "<br>"));
    case "link":
      return `<a href="#">${escapeHtml(String(value.text ?? value.url))}</a>`;
    case "user":
      return mention(names.get(String(value.user_id)) ?? String(value.user_id));
    case "usergroup":
      return mention(names.get(String(value.usergroup_id)) ?? String(value.usergroup_id));
    case "channel":
      return `<span class="mention">#${escapeHtml(names.get(String(value.channel_id)) ?? String(value.channel_id))}</span>`;
    case "emoji":
      return `:${escapeHtml(String(value.name))}:`;
    case "date":
      return escapeHtml(String(value.fallback ?? new Date(Number(value.timestamp) * 1000).toISOString().slice(11, 16)));
    default:
      return `[${escapeHtml(String(value.type))}]`;
  }
}

function element(value: Fields, names: Names): string {
  switch (value.type) {
    case undefined:
      return "";
    case "button":
      return `<span class="button ${value.style ?? ""}">${textObject(value.text, names)}</span>`;
    case "overflow":
      return `<span class="button">⋯</span><span class="menu">${list(value.options)
        .map((option) => `<span>${textObject(option.text, names)}</span>`)
        .join("")}</span>`;
    case "static_select":
    case "users_select":
      return `<span class="button">${textObject(value.placeholder, names)} ▾<span class="menu">${list(value.options)
        .map((option) => `<span>${textObject(option.text, names)}</span>`)
        .join("")}</span></span>`;
    case "feedback_buttons":
      return '<span class="icon">👍</span><span class="icon">👎</span>';
    case "icon_button":
      return `<span class="icon">${escapeHtml(String(value.icon))}</span>`;
    case "plain_text_input":
      return '<div class="input"></div>';
    default:
      return `<span class="unknown">[${escapeHtml(String(value.type))}]</span>`;
  }
}
