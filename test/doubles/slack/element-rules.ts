/** What Slack accepts as interactive elements, with the sizes of the Block Kit reference. */
import { itemProblems, missing, type Problem, textProblems, tooLong } from "./problems.ts";
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
    ...tooLong(element.action_id, 255, `${place}/action_id`),
    ...(element.placeholder === undefined ? [] : textProblems(element.placeholder, `${place}/placeholder`, 150, true)),
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
      return optionProblems(element, place, 100);
    case "overflow":
      return optionProblems(element, place, 5);
    case "checkboxes":
    case "radio_buttons":
      return optionProblems(element, place, 10);
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
    ...textProblems(button.text, `${place}/text`, 75, true),
    ...tooLong(button.value, 2000, `${place}/value`),
    ...tooLong(button.url, 3000, `${place}/url`),
    ...tooLong(button.accessibility_label, 75, `${place}/accessibility_label`),
    ...(isStyled ? [] : [`must be one of: primary, danger [json-pointer:${place}/style]`]),
  ];
}

function inputProblems(input: JsonObject, place: string): Problem[] {
  const most = input.max_length;
  const isTooMuch = most !== undefined && (typeof most !== "number" || most < 1 || most > 3000);
  return [
    ...tooLong(input.initial_value, 3000, `${place}/initial_value`),
    ...(isTooMuch ? [`must be between 1 and 3000 [json-pointer:${place}/max_length]`] : []),
  ];
}

/** Any list of extensions will do: Slack says that it checks them for convenience only. */
function uploadProblems({ max_files: most, filetypes }: JsonObject, place: string): Problem[] {
  const isCount = most === undefined || (Number.isInteger(most) && Number(most) >= 1 && Number(most) <= 10);
  const isList =
    filetypes === undefined || (Array.isArray(filetypes) && filetypes.every((type) => typeof type === "string"));
  return [
    ...(isCount ? [] : [`must be between 1 and 10 [json-pointer:${place}/max_files]`]),
    ...(isList ? [] : [`must be a list of strings [json-pointer:${place}/filetypes]`]),
  ];
}

function optionProblems(element: JsonObject, place: string, most: number): Problem[] {
  if (element.option_groups !== undefined) return itemProblems(element.option_groups, 1, 100, `${place}/option_groups`);
  return [
    ...itemProblems(element.options, 1, most, `${place}/options`),
    ...objectsIn(element.options).flatMap((option, at) => [
      ...textProblems(option.text, `${place}/options/${at}/text`, 75),
      ...tooLong(option.value, 150, `${place}/options/${at}/value`),
      ...(option.description === undefined
        ? []
        : textProblems(option.description, `${place}/options/${at}/description`, 75)),
    ]),
    ...initialProblems(element, place, most),
  ];
}

/** What is chosen at first must be one of the options, to the letter; choosing nothing is leaving it out. */
function initialProblems(element: JsonObject, place: string, most: number): Problem[] {
  if (element.initial_options === undefined) return [];
  const options = objectsIn(element.options).map((option) => JSON.stringify(option));
  return [
    ...itemProblems(element.initial_options, 1, most, `${place}/initial_options`),
    ...objectsIn(element.initial_options).flatMap((option, at) =>
      options.includes(JSON.stringify(option))
        ? []
        : [`must match one of the options [json-pointer:${place}/initial_options/${at}]`],
    ),
  ];
}

function confirmProblems(confirm: JsonObject, place: string): Problem[] {
  return [
    ...(confirm.title === undefined ? [] : textProblems(confirm.title, `${place}/title`, 100, true)),
    ...textProblems(confirm.text, `${place}/text`, 300),
    ...(confirm.confirm === undefined ? [] : textProblems(confirm.confirm, `${place}/confirm`, 30, true)),
    ...(confirm.deny === undefined ? [] : textProblems(confirm.deny, `${place}/deny`, 30, true)),
  ];
}
