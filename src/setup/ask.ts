/** How the setup asks people, and tells them things. Two implementations: a terminal, and flags alone. */

export interface Choice<Value extends string> {
  value: Value;
  label: string;
  hint?: string;
}

interface Question {
  message: string;
  /** What a script gives instead of an answer, such as `--approver`. */
  flag: string;
}

/** Every question rejects with `SetupCancelled` if the person presses Ctrl+C. */
export interface Ask {
  isInteractive: boolean;
  /** `initial` is preselected; without a terminal, it is the answer. */
  select<Value extends string>(
    question: Question & { choices: readonly Choice<Value>[]; initial?: Value },
  ): Promise<Value>;
  several(question: Question & { choices: readonly Choice<string>[]; initial: readonly string[] }): Promise<string[]>;
  /** `problemOf` returns what is wrong with an answer. `initial` is what Enter alone means. */
  text(question: Question & { initial: string; problemOf?(answer: string): string | undefined }): Promise<string>;
  /** The answer is not shown. Enter alone means an empty answer. */
  secret(question: Question): Promise<string>;
  confirm(question: Question & { initial: boolean }): Promise<boolean>;
  title(text: string): void;
  say(text: string): void;
  done(text: string): void;
  warn(text: string): void;
  /** A link on a line of its own, so that it can be copied whole. */
  link(label: string, url: string): void;
  /** Shows `doing` while the work runs. */
  during<Value>(doing: string, work: () => Promise<Value>): Promise<Value>;
  end(text: string): void;
}

export class SetupCancelled extends Error {
  constructor() {
    super("The setup was cancelled.");
    this.name = "SetupCancelled";
  }
}
