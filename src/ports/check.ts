/** The result of one check: what was learned, or what is wrong, and what a person can do about it. */

export interface CheckProblem {
  ok: false;
  /** Permanent, such as `slack.missing-scopes`. */
  code: string;
  /** One sentence: what is wrong, and why. Contains no secret. */
  problem: string;
  /** One or two sentences: what to do. */
  fix: string;
}

export type CheckResult<Facts> = ({ ok: true } & Facts) | CheckProblem;
