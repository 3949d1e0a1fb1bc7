/** Adds channels to the local chat. A name is part of addresses and of folder names, so it is kept simple. */
import type { ChatStore } from "./chat-store.ts";
import { Refusal } from "./inbound.ts";
import { maxChannelNameBytes, maxChannelNameLength, maxChannels } from "./limits.ts";

/** `#/dm` is the address of the direct message. */
const reservedNames = ["dm"];
const nameRule = `A channel name has 1 to ${maxChannelNameLength} letters, digits, hyphens or underscores, such as “release-notes”.`;

export function createChannel({ channels }: ChatStore, givenName: string): string {
  const name = givenName.normalize("NFKC").trim().replace(/^#/, "").trim().replace(/\s+/gu, "-").toLowerCase();
  const isSimple = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}_-]*$/u.test(name);
  if (!isSimple || name.length > maxChannelNameLength) throw new Refusal(400, nameRule);
  if (encodeURIComponent(name).length > maxChannelNameBytes)
    throw new Refusal(400, "This name is too long in this script. Use fewer characters.");
  if (reservedNames.includes(name)) throw new Refusal(400, `“${name}” is reserved. Choose another name.`);
  if (channels.names().length >= maxChannels)
    throw new Refusal(409, `There are already ${maxChannels} channels, which is the maximum. Use one of them.`);
  if (!channels.add(name))
    throw new Refusal(409, `#${name} exists already. Open it in the list, or choose another name.`);
  return name;
}
