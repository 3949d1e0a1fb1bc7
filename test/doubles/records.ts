/** Records with plain values, for tests that care about a field or two. */
import type { InboundMessage } from "../../src/ports/message.ts";
import type { ToolSpec } from "../../src/ports/tool.ts";
import type { TurnRecord } from "../../src/ports/turn.ts";

export function toolSpec(name: string, changes: Partial<ToolSpec> = {}): ToolSpec {
  return {
    name,
    description: name,
    parameters: { type: "object", properties: { text: { type: "string" } } },
    skill: "test",
    isReadOnly: false,
    isIdempotent: false,
    readsUntrusted: false,
    isOutward: false,
    timeoutMs: 1_000,
    folder: "none",
    shellParameters: [],
    ...changes,
  };
}

export function inboundMessage(changes: Partial<InboundMessage> = {}): InboundMessage {
  return {
    id: "m1",
    platform: "test",
    conversationId: "test:c1",
    scope: "channel:c1",
    author: { id: "ann", name: "Ann", isBot: false, roles: [] },
    text: "hello",
    attachments: [],
    isAddressed: true,
    isDirect: false,
    at: 1,
    ...changes,
  };
}

export function turnRecord(changes: Partial<TurnRecord> = {}): TurnRecord {
  return {
    id: "t1",
    conversationId: "test:c1",
    scope: "channel:c1",
    messages: [inboundMessage()],
    target: { platform: "test", conversationId: "test:c1", turnId: "t1", messageId: "m1" },
    workingFolder: "/nowhere",
    steps: [],
    startedAt: 1,
    isDelivered: false,
    ...changes,
  };
}
