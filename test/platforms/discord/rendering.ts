/**
 * What Discord makes of a message: the text that people read, and what markup in it would do. Only as much of its Markdown is known
 * here as tests need: code, escapes, mentions, links.
 */
import { itemsOf, type SeenMessage } from "../../doubles/discord/view.ts";

export interface Rendered {
  text: string;
  /** Pings, previews, links under another text, mentions that show as names. */
  effects: string[];
}

export function rendered(message: SeenMessage): Rendered {
  const pieces = [
    markdown(message.content),
    ...(message.components ?? []).flatMap(textDisplays).map(markdown),
    ...message.embeds.flatMap(({ title, description, fields = [], footer, author }) => [
      markdown(title ?? ""),
      markdown(description ?? ""),
      ...fields.flatMap(({ name, value }) => [markdown(name), markdown(value)]),
      { text: footer?.text ?? "", effects: [] },
      { text: author?.name ?? "", effects: [] },
    ]),
  ];
  const { users, roles, everyone } = message.pings;
  const pings = [...users, ...roles].map((id) => `pings ${id}`);
  return {
    text: pieces
      .map(({ text }) => text)
      .filter((text) => text !== "")
      .join("\n"),
    effects: [
      ...pieces.flatMap(({ effects }) => effects),
      ...pings,
      ...(everyone ? ["pings everyone"] : []),
      ...message.previews.map((url) => `unfolds ${url}`),
    ],
  };
}

/** The texts of components, at any depth. */
export function textDisplays(component: unknown): string[] {
  return itemsOf(component).flatMap(({ type, content }) => (type === 10 ? [String(content)] : []));
}

const special =
  /```(?:[\w+-]*\n)?([\s\S]*?)```|(`+)([^`][\s\S]*?)\2(?!`)|\\([^0-9A-Za-z\s])|\[([^\]]+)\]\((https?:[^)]+)\)|(<(?:@[!&]?|#)\d+>|@everyone|@here)|(https?:\/\/[^\s<>]+)/g;

/** A time shows as words; it does nothing. */
function markdown(source: string): Rendered {
  const effects: string[] = [];
  const text = source.replace(
    special,
    (
      whole,
      block?: string,
      _ticks?: string,
      code?: string,
      escaped?: string,
      label?: string,
      url?: string,
      mention?: string,
    ) => {
      if (block !== undefined) return block.replace(/\n$/, "");
      if (code !== undefined) return code;
      if (escaped !== undefined) return escaped;
      if (label !== undefined) effects.push(`links ${label} to ${url}`);
      else if (mention !== undefined) effects.push(`mentions ${mention}`);
      else effects.push(`links ${whole}`);
      return label ?? whole;
    },
  );
  return { text: text.replace(/^-# /gm, "").replace(/\*\*/g, ""), effects };
}
