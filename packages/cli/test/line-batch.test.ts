/** Lines of the log: gathered for a moment, written in their order, none lost. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLineBatch } from '../src/server/line-batch.ts';

describe('lines of the log', () => {
  it('are written together, in their order', async () => {
    const written: string[] = [];
    const lines = createLineBatch((text) => written.push(text));
    lines.add('one');
    lines.add('two');
    expect(written).toEqual([]);
    await nextTurn();
    lines.add('three');
    await nextTurn();
    expect(written).toEqual(['one\ntwo\n', 'three\n']);
    lines.end();
  });

  it('are all written in the end, and what comes after it at once', async () => {
    const written: string[] = [];
    const lines = createLineBatch((text) => written.push(text));
    lines.add('one');
    lines.end();
    lines.add('two');
    await nextTurn();
    expect(written).toEqual(['one\n', 'two\n']);
  });
});
