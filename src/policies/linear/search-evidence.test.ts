import { describe, expect, test } from '@jest/globals';
import { candidateFeatures } from './features.ts';
import { createEvidence } from './recipe-demand.ts';

const GOAL = 'Who is the owner of the employer of Ada Finch?';
const found = (text: string) => `<information>Doc 1: "T"\n${text}</information>`;
const situation = {
  goal: GOAL,
  firstObservation: `Question: ${GOAL}`,
  history: [
    { action: '<search>Ada Finch employer</search>', observation: found('The employer of Ada Finch is Brill Mill.') },
    { action: '<search>Brill Mill owner</search>', observation: found('The owner of Brill Mill is Cora Dane.') },
  ],
};

describe('evidence of a candidate', () => {
  test('the evidence shows where a name occurs, which hop it asks for, and whether a sentence links it to the previous search', () => {
    const opening = createEvidence({ ...situation, history: [] });
    expect(opening('<search>Ada Finch employer</search>')).toBe('question|first|false');
    expect(opening('<search>Ada Finch painter</search>')).toBe('question|unasked|false');
    const evidence = createEvidence(situation);
    expect(evidence('<search>Brill Mill owner</search>')).toBe('document|later|true');
    expect(evidence('<answer>Cora Dane</answer>')).toBe('document|answer|true');
    expect(evidence('<answer>Nobody Atall</answer>')).toBe('nowhere|answer|false');
  });

  test('the evidence is empty where nothing is searched or answered, so that features of other worlds do not change', () => {
    const evidence = createEvidence(situation);
    expect([evidence('get 1 oak logs'), evidence('inventory'), evidence('')]).toEqual([null, null, null]);
  });

  test('the evidence separates the linked answer from another one that was also read, which words alone do not', () => {
    const history = [
      ...situation.history.slice(0, 1),
      {
        action: situation.history[1]?.action ?? '',
        observation: found('The owner of Brill Mill is Cora Dane. Ed Fox lives here.'),
      },
    ];
    const evidence = createEvidence({ ...situation, history });
    expect(evidence('<answer>Cora Dane</answer>')).not.toBeNull();
    const [mentions] = candidateFeatures({ ...situation, history }, ['<answer>Cora Dane</answer>']);
    expect([...(mentions?.values ?? [])].some((value) => Math.abs(value) === 2)).toBe(true);
    const [craft] = candidateFeatures({ ...situation, history }, ['inventory']);
    expect([...(craft?.values ?? [])].some((value) => Math.abs(value) === 2)).toBe(false);
  });
});
