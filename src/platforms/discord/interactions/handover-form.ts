/** The form behind Hand over…: one menu of people. Who may answer is checked when it is submitted. */
import {
  type APIModalInteractionResponseCallbackData,
  type APIModalSubmissionComponent,
  ComponentType,
} from "discord.js";
import { type ButtonPlace, formatButtonId } from "./custom-id.ts";

const menuId = "person";

export function handoverForm(id: string, place: ButtonPlace): APIModalInteractionResponseCallbackData {
  return {
    custom_id: formatButtonId({ meaning: { type: "handed" }, ...place, id }),
    title: "Hand over",
    components: [
      {
        type: ComponentType.Label,
        label: "Who should answer?",
        description: "Only somebody who can approve this. You can still answer too.",
        component: { type: ComponentType.UserSelect, custom_id: menuId, min_values: 1, max_values: 1 },
      },
    ],
  };
}

/** The id of the chosen person; empty if none was chosen. */
export function chosenPerson(components: readonly APIModalSubmissionComponent[]): string {
  const [chosen = ""] = components.flatMap((part) => {
    const menu = part.type === ComponentType.Label ? part.component : undefined;
    return menu?.type === ComponentType.UserSelect && menu.custom_id === menuId ? menu.values : [];
  });
  return chosen;
}
