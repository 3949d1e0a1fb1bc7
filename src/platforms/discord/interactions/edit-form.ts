/** The form behind Edit…: the arguments as JSON, in as many text fields as needed. */
import { ComponentType, TextInputStyle } from "discord.js";
import { maxModalComponents, maxTextInputLength } from "../limits.ts";
import type { ButtonPlace } from "./custom-id.ts";
import { form, type Submitted, textsIn } from "./form.ts";

/** Leaves room for text that people add. */
const maxInitialFieldLength = maxTextInputLength - 400;

export function editForm(id: string, place: ButtonPlace, json: string) {
  const pieces = inPieces(json);
  const fields = pieces.map((value, index) => ({
    label: pieces.length === 1 ? "Arguments (JSON)" : `Arguments (JSON), part ${index + 1} of ${pieces.length}`,
    component: {
      type: ComponentType.TextInput as const,
      custom_id: `json-${index}`,
      style: TextInputStyle.Paragraph,
      value,
      max_length: maxTextInputLength,
      // A field may be emptied, as long as the joined text is still JSON.
      required: pieces.length === 1,
    },
  }));
  return form({ meaning: { type: "edited" }, ...place, id }, "Edit the call, then approve it", [
    ...(fields.length < maxModalComponents ? ["Your edit is checked against the safety rules before it runs."] : []),
    ...fields,
  ]);
}

export function editedJson(components: Submitted): string {
  return textsIn(components, "json-").join("");
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
