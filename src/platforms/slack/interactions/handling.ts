import type { Log } from "../../../lib/log.ts";
import type { PlatformHandlers } from "../../../ports/platform.ts";
import type { SlackApi } from "../api/api.ts";
import type { Identity } from "../api/identity.ts";
import type { People } from "../api/people.ts";
import type { Threads } from "../inbound/threads.ts";
import type { EphemeralReplies } from "../outbound/ephemeral-reply.ts";

/** What everything needs that handles what people do. */
export interface Handling {
  handlers: PlatformHandlers;
  api: SlackApi;
  identity(): Promise<Identity>;
  people: People;
  threads: Threads;
  ephemeral: EphemeralReplies;
  log: Log;
}
