/** The output of the log when it cannot be written: lines are dropped and counted, and nothing else happens. */
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createLogOutput } from '../src/server/log-output.ts';

describe('log lines that cannot be written', () => {
  it('a full disk costs lines, which are counted and reported once when it has space again', () => {
    let isFull = true;
    const written: string[] = [];
    const disk = new Writable({
      autoDestroy: false,
      write(chunk, _encoding, done) {
        if (!isFull) written.push(String(chunk));
        done(null);
      },
    });
    // As a standard stream: an error is reported, and the next write is tried again.
    const stream = Object.assign(disk, {
      write(text: string, done: (error?: Error | null) => void) {
        if (!isFull) written.push(text);
        done(isFull ? new Error('ENOSPC: no space left on device, write') : null);
        if (isFull) disk.emit('error', new Error('ENOSPC'));
        return true;
      },
    });
    const recovered: number[] = [];
    const output = createLogOutput(stream as NodeJS.WritableStream, (dropped) => recovered.push(dropped));
    output.write('one\ntwo\n');
    output.write('three\n');
    expect([output.dropped(), recovered]).toEqual([3, []]);
    isFull = false;
    output.write('four\n');
    output.write('five\n');
    expect([output.dropped(), recovered, written]).toEqual([3, [3], ['four\n', 'five\n']]);
  });

  it('a reader that has stopped reading costs lines instead of memory', async () => {
    const retained: (() => void)[] = [];
    const stream = new Writable({ write: (_chunk, _encoding, done) => void retained.push(done) });
    const recovered: number[] = [];
    const output = createLogOutput(stream, (dropped) => recovered.push(dropped));
    const line = `${'x'.repeat(999_999)}\n`;
    for (let count = 0; count < 20; count += 1) output.write(line);
    expect(output.dropped()).toBe(11);
    expect(stream.writableLength).toBeLessThan(10_000_000);
    retained.shift()?.();
    await expect.poll(() => recovered).toEqual([11]);
  });
});
