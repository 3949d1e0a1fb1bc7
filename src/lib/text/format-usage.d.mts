import type { Usage } from "../../ports/provider.ts";

export function formatDollars(amount: number): string;
export function tokensText(calls: readonly Usage[], number: (value: number) => string): string;
export function cachedShare(calls: readonly Usage[]): string | undefined;
