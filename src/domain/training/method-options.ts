/** A number between two bounds, both allowed. */
export interface NumberRule {
  readonly kind: 'number';
  readonly default: number;
  readonly least: number;
  readonly most: number;
}

/** One of a few words. */
export interface ChoiceRule<V extends string = string> {
  readonly kind: 'choice';
  readonly default: V;
  readonly of: readonly V[];
}

export type OptionRules = Readonly<Record<string, NumberRule | ChoiceRule>>;

/** The options that rules describe, all of them filled in. */
export type ChosenOptions<R extends OptionRules> = { readonly [K in keyof R]: R[K] extends ChoiceRule<infer V> ? V : number };

/** Options as they are recorded with an update: plain JSON, every default written out. */
export type Mode = Readonly<Record<string, string | number>>;

/** A refusal of the domain, with the sentence that says why. */
export interface RefusedOption {
  readonly kind: 'refused';
  readonly reason: string;
}

export function refuseOption(reason: string): RefusedOption {
  return { kind: 'refused', reason };
}

/** Describes a number with its default and bounds. */
export function numberOption(standard: number, least: number, most: number): NumberRule {
  return { kind: 'number', default: standard, least, most };
}

/** Describes a choice; the first word is the default. */
export function choiceOption<const V extends string>(standard: V, ...others: readonly V[]): ChoiceRule<V> {
  return { kind: 'choice', default: standard, of: [standard, ...others] };
}

/** Fills in what is not given and refuses what no rule knows: a misspelt option must not train as the default. */
export function chooseOptions<R extends OptionRules>(
  rules: R,
  given: Readonly<Record<string, unknown>>,
): { readonly kind: 'chosen'; readonly options: ChosenOptions<R>; readonly mode: Mode } | RefusedOption {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(rules, name));
  if (unknown !== undefined) {
    return refuseOption(`there is no option ${unknown}; there are ${Object.keys(rules).join(', ') || 'none'}`);
  }
  const mode: Record<string, string | number> = {};
  for (const [name, rule] of Object.entries(rules)) {
    const value = Object.hasOwn(given, name) ? given[name] : rule.default;
    if (rule.kind === 'choice') {
      if (typeof value !== 'string' || !rule.of.includes(value))
        return refuseOption(`${name} is one of ${rule.of.join(', ')}, not ${value}`);
      mode[name] = value;
    } else {
      const fits = typeof value === 'number' && value >= rule.least && value <= rule.most;
      if (!fits) return refuseOption(`${name} is a number from ${rule.least} to ${rule.most}, not ${value}`);
      mode[name] = value;
    }
  }
  return { kind: 'chosen', options: mode as ChosenOptions<R>, mode }; // every rule was visited and its value checked against its kind
}
