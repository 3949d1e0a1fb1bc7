/** The interactive elements of blocks: buttons, inputs, selects, with the block they stand in. */
import { isObject, type JsonObject, objectsIn } from "./wire.ts";

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
