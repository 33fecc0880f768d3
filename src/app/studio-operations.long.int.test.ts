import { describeWithBrowser } from '../testing/browser-describe.ts';
import { operationsFlows } from './studio-operations.contract.ts';

describeWithBrowser('the operations of the studio', operationsFlows());
