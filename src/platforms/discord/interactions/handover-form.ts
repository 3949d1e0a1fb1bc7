/** The form behind Hand over…: one menu of people. Who may answer is checked when it is submitted. */
import { ComponentType } from "discord.js";
import type { ButtonPlace } from "./custom-id.ts";
import { chosenIn, form, type Submitted } from "./form.ts";

export function handoverForm(id: string, place: ButtonPlace) {
  return form({ meaning: { type: "handed" }, ...place, id }, "Hand over", [
    {
      label: "Who should answer?",
      description: "Only somebody who can approve this. You can still answer too.",
      component: { type: ComponentType.UserSelect, custom_id: "person", min_values: 1, max_values: 1 },
    },
  ]);
}

/** The id of the chosen person; empty if none was chosen. */
export function chosenPerson(components: Submitted): string {
  return chosenIn(components)[0] ?? "";
}
