import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createConnectionSet } from '../src/node/connections.ts';

describe('a connection set', () => {
  it('a connection set holds the members that were added and not removed, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 100 }), (steps) => {
        const connections = createConnectionSet<number>();
        const there = new Map<number, () => void>();
        for (const who of steps) {
          const leave = there.get(who);
          if (leave === undefined) there.set(who, connections.add(who));
          else {
            leave();
            there.delete(who);
          }
          expect(connections.all().toSorted()).toEqual([...there.keys()].toSorted());
          expect(connections.size()).toBe(there.size);
        }
      }),
    );
  });
});
