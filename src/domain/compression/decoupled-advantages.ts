import { type Scaling, standardiseGroup } from './standardise-group.ts';

/** One reward component over one group, value by value in the order of the group's samples. */
export interface Component {
  readonly values: readonly number[];
  /** The component's share of the advantage; it acts after the scaling, so no division cancels it. */
  readonly weight: number;
  readonly scaling: Scaling;
}

/**
 * Scales every component of a group's reward by itself and adds the weighted results: `A_i = Σ_k w_k · (r_ki − m_k) / d_k` (GDPO,
 * group reward-decoupled normalisation, arXiv 2601.05242). Standardising the sum instead lets the loudest component drown the
 * rest in a mixed group and the quietest one fill an otherwise equal group (specification of AgentOCR, §2.4); here compression
 * weighs `w` in both. @throws RangeError when components differ in length.
 */
export function decoupledAdvantages(components: readonly Component[]): number[] {
  const length = components[0]?.values.length ?? 0;
  const total = new Array<number>(length).fill(0);
  for (const { values, weight, scaling } of components) {
    if (values.length !== length) throw new RangeError(`a component has ${values.length} values where the first has ${length}`);
    standardiseGroup(values, scaling).forEach((advantage, i) => {
      total[i] = (total[i] ?? 0) + weight * advantage; // i < length: every slot is filled
    });
  }
  return total;
}

/**
 * Whitens the advantages of a whole batch: `(A − mean) / (deviation + ε)` over all samples of all groups. GDPO's last step: it
 * keeps the scale of an update apart from the number of components and their weights. The ratio of two components stays as it is.
 */
export function whitenBatch(advantages: readonly (readonly number[])[], epsilon: number): number[][] {
  const flat = standardiseGroup(advantages.flat(), { kind: 'deviation', epsilon });
  let next = 0;
  return advantages.map((group) => group.map(() => flat[next++] ?? 0)); // flat has one value for each
}
