/**
 * The event bus. Emitting is synchronous and never throws. If a listener throws, `onListenerError` gets its error, and
 * the other listeners still run. Brain name: corpus.
 */
import type { GateMatch } from "./gate.ts";
import type { Usage } from "./provider.ts";
import type { ToolStatus } from "./tool.ts";

export interface TurnFields {
  turnId: string;
  conversationId: string;
  userId: string;
}

interface CallFields extends TurnFields {
  callId: string;
  tool: string;
}

interface JudgedFields extends CallFields {
  callHash: string;
  rules: Pick<GateMatch, "skill" | "pattern" | "file" | "line" | "form">[];
}

interface DecisionFields extends JudgedFields {
  approvalId: string;
  /** Earlier than the event if the decision was made in another process. */
  decidedAt: number;
  waitedMs: number;
}

interface GrantFields {
  grantId: string;
  skill: string;
  pattern: string;
  by: string;
  decidedAt: number;
}

export interface EventMap {
  "message.received": {
    messageId: string;
    platform: string;
    conversationId: string;
    userId: string;
    characters: number;
  };
  "turn.started": TurnFields & { messages: number };
  "turn.parked": TurnFields & { cardId: string };
  "turn.resumed": TurnFields & { because: "answer" | "restart" };
  "turn.finished": TurnFields & { outcome: "done" | "failed" | "stopped"; steps: number; durationMs: number };
  "context.built": TurnFields & { step: number; estimatedTokens: number; snapshot: string };
  /** The model has summarised older turns after this turn. If not `isKept`, they were removed in the meantime. */
  "context.compacted": TurnFields & { turns: number; isKept: boolean; model: string; usage: Usage; durationMs: number };
  "llm.request": TurnFields & { step: number; tools: number };
  "llm.response": TurnFields & {
    step: number;
    model: string;
    stop: string;
    usage: Usage;
    firstTokenMs: number;
    durationMs: number;
  };
  "llm.error": TurnFields & { step: number; code: string; message: string };
  "llm.fallback": { from: string; to: string; code: string; message: string };
  "tool.called": CallFields & { input: string };
  "tool.retried": CallFields & { attempt: number; waitMs: number; message: string };
  "tool.changed": { turnId: string; conversationId: string; jobId: string; draftId: string; files: number };
  "tool.completed": CallFields & { attempts: number; durationMs: number };
  "tool.failed": CallFields & { status: ToolStatus; attempts: number; durationMs: number; message: string };
  "safety.allowed": CallFields;
  "safety.confirm": JudgedFields & { approvalId: string; reasons: string[] };
  "safety.blocked": JudgedFields & { reasons: string[] };
  /** `by` gave the last approval; `grantIds` is empty if people decided. `requestedHash` hashes the model's call. */
  "safety.approved": DecisionFields & {
    by: string;
    voters: string[];
    grantIds: string[];
    isEdited: boolean;
    requestedHash: string;
  };
  /** `by` is `remora` if nobody could be asked. */
  "safety.denied": DecisionFields & { by: string; reason: string };
  "safety.expired": DecisionFields;
  "safety.cancelled": DecisionFields & { reason: string };
  "safety.granted": TurnFields & GrantFields & { approvalId: string; expiresAt: number };
  "safety.revoked": GrantFields & { conversationId: string };
  /** An approver (`by`) asked another one (`to`) to answer. */
  "safety.handed-over": TurnFields & { approvalId: string; by: string; to: string };
  /** Changes have been written to the real folder. `undoId` is absent if they can't be undone. */
  "changes.kept": { draftId: string; conversationId: string; turnIds: string[]; files: number; undoId?: string };
  "changes.refused": { draftId: string; conversationId: string; turnIds: string[]; message: string };
  "changes.undone": { draftId: string; undoId: string; by: string; files: number };
  /** A command's connection has ended. `host` is untrusted, because the command chose it. */
  "network.connection": {
    host: string;
    port: number;
    address?: string;
    startedAt: number;
    durationMs: number;
    bytesOut: number;
    bytesIn: number;
    outcome: string;
  };
  /** `seconds` is the length of the audio, if the service reports it. */
  "file.transcribed": { model: string; bytes: number; durationMs: number; seconds?: number };
  "memory.saved": TurnFields & { path: string };
  "feedback.recorded": { turnId: string; tool: string; outcome: string };
  "skill.loaded": { skill: string; path: string };
  "skill.rejected": { path: string; code: string; message: string };
  "platform.connected": { platform: string };
  "platform.disconnected": { platform: string; message: string };
  "queue.stalled": { jobId: string; message: string };
}

export type EventName = keyof EventMap;

export type RemoraEvent = { [N in EventName]: { name: N; at: number; fields: EventMap[N] } }[EventName];

export interface Events {
  emit<N extends EventName>(name: N, fields: EventMap[N]): void;
  listen(listener: (event: RemoraEvent) => void): () => void;
}
