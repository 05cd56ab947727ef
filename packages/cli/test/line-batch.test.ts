/** Batched log lines: written together, in order, without loss. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLineBatch } from '../src/server/line-batch.ts';

describe('lines of the log', () => {
  it('log lines of one turn are written together, in order', async () => {
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

  it('log lines are written at the end, and later lines immediately', async () => {
    const written: string[] = [];
    const lines = createLineBatch((text) => written.push(text));
    lines.add('one');
    lines.end();
    lines.add('two');
    await nextTurn();
    expect(written).toEqual(['one\n', 'two\n']);
  });
});
