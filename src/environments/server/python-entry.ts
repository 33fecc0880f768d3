import { z } from 'zod';
import { defineEnvironment } from '../environment-entry.ts';
import { text, whole } from '../option-kinds.ts';
import { readPairs } from '../read-address.ts';
import { openPython } from './open-python.ts';

/** An environment of the user's in Python, as in `python:./guess.py#Guess`: served by a process that is started for it. */
export const pythonEnvironment = defineEnvironment({
  name: 'python',
  summary: 'your own, from a Python class derived from espalier_rl.Environment, in a process that is started for it',
  options: z.strictObject({
    file: text('FILE.py[#CLASS]', 'the file, relative to the working folder, and the class where it defines several'),
    timeout: whole(1, 999_999, 'the limit for one request, in seconds').default(300),
  }),
  syntax: {
    form: 'python:FILE.py[#CLASS][;timeout=SECONDS]',
    read: (rest) => {
      const [file = '', ...own] = rest.split(';');
      return { ...readPairs(own.join(';')), file };
    },
  },
  open: ({ file, timeout }) => openPython(timeout, 'serve', file),
});
