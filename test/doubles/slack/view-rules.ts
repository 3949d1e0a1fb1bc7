/** What Slack accepts as a view, with the sizes of its reference for modals and home tabs. */
import { checkBlocks } from "./block-rules.ts";
import { type Problem, textProblems, tooLong } from "./problems.ts";
import { most } from "./sizes.ts";
import { invalid, isObject, type JsonObject, objectsIn, SlackRefusal } from "./wire.ts";

/** Throws `invalid_arguments` with what is wrong and where, or `view_too_large`. */
export function checkView(value: unknown, type: "modal" | "home"): JsonObject {
  if (!isObject(value)) throw invalid("invalid_arguments", "missing required field: view");
  if (escapedBytes(value) > most("view-bytes")) throw new SlackRefusal("view_too_large");
  const problems: Problem[] = [
    ...(value.type === type ? [] : [`must be one of: ${type} [json-pointer:/view/type]`]),
    ...tooLong(value.private_metadata, most("view-metadata"), "/view/private_metadata"),
    ...tooLong(value.callback_id, most("view-id-text"), "/view/callback_id"),
    ...tooLong(value.external_id, most("view-id-text"), "/view/external_id"),
    ...(type === "modal" ? modalProblems(value) : []),
  ];
  if (problems.length > 0) throw invalid("invalid_arguments", ...problems);
  checkBlocks(value.blocks, type);
  return value;
}

/** Nobody measured whether Slack counts escaped JSON; this is the worse case, six bytes for what is not ASCII. */
function escapedBytes(value: JsonObject): number {
  const json = JSON.stringify(value);
  let bytes = json.length;
  for (let index = 0; index < json.length; index++) if (json.charCodeAt(index) > 0x7f) bytes += 5;
  return bytes;
}

function modalProblems(view: JsonObject): Problem[] {
  const hasInput = objectsIn(view.blocks).some((block) => block.type === "input");
  return [
    ...textProblems(view.title, "/view/title", most("modal-title"), true),
    ...(view.submit === undefined ? [] : textProblems(view.submit, "/view/submit", most("modal-title"), true)),
    ...(view.close === undefined ? [] : textProblems(view.close, "/view/close", most("modal-title"), true)),
    ...(hasInput && view.submit === undefined
      ? ["`submit` is required when there is an `input` block [json-pointer:/view]"]
      : []),
  ];
}
