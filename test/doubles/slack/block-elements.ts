/** The interactive elements of blocks: buttons, inputs, selects, with the block they stand in. */
import { isObject, type JsonObject, objectsIn } from "./wire.ts";

/** The two buttons of `feedback_buttons` share an action id; each sends its own value. */
export function buttonsOf(blocks: JsonObject[]): Placed[] {
  return elementsOf(blocks).flatMap(({ element, blockId }) => {
    if (element.type === "button") return [{ element, blockId }];
    if (element.type !== "feedback_buttons") return [];
    const sides = [element.positive_button, element.negative_button].filter(isObject);
    const { type, action_id } = element;
    return sides.map((side) => ({ element: { ...side, type, action_id: action_id ?? "" }, blockId }));
  });
}

interface Placed {
  element: JsonObject;
  blockId: string;
}

export function elementsOf(blocks: JsonObject[]): Placed[] {
  return blocks.flatMap((block) => {
    const own = [...objectsIn(block.elements), block.accessory, block.element].filter(isObject);
    return own
      .filter((element) => element.type !== undefined && element.type !== "mrkdwn" && element.type !== "plain_text")
      .map((element) => ({ element, blockId: String(block.block_id ?? "") }));
  });
}
