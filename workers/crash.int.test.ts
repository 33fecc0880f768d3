import { describeCrashes } from './crash.contract.ts';

// More kills are in crash.long.int.test.ts.
describeCrashes([{ seed: 13, victims: ['collector', 'projector'], kills: 2 }], 2);
