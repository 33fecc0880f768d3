/** Returns the names of the metrics that an expression of Prometheus asks for, histograms without the suffixes of their series. */
export function metricNames(expr: string): readonly string[] {
  const named = expr.matchAll(/\b(?:espalier|nodejs|process)_[a-z0-9_]+/g);
  return [...new Set([...named].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')))];
}
