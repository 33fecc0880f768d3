import { openTestPlatform } from '../testing/open-test-platform.ts';
import { describeVisionTraining } from './train-vision.contract.ts';

describeVisionTraining('a vision-language model that is trained over the embedded log', () => openTestPlatform());
