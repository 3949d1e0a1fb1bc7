/** One checkable statement of the original specification, and what shows that it holds. */
export interface Requirement {
  says: string;
  /** Tests that show it, as `[file below test/, title]`. Titles are exact, so a renamed test is renamed here too. */
  shownBy?: readonly (readonly [file: string, title: string])[];
  /** Shows it here, if that takes milliseconds. */
  check?(): void | Promise<void>;
  /** The bold words of the entry under "Differences from the specification" in docs/architecture.md. */
  differs?: string;
}

export interface Section {
  title: string;
  requirements: readonly Requirement[];
}
