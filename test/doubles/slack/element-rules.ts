/** What Slack accepts as interactive elements, with the sizes of the Block Kit reference. */
import { itemProblems, missing, type Problem, textProblems, tooLong } from "./problems.ts";
import { most, type Size } from "./sizes.ts";
import { isObject, type JsonObject, objectsIn } from "./wire.ts";

const known = [
  "button",
  "channels_select",
  "checkboxes",
  "conversations_select",
  "datepicker",
  "datetimepicker",
  "email_text_input",
  "external_select",
  "feedback_buttons",
  "file_input",
  "icon_button",
  "image",
  "multi_conversations_select",
  "multi_static_select",
  "multi_users_select",
  "number_input",
  "overflow",
  "plain_text_input",
  "radio_buttons",
  "rich_text_input",
  "static_select",
  "timepicker",
  "url_text_input",
  "users_select",
];

export function elementProblems(element: JsonObject, place: string): Problem[] {
  if (!known.includes(String(element.type))) {
    return [`unsupported type: ${String(element.type)} [json-pointer:${place}/type]`];
  }
  return [
    ...tooLong(element.action_id, most("action-id"), `${place}/action_id`),
    ...(element.placeholder === undefined
      ? []
      : textProblems(element.placeholder, `${place}/placeholder`, most("placeholder-text"), true)),
    ...(isObject(element.confirm) ? confirmProblems(element.confirm, `${place}/confirm`) : []),
    ...problemsByType(element, place),
  ];
}

function problemsByType(element: JsonObject, place: string): Problem[] {
  switch (element.type) {
    case "button":
      return buttonProblems(element, place);
    // https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
    case "feedback_buttons":
      return (["positive_button", "negative_button"] as const).flatMap((side) => {
        const button = element[side];
        return isObject(button)
          ? [...buttonProblems(button, `${place}/${side}`), ...missing(button.value, "value", `${place}/${side}`)]
          : missing(undefined, side, place);
      });
    case "plain_text_input":
      return inputProblems(element, place);
    case "static_select":
    case "multi_static_select":
      return optionProblems(element, place, most("select-options"));
    case "overflow":
      return optionProblems(element, place, most("overflow-options"));
    case "checkboxes":
    case "radio_buttons":
      return optionProblems(element, place, most("checkbox-options"));
    case "file_input":
      return uploadProblems(element, place);
    case "image":
      return missing(element.alt_text, "alt_text", place);
    default:
      return [];
  }
}

function buttonProblems(button: JsonObject, place: string): Problem[] {
  const isStyled = button.style === undefined || button.style === "primary" || button.style === "danger";
  return [
    ...textProblems(button.text, `${place}/text`, most("button-text"), true),
    ...tooLong(button.value, most("button-value"), `${place}/value`),
    ...tooLong(button.url, most("button-url"), `${place}/url`),
    ...tooLong(button.accessibility_label, most("button-label"), `${place}/accessibility_label`),
    ...(isStyled ? [] : [`must be one of: primary, danger [json-pointer:${place}/style]`]),
  ];
}

function inputProblems(input: JsonObject, place: string): Problem[] {
  const limit = input.max_length;
  const isNumber = typeof limit === "number" && limit >= 1 && limit <= most("input-text");
  const isTooMuch = limit !== undefined && !isNumber;
  return [
    ...tooLong(input.initial_value, most("input-text"), `${place}/initial_value`),
    ...(isTooMuch ? [`must be between 1 and ${most("input-text")} [json-pointer:${place}/max_length]`] : []),
  ];
}

/** Any list of extensions will do: Slack says that it checks them for convenience only. Rule: file-input */
function uploadProblems({ max_files: limit, filetypes }: JsonObject, place: string): Problem[] {
  const isCount = limit === undefined || (Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= 10);
  const isList =
    filetypes === undefined || (Array.isArray(filetypes) && filetypes.every((type) => typeof type === "string"));
  return [
    ...(isCount ? [] : [`must be between 1 and 10 [json-pointer:${place}/max_files]`]),
    ...(isList ? [] : [`must be a list of strings [json-pointer:${place}/filetypes]`]),
  ];
}

function optionProblems(element: JsonObject, place: string, limit: Size): Problem[] {
  if (element.option_groups !== undefined) {
    return itemProblems(element.option_groups, 1, most("option-groups"), `${place}/option_groups`);
  }
  return [
    ...itemProblems(element.options, 1, limit, `${place}/options`),
    ...objectsIn(element.options).flatMap((option, at) => [
      ...textProblems(option.text, `${place}/options/${at}/text`, most("option-text")),
      ...tooLong(option.value, most("option-value"), `${place}/options/${at}/value`),
      ...(option.description === undefined
        ? []
        : textProblems(option.description, `${place}/options/${at}/description`, most("option-description"))),
    ]),
    ...initialProblems(element, place, limit),
  ];
}

/** What is chosen at first must be one of the options, to the letter; choosing nothing is leaving it out. */
function initialProblems(element: JsonObject, place: string, limit: Size): Problem[] {
  if (element.initial_options === undefined) return [];
  const options = objectsIn(element.options).map((option) => JSON.stringify(option));
  return [
    ...itemProblems(element.initial_options, 1, limit, `${place}/initial_options`),
    ...objectsIn(element.initial_options).flatMap((option, at) =>
      options.includes(JSON.stringify(option))
        ? []
        : [`must match one of the options [json-pointer:${place}/initial_options/${at}]`],
    ),
  ];
}

function confirmProblems(confirm: JsonObject, place: string): Problem[] {
  return [
    ...(confirm.title === undefined ? [] : textProblems(confirm.title, `${place}/title`, most("confirm-title"), true)),
    ...textProblems(confirm.text, `${place}/text`, most("confirm-text")),
    ...(confirm.confirm === undefined
      ? []
      : textProblems(confirm.confirm, `${place}/confirm`, most("confirm-button"), true)),
    ...(confirm.deny === undefined ? [] : textProblems(confirm.deny, `${place}/deny`, most("confirm-button"), true)),
  ];
}
