export interface ChartRequest {
  type: "bar" | "line" | "area" | "scatter" | "pie" | "histogram";
  x: string | undefined;
  /** If empty, all remaining numeric columns are drawn. */
  y: string[];
  series: string | undefined;
  title: string;
  xTitle: string | undefined;
  yTitle: string | undefined;
  isStacked: boolean | undefined;
  isHorizontal: boolean | undefined;
  bins: number | undefined;
}
