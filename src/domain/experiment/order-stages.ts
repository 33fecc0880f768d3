/** A stage and the stages whose outcome it uses. */
export interface StageNode {
  readonly name: string;
  readonly uses: readonly string[];
}

export type StageOrder =
  | { readonly kind: 'ordered'; readonly names: readonly string[] }
  | { readonly kind: 'cycle'; readonly names: readonly string[] }
  | { readonly kind: 'unknown'; readonly stage: string; readonly used: string };

/**
 * Orders stages so that each comes behind all that it uses; of several, in the order in which they were declared. A cycle is
 * returned as the way around: its first name is its last.
 */
export function orderStages(stages: readonly StageNode[]): StageOrder {
  const byName = new Map(stages.map((stage) => [stage.name, stage]));
  const ordered: string[] = [];
  const done = new Set<string>();
  const way: string[] = [];
  const visit = (stage: StageNode): Exclude<StageOrder, { kind: 'ordered' }> | null => {
    if (done.has(stage.name)) return null;
    const begun = way.indexOf(stage.name);
    if (begun >= 0) return { kind: 'cycle', names: [...way.slice(begun), stage.name] };
    way.push(stage.name);
    for (const used of stage.uses) {
      const found = byName.get(used);
      const wrong = found ? visit(found) : ({ kind: 'unknown', stage: stage.name, used } as const);
      if (wrong) return wrong;
    }
    way.pop();
    done.add(stage.name);
    ordered.push(stage.name);
    return null;
  };
  for (const stage of stages) {
    const wrong = visit(stage);
    if (wrong) return wrong;
  }
  return { kind: 'ordered', names: ordered };
}

/** Returns the stages that no other uses: what an experiment is for. */
export function goalsOf(stages: readonly StageNode[]): readonly string[] {
  const used = new Set(stages.flatMap(({ uses }) => uses));
  return stages.flatMap(({ name }) => (used.has(name) ? [] : [name]));
}

/** Returns the goals and all that they use, directly or through others. */
export function neededFor(goals: readonly string[], stages: readonly StageNode[]): ReadonlySet<string> {
  const usesOf = new Map(stages.map(({ name, uses }) => [name, uses]));
  const needed = new Set<string>();
  const open = [...goals];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (needed.has(name)) continue;
    needed.add(name);
    for (const each of usesOf.get(name) ?? []) open.push(each);
  }
  return needed;
}
