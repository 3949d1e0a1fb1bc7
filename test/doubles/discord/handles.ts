/** References of tests: an action's result, or an id. */
import type { ChannelRecord, MessageRecord, World } from "./world.ts";

export interface MessageRef {
  id: string;
  channelId: string;
}

export type Ref = string | { id: string };

export function idOf(ref: Ref): string {
  return typeof ref === "string" ? ref : ref.id;
}

export function channelAt(world: World, ref: Ref): ChannelRecord {
  const channel = world.channels.get(idOf(ref));
  if (channel === undefined) throw new Error(`there is no channel ${idOf(ref)}`);
  return channel;
}

export function messageAt(world: World, ref: MessageRef): { channel: ChannelRecord; message: MessageRecord } {
  const channel = channelAt(world, ref.channelId);
  const message = channel.messages.get(ref.id);
  if (message === undefined) throw new Error(`there is no message ${ref.id} in ${channel.name || channel.id}`);
  return { channel, message };
}
