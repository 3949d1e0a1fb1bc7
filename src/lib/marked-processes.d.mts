export const markVariable: string;
export function ownMark(): string;
export function endMarked(prefix: string): Promise<void>;
export function endOrphans(): Promise<void>;
