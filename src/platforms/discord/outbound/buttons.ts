/** Buttons whose custom ids say what they mean. */
import {
  type APIActionRowComponent,
  type APIButtonComponentWithCustomId,
  type APIComponentInMessageActionRow,
  ButtonStyle,
  ComponentType,
} from "discord.js";
import { shorten } from "../../../lib/text/shorten.ts";
import { type ButtonMeaning, type ButtonPlace, formatButtonId } from "../interactions/custom-id.ts";
import { maxButtonLabelLength } from "../limits.ts";

export type Button = APIButtonComponentWithCustomId;
export type ButtonRow = APIActionRowComponent<APIComponentInMessageActionRow>;

export function button(
  meaning: ButtonMeaning,
  label: string,
  id: string,
  place: ButtonPlace,
  style: Button["style"] = ButtonStyle.Secondary,
): Button {
  return {
    type: ComponentType.Button,
    style,
    label: shorten(label, maxButtonLabelLength),
    custom_id: formatButtonId({ meaning, ...place, id }),
  };
}

/** At most one row; none without buttons. */
export function rowsOf(buttons: Button[]): ButtonRow[] {
  return buttons.length === 0 ? [] : [{ type: ComponentType.ActionRow, components: buttons }];
}
