/** What a check of `remora doctor` found. */
export interface Finding {
  level: "ok" | "warning" | "error";
  text: string;
}

export function ok(text: string): Finding {
  return { level: "ok", text };
}

export function warning(text: string): Finding {
  return { level: "warning", text };
}

export function error(text: string): Finding {
  return { level: "error", text };
}
