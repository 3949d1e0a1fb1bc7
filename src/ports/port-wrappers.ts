/**
 * The one hook for fault injection: tests wrap ports from outside, and the process knows nothing of the faults.
 *
 * `REMORA_PORT_WRAPPERS` names a module; its export `wrappers` is used. Without it, nothing of this is loaded.
 */
import type { ContextBuilder } from "../core/context.ts";
import type { Gate } from "../core/gate.ts";
import type { Ledger } from "../core/ledger.ts";
import type { Memory } from "../core/memory.ts";
import type { Posts } from "../core/platform.ts";
import type { Provider } from "../core/provider.ts";
import type { Delivery, ReadModel } from "../core/stages.ts";
import type { Toolbox } from "../core/tool.ts";
import type { Audit } from "./audit.ts";
import type { Sandbox } from "./sandbox.ts";

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
