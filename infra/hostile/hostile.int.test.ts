import { describeHostileInput } from './hostile.contract.ts';

describeHostileInput(20); // 100 in hostile.long.int.test.ts
