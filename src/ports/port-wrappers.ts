/** Fault injection for tests: `REMORA_PORT_WRAPPERS` names a module that exports `wrappers`. */
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

export interface WrappedPorts {
  ledger: Ledger;
  audit: Audit;
  context: ContextBuilder;
  provider: Provider;
  readModel: ReadModel;
  gate: Gate;
  toolbox: Toolbox;
  delivery: Delivery;
  posts: Posts;
  memory: Memory;
  sandbox: Sandbox;
}

export type PortWrappers = { [Name in keyof WrappedPorts]?: (port: WrappedPorts[Name]) => WrappedPorts[Name] };

export type WrapPort = <Name extends keyof WrappedPorts>(name: Name, port: WrappedPorts[Name]) => WrappedPorts[Name];
