import { type RefusedOption, refuseOption } from '../method-options.ts';
import { cispoPolicyLoss } from './cispo.ts';
import { clippedPolicyLoss, dualClippedPolicyLoss } from './clipped.ts';
import { gspoPolicyLoss } from './gspo.ts';
import { plainPolicyLoss } from './plain-policy-gradient.ts';
import type { ConfiguredPolicyLoss, PolicyLoss } from './policy-loss.ts';
import { sapoPolicyLoss } from './sapo.ts';

/** Every policy loss by the name that runs and updates record. */
export const POLICY_LOSSES: Readonly<Record<string, PolicyLoss>> = Object.fromEntries(
  [clippedPolicyLoss, dualClippedPolicyLoss, gspoPolicyLoss, cispoPolicyLoss, sapoPolicyLoss, plainPolicyLoss].map(
    (policyLoss) => [policyLoss.name, policyLoss],
  ),
);

/** Finds a policy loss and chooses its options; refuses a name or an option that does not exist, saying which there are. */
export function configurePolicyLoss(
  name: string,
  options: Readonly<Record<string, unknown>>,
): { readonly kind: 'configured'; readonly policyLoss: ConfiguredPolicyLoss } | RefusedOption {
  const policyLoss = Object.hasOwn(POLICY_LOSSES, name) ? POLICY_LOSSES[name] : undefined;
  if (policyLoss === undefined) {
    return refuseOption(`there is no policy loss ${name}; there are ${Object.keys(POLICY_LOSSES).join(', ')}`);
  }
  return policyLoss.configure(options);
}
