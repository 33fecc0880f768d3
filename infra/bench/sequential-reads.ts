/** A node of what `explain (analyze, format json)` prints. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  /** Of one loop, on average: each parallel worker is a loop, and so is each row that a nested loop asks by. */
  readonly 'Actual Rows'?: number;
  /** Of one loop, too. */
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Actual Loops'?: number;
  readonly Plans?: readonly PlanNode[];
}

export function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Returns how many rows of each table were read by sequential scans, in all loops and workers together. */
export function sequentialReads(plan: PlanNode): ReadonlyMap<string, number> {
  const read = new Map<string, number>();
  for (const node of nodesOf(plan)) {
    if (node['Node Type'] !== 'Seq Scan') continue;
    const table = node['Relation Name'] ?? '?';
    const rows = ((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)) * (node['Actual Loops'] ?? 1);
    read.set(table, (read.get(table) ?? 0) + rows);
  }
  return read;
}
