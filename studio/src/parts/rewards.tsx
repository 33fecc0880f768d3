import { decimal } from './format.ts';
import { visible } from './plain-text.tsx';

interface Reward {
  readonly id: string;
  readonly component: string;
  readonly value: number;
}

/** The rewards of a step, each by its component. */
export function Rewards({ of }: { readonly of: readonly Reward[] }) {
  return of.map((reward) => (
    <span key={reward.id} className={`reward ${reward.value < 0 ? 'reward-bad' : ''}`}>
      {`${visible(reward.component)} ${reward.value > 0 ? '+' : ''}${decimal(reward.value)}`}
    </span>
  ));
}
