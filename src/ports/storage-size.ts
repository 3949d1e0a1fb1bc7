/** How much of one kind of data is stored, and for how long. */
export interface StorageSize {
  name: string;
  items: number;
  bytes: number;
  /** As people read it, such as `30 days`. */
  kept: string;
}
