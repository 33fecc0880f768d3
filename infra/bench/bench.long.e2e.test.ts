import { expect, test } from '@jest/globals';
import { kafkaForTests } from '../../src/testing/kafka.ts';
import { describeWithKafka } from '../../src/testing/kafka-describe.ts';
import { describeOutcome, isMet, ratioOf } from './bench-result.ts';
import { BENCHES, isBench } from './benches.ts';
import { openStage } from './stage.ts';

const NAMES = Object.keys(BENCHES).filter(isBench);

/** The speed does not matter here: other tests run at the same time. */
describeWithKafka('the benches, quick', () => {
  test.each(NAMES)('%s prints every figure with its baseline, floor and conditions', async (name) => {
    const { DATABASE_URL } = process.env;
    const stage = openStage('quick', { DATABASE_URL, KAFKA_BROKERS: (await kafkaForTests()).brokers.join(',') });
    try {
      const outcome = await BENCHES[name](stage);
      const lines = describeOutcome(outcome).split('\n');
      expect(outcome.bench).toBe(name);
      expect(outcome.figures.length).toBeGreaterThan(0);
      expect(lines).toHaveLength(outcome.figures.length + 1);
      for (const [i, figure] of outcome.figures.entries()) {
        if (figure.baseline === null)
          expect(Number.isFinite(figure.value)).toBe(true); // a difference of times may be negative
        else expect(figure.value).toBeGreaterThan(0);
        expect(lines[i]).toContain(figure.name);
        if (figure.baseline) expect(lines[i]).toContain(`ratio ${ratioOf(figure)?.toFixed(2)}`);
        if (figure.floor) expect(lines[i]).toMatch(isMet(figure) ? /: met$/ : /: NOT MET$/);
      }
      expect(lines.at(-1)).toMatch(/cores \d+; node [\d.]+/);
    } finally {
      await stage.close();
    }
  });
});
