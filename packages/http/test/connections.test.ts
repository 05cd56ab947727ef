import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createConnectionSet } from '../src/node/connections.ts';

describe('a connection set', () => {
  it('a connection set holds the members that were added and not removed, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 100 }), (steps) => {
        const connections = createConnectionSet<{ readonly id: number }>();
        const members = Array.from({ length: 21 }, (_, id) => ({ id }));
        const open = new Set<{ readonly id: number }>();
        for (const member of steps.flatMap((step) => members[step] ?? [])) {
          if (open.delete(member)) connections.remove(member);
          else {
            open.add(member);
            connections.add(member);
          }
          expect(new Set(connections.all())).toEqual(open);
          expect(connections.size()).toBe(open.size);
        }
      }),
    );
  });
});
