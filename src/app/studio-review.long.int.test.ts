import { describeWithBrowser } from '../testing/browser-describe.ts';
import { reviewFlows } from './studio-review.contract.ts';

describeWithBrowser('the review of the studio', reviewFlows());
