/** The form behind Edit…: the arguments as JSON in one text field, or in several when it is longer than one takes. */
import {
  type APIModalInteractionResponseCallbackData,
  type APIModalSubmissionComponent,
  ComponentType,
  TextInputStyle,
} from "discord.js";
import { formatButtonId } from "./custom-id.ts";

const longestField = 4_000;
/** Room for what people add. */
const filledTo = 3_600;
const mostFields = 5;

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
        max_length: longestField,
        // A part may be emptied; what is left must be JSON.
        required: pieces.length === 1,
      },
    })),
  };
}

/** The fields' texts, put together in their order. */
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

/** Cut behind a line, or at least not beside a blank: Discord may take away the blanks at the ends of a field. */
function inPieces(json: string): string[] {
  const most = json.length <= filledTo * mostFields ? filledTo : longestField;
  const pieces: string[] = [];
  let rest = json;
  while (rest.length > most && pieces.length < mostFields - 1) {
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
