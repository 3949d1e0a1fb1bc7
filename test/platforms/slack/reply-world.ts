/** Replies on the Slack double: the mention they answer, and what people see of them. */
import { afterEach } from "vitest";
import type { InboundMessage } from "../../../src/ports/message.ts";
import type { Progress } from "../../../src/ports/progress.ts";
import type { SeenMessage } from "../../doubles/slack/see.ts";
import type { Channel } from "../../doubles/slack/state.ts";
import { createTestAgent, type TestAgent } from "./agent.ts";
import { createSlackWorld, type SlackWorld, type WorldOptions } from "./world.ts";

/** Of the running test, once somebody was `mentioned`. */
export let world: SlackWorld;
export let agent: TestAgent;

/** Closes the world of each test. */
export function useReplies(): void {
  afterEach(() => world.close());
}

export async function mentioned(
  options: WorldOptions = {},
  where?: (world: SlackWorld) => Channel,
): Promise<InboundMessage> {
  world = await createSlackWorld(options);
  const { slack } = world;
  agent = createTestAgent();
  await world.platform.connect(agent.handlers, new AbortController().signal);
  const channel = where?.(world) ?? slack.general;
  await slack.people.say({ as: slack.ann, in: channel, text: "@Remora hello" }).acknowledged();
  const [message] = agent.kept;
  if (message === undefined) throw new Error("nothing was heard");
  return message;
}

export function running(headline: string): Progress {
  return { headline, current: headline, since: Date.now() - 60_000, tasks: [] };
}

export const edits: WorldOptions = { changes: { streaming: "edits" } };
export const single: WorldOptions = { changes: { directMessages: "single" } };
export const inDm = ({ slack }: SlackWorld) => slack.workspace.direct(slack.ann);

export function agents(): SeenMessage[] {
  const { slack } = world;
  return [...slack.state.channels.values()]
    .flatMap((channel) => slack.see({ in: channel }))
    .filter((each) => each.isAgents);
}

export function keys(): string[] {
  return agents().map((each) => String((each.metadata?.event_payload as { key?: string } | undefined)?.key));
}
