/** How often all processes together may use one token of a service. */

export interface Rate {
  /** A call may follow another after this time, on average. */
  everyMs: number;
  /** Calls that may come at once, after a pause. */
  burst: number;
}

export interface RateBudget {
  /**
   * Takes a slot and resolves to 0, or takes none and resolves to the milliseconds to wait. Without a rate, only what
   * `hold` asked for counts. Never rejects: if the others can't be asked, the service's own limits must do.
   */
  take(bucket: string, rate?: Rate): Promise<number>;
  /** The service asked to wait, so no process takes a slot for so long. */
  hold(bucket: string, ms: number): void;
}
