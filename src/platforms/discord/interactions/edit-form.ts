/** The form behind Edit…: the arguments as JSON, in as many text fields as needed. */
import {
  type APIModalInteractionResponseCallbackData,
  type APIModalSubmissionComponent,
  ComponentType,
  TextInputStyle,
} from "discord.js";
import { maxModalComponents, maxTextInputLength } from "../limits.ts";
import { formatButtonId } from "./custom-id.ts";

/** Leaves room for text that people add. */
const maxInitialFieldLength = maxTextInputLength - 400;

export function editForm(options: {
  approvalId: string;
  thread: string | null;
  firstMessage?: string;
  json: string;
}): APIModalInteractionResponseCallbackData {
  const { json, approvalId, ...place } = options;
  const pieces = inPieces(json);
  return {
    custom_id: formatButtonId({ meaning: { type: "edited" }, ...place, id: approvalId }),
    title: "Edit the call, then approve it",
    components: pieces.map((value, index) => ({
      type: ComponentType.Label,
      label: pieces.length === 1 ? "Arguments (JSON)" : `Arguments (JSON), part ${index + 1} of ${pieces.length}`,
      component: {
        type: ComponentType.TextInput,
        custom_id: `json-${index}`,
        style: TextInputStyle.Paragraph,
        value,
        max_length: maxTextInputLength,
        // A field may be emptied, as long as the joined text is still JSON.
        required: pieces.length === 1,
      },
    })),
  };
}

export function editedJson(components: readonly APIModalSubmissionComponent[]): string {
  return components
    .flatMap((part) => {
      const input = part.type === ComponentType.Label ? part.component : undefined;
      return input?.type === ComponentType.TextInput && input.custom_id.startsWith("json-") ? [input] : [];
    })
    .sort((one, other) => one.custom_id.localeCompare(other.custom_id))
    .map(({ value }) => value)
    .join("");
}

/** Splits after a line break, or at least away from blanks, because Discord may trim the ends of a field. */
function inPieces(json: string): string[] {
  const most = json.length <= maxInitialFieldLength * maxModalComponents ? maxInitialFieldLength : maxTextInputLength;
  const pieces: string[] = [];
  let rest = json;
  while (rest.length > most && pieces.length < maxModalComponents - 1) {
    const cut = cutBefore(rest, most);
    pieces.push(rest.slice(0, cut));
    rest = rest.slice(cut);
  }
  return [...pieces, rest];
}

function cutBefore(text: string, most: number): number {
  for (let at = most; at > most / 2; at--) {
    if (/^[^\s\uD800-\uDBFF][^\s\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1))) return at;
  }
  return most;
}
