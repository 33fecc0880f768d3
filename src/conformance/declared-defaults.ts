import { TOKEN_MEAN } from '../domain/training/losses/policy-loss.ts';
import { parseDeclaration } from '../usecases/train/declaration/parse-declaration.ts';
import { settingsOf, torchPlanOf } from '../usecases/train/declaration/trainer-of.ts';

const MODEL = { kind: 'tiny', layers: 1, width: 16, heads: 2, context: 64 };

/** Returns what a training computes by whose declaration names a loss, and an estimator with a critic, and nothing else. */
export function declaredDefaults(loss = 'dual_clip') {
  const method = { estimator: { name: 'gae' }, loss: { name: loss } };
  const parsed = parseDeclaration({ backend: 'torch', torch: { model: MODEL }, ...method });
  if (parsed.kind === 'refused') throw new Error(`${parsed.message}; ${parsed.remedy}`);
  const { objective, critic, entropyCoefficient, kl } = settingsOf(parsed.declaration);
  return {
    lossOptions: objective.loss.options,
    aggregation: { ...TOKEN_MEAN, mode: torchPlanOf(parsed.declaration).aggregation },
    critic: { clip: critic.clip, factor: critic.factor ?? 0.5 },
    entropyCoefficient,
    kl,
  };
}

/** Returns what a case asks for besides the published defaults: those are left to what we declare by default. */
export function beyond<Options extends object>(published: Options, asked: Options): Partial<Options> {
  const entries = Object.entries(asked).filter(([name, value]) => value !== published[name as keyof Options]);
  return Object.fromEntries(entries) as Partial<Options>; // some of its own entries
}
