export function formatDollars(amount: number): string;
