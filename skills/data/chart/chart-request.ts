/** What a chart is asked for. */

export interface ChartRequest {
  type: "bar" | "line" | "area" | "scatter" | "pie" | "histogram";
  x: string | undefined;
  /** Empty: all columns with numbers that are left. */
  y: string[];
  series: string | undefined;
  title: string;
  xTitle: string | undefined;
  yTitle: string | undefined;
  isStacked: boolean | undefined;
  isHorizontal: boolean | undefined;
  bins: number | undefined;
}
