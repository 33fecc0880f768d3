import { z } from 'zod';
import { ESTIMATORS } from '../../../domain/training/advantages/estimators.ts';
import { POLICY_LOSSES } from '../../../domain/training/losses/policy-losses.ts';
import type { NumberRule, OptionRules } from '../../../domain/training/method-options.ts';
import { declarationFields } from './declaration-fields.ts';

const DESCRIPTION =
  'How a policy is trained: the body of `PUT /v1/training/policies/{id}` and the file of `espalier train --declaration`.';

/** Returns the JSON Schema (draft 2020-12) of a declaration, with what every field and every option means. */
export function declarationSchema(): Readonly<Record<string, unknown>> {
  const { properties, ...schema } = z.toJSONSchema(declarationFields, { io: 'input' });
  const methods = Object.entries(METHOD_SCHEMAS).map(([field, anyOf]) => [field, { ...of(properties?.[field]), anyOf }]);
  return {
    title: 'TrainingDeclaration',
    description: DESCRIPTION,
    ...schema,
    properties: { ...properties, ...Object.fromEntries(methods) },
  };
}

function of(schema: unknown): object {
  return typeof schema === 'object' && schema !== null ? schema : {};
}

/** What each option means, by the name that every computation that has it uses. */
export const OPTION_WORDS: Readonly<Record<string, string>> = {
  anchors: 'Which states count as the same: equal ones, or those whose texts are similar.',
  clipHigh: 'How far a ratio may rise above 1 before it is clipped.',
  clipLow: 'How far a ratio may fall below 1 before it is clipped.',
  dualClip: 'Largest loss of a token with a negative advantage, in multiples of that advantage.',
  episode:
    "What is compared between episodes: the sums of their steps' rewards, every row's score, or one score of each trajectory.",
  epsilon: 'Added to the deviation that scores are divided by.',
  fNorm: 'What the scaled advantages are divided by.',
  floor: 'Least deviation that scores are divided by, for `floored-deviation`.',
  gamma: 'Discount of later rewards.',
  lambda: 'Decay of the generalised advantage estimate.',
  logRatios: 'Whether log-ratios are kept within ±20 (verl ≥ 0.4.1) or not.',
  mode: 'Whether differences from the mean of a group are divided by its deviation.',
  output: 'Whether whitened advantages are set to 0 outside the trained tokens.',
  over: 'What is compared: whole trajectories by the sums of their rows, every row, or one row of each trajectory.',
  parts: 'Whether the parts of a score are standardised as a sum, or each by itself.',
  scale: 'What differences from the mean of a group are divided by.',
  scores: 'Which tokens have rewards that count.',
  singleton: 'What a group of one member yields: its raw score, 0, or a refusal.',
  stepWeight: 'Weight of the step part next to the episode part.',
  tauNegative: 'Temperature of the gate for tokens with a negative advantage.',
  tauPositive: 'Temperature of the gate for tokens with a positive advantage.',
  threshold: 'Least ratio of similar texts, for `similar`.',
  variant: 'Which of the published recursions it is; they differ in what a token of a tool does to it.',
  whiten: 'Whether the advantages of the whole batch are whitened at the end.',
};

/** Every estimator, and every policy loss, with its own options alone: in JSON Schema one alternative for each. */
export const METHOD_SCHEMAS = { estimator: alternatives(ESTIMATORS), loss: alternatives(POLICY_LOSSES) };

function alternatives(registry: Readonly<Record<string, { readonly options: OptionRules }>>): readonly object[] {
  return Object.entries(registry).map(([name, { options }]) => ({
    type: 'object',
    properties: {
      name: { const: name, description: `\`${name}\`.` },
      options: {
        type: 'object',
        description: `Options of ${name} that differ from the defaults.`,
        properties: Object.fromEntries(Object.entries(options).map(([option, rule]) => [option, schemaOf(option, rule)])),
        additionalProperties: false,
      },
    },
    required: ['name'],
  }));
}

function schemaOf(option: string, rule: OptionRules[string]): object {
  const description = OPTION_WORDS[option] ?? option;
  if (rule.kind === 'choice') return { type: 'string', enum: [...rule.of], default: rule.default, description };
  return { type: 'number', minimum: rule.least, maximum: rule.most, default: (rule as NumberRule).default, description };
}
