import type { Db } from '../postgres/database.ts';
import { readLedgers } from '../projections/training-pool/read-ledger.ts';
import { readLineages } from '../projections/training-pool/read-lineages.ts';
import type { Metrics } from '../runtime/metrics.ts';

/** Adds what is known of training at each scrape: the ledger of every policy, its difference, its newest version, its batches. */
export function addTrainingGauges(metrics: Metrics, db: Db): void {
  metrics.gauge(
    'training_samples',
    'Finished rollouts that may train a policy, by what became of them',
    ['policy', 'state'],
    async () =>
      (await readLedgers(db, 'all')).flatMap(({ policyId: policy, trained, rejected, abandoned, owed, running }) => {
        const refused = Object.entries(rejected).map(([reason, value]) => [`rejected:${reason}`, value] as const);
        const waiting = Object.entries(owed).map(([state, value]) => [`owed:${state}`, value] as const);
        const states = [
          ['trained', trained] as const,
          ['abandoned', abandoned] as const,
          ...refused,
          ...waiting,
          ['running', running] as const,
        ];
        return states.map(([state, value]) => ({ labels: { policy, state }, value }));
      }),
  );
  metrics.gauge('training_ledger_difference', 'Samples produced and not accounted for; always 0', ['policy'], async () =>
    (await readLedgers(db, 'all')).map(({ policyId, difference }) => ({ labels: { policy: policyId }, value: difference })),
  );
  metrics.gauge('training_policy_version', 'The newest version of a policy', ['policy'], async () =>
    (await readLineages(db, 'all')).flatMap(({ policyId, newestVersion }) =>
      newestVersion === null ? [] : [{ labels: { policy: policyId }, value: newestVersion }],
    ),
  );
  metrics.gauge('training_batches', 'Batches of a policy', ['policy', 'state'], async () =>
    (await readLineages(db, 'all')).flatMap(({ policyId: policy, planned, trained, abandoned }) => [
      { labels: { policy, state: 'trained' }, value: trained },
      { labels: { policy, state: 'waiting' }, value: planned - trained - abandoned },
      { labels: { policy, state: 'abandoned' }, value: abandoned },
    ]),
  );
}
