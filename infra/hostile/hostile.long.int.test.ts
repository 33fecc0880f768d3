import { describeHostileInput } from './hostile.contract.ts';

describeHostileInput(100);
