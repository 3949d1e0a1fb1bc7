/**
 * The one hook for fault injection: tests wrap ports from outside, and the process knows nothing of the faults.
 *
 * `REMORA_PORT_WRAPPERS` names a module; its export `wrappers` is used. Without it, nothing of this is loaded.
 */

import type { Audit } from "./audit.ts";
import type { ContextBuilder } from "./context.ts";
import type { Gate } from "./gate.ts";
import type { Ledger } from "./ledger.ts";
import type { Memory } from "./memory.ts";
import type { Posts } from "./platform.ts";
import type { Provider } from "./provider.ts";
import type { Sandbox } from "./sandbox.ts";
import type { Toolbox } from "./tool.ts";
import type { Delivery, ReadModel } from "./turn-deps.ts";

/** Each is handed the port right after it was made, and returns what is used in its place. */
export interface PortWrappers {
  ledger?(ledger: Ledger): Ledger;
  audit?(audit: Audit): Audit;
  context?(context: ContextBuilder): ContextBuilder;
  provider?(provider: Provider): Provider;
  readModel?(readModel: ReadModel): ReadModel;
  gate?(gate: Gate): Gate;
  toolbox?<T extends Toolbox>(toolbox: T): T;
  delivery?(delivery: Delivery): Delivery;
  posts?(posts: Posts): Posts;
  memory?<T extends Memory>(memory: T): T;
  sandbox?(sandbox: Sandbox): Sandbox;
}
