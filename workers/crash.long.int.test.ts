import { describeCrashes } from './crash.contract.ts';

describeCrashes(
  [
    { seed: 11, victims: ['collector'], kills: 4 },
    { seed: 12, victims: ['projector'], kills: 4 },
    { seed: 13, victims: ['collector', 'projector'], kills: 5 },
  ],
  4,
);
