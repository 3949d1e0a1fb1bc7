/** Fields that every line of the log gets while some work runs, such as the turn's id. */
import { AsyncLocalStorage } from "node:async_hooks";

export const logContext = new AsyncLocalStorage<{ turnId: string }>();
