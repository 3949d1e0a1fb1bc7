export interface InterruptedUpgrade {
  what: string;
  todo: string;
  /** False if code or data may be half-done, so that only `upgrade` may run. */
  mayRun: boolean;
  /** If the code can't even be loaded. */
  rescue?: string;
}
/** Undefined if no upgrade was interrupted. */
export declare function interruptedUpgrade(root: string): InterruptedUpgrade | undefined;
