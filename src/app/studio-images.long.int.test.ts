import { describeWithBrowser } from '../testing/browser-describe.ts';
import { imageFlows } from './studio-images.contract.ts';

describeWithBrowser('the images of the studio', imageFlows());
