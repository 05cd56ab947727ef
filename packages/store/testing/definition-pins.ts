/** The contract of definition pins: the first are approved, later ones wait, and decisions are about exactly one definition. */
import type { DefinitionList, DefinitionPinStore } from '@portcullis/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOW, newHash } from './samples.ts';

const listed = (name: string, hash: string = newHash()) => ({
  name,
  hash,
  definition: `{"name":"${name} “ä”"}`,
});

const newList = (): DefinitionList => ({ server: `/${newHash()}`, backend: 'http://a b/', kind: 'tool' });

/** Declares the contract of a store of definition pins. @param open opens an empty store; called once for each test, which closes it */
export function describeDefinitionPinContract(
  name: string,
  open: () => Promise<DefinitionPinStore & { close(): Promise<void> }>,
): void {
  describe(`definition pins on ${name}`, () => {
    let opened: Awaited<ReturnType<typeof open>> | undefined;
    const store = () => {
      if (opened === undefined) throw new Error('the store is open only while a test runs');
      return opened;
    };
    const statuses = async (list: DefinitionList) =>
      Object.fromEntries((await store().findPins(list)).map(({ hash, status }) => [hash, status]));
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(async () => {
      await opened?.close();
      opened = undefined;
    });

    it('approves the first definitions of a list once, also when processes compete', async () => {
      const list = newList();
      const offers = [[listed('a'), listed('b'), listed('b')], [listed('c')]];
      const saved = await Promise.all(offers.map((one) => store().saveFirstPins(list, one, NOW)));
      expect(saved.toSorted()).toEqual([false, true]);
      const pins = await store().findPins(list);
      expect(pins.map((pin) => pin.name)).toEqual(saved[0] ? ['a', 'b', 'b'] : ['c']);
      expect(pins.every(({ status, covers }) => status === 'approved' && covers === 'whole')).toBe(true);
      expect(await store().saveFirstPins(list, [listed('d')], NOW)).toBe(false);
      expect(await store().findPins(list)).toEqual(pins);
    });

    it('keeps the pins of another server, or of another backend at the same path, apart', async () => {
      const list = newList();
      await store().saveFirstPins(list, [listed('a')], NOW);
      for (const other of [
        { ...list, backend: 'http://a' },
        { ...list, backend: 'b/', server: `${list.server} http://a` },
      ]) {
        expect(await store().findPins(other)).toEqual([]);
        expect(await store().saveFirstPins(other, [listed('a')], NOW)).toBe(true);
      }
    });

    it('keeps approved definitions while others wait, and adds to them on approval', async () => {
      const list = newList();
      const [first, second, third] = [listed('a'), listed('a'), listed('a')];
      await store().saveFirstPins(list, [first], NOW);
      expect(await store().savePendingPin(list, first, NOW)).toBe(false);
      expect(await store().savePendingPin(list, second, NOW)).toBe(true);
      expect(await store().savePendingPin(list, second, NOW)).toBe(false);
      expect(await store().savePendingPin(list, third, NOW + 1)).toBe(true);
      const record = { ...list, ...third, approvedDefinition: first.definition, changedAt: NOW + 1 };
      expect(await store().listPendingPins(1000)).toContainEqual(record);
      const elsewhere = { ...list, backend: '' };
      expect(await store().decidePendingPin('approve', elsewhere, third, NOW + 2)).toBe(false);
      expect(await store().decidePendingPin('approve', list, third, NOW + 2)).toBe(true);
      expect(await store().decidePendingPin('reject', list, third, NOW + 3)).toBe(false);
      expect(await statuses(list)).toEqual({
        [first.hash]: 'approved',
        [second.hash]: 'pending',
        [third.hash]: 'approved',
      });
      const waiting = (await store().listPendingPins(1000)).filter(({ server }) => server === list.server);
      expect(waiting).toEqual([{ ...list, ...second, approvedDefinition: third.definition, changedAt: NOW }]);
    });

    it('lists what waits of one server or tool behind that of others, and counts it by server', async () => {
      const first = { ...newList(), server: '/a' };
      const second = { ...newList(), server: '/b' };
      for (const list of [first, second]) {
        await store().saveFirstPins(list, [listed('a')], NOW);
        for (const name of ['a', 'b', 'b']) await store().savePendingPin(list, listed(name), NOW);
      }
      const { server } = second;
      const named = async (...given: Parameters<DefinitionPinStore['listPendingPins']>) =>
        (await store().listPendingPins(...given)).map((one) => [one.server, one.name]);
      expect(await named(1000)).toEqual(
        [first, second].flatMap((list) => ['a', 'b', 'b'].map((name) => [list.server, name])),
      );
      expect(await named(1, { server })).toEqual([[server, 'a']]);
      expect(await named(1, { server, name: 'b' })).toEqual([[server, 'b']]);
      expect(await named(1000, { server, name: 'b' })).toHaveLength(2);
      expect(await named(1000, { server, name: 'c' })).toEqual([]);
      expect(await store().countPendingPins()).toEqual(
        new Map([
          [first.server, 3],
          [server, 3],
        ]),
      );
    });

    it('does not offer a rejected definition again, and keeps what was approved before', async () => {
      const list = newList();
      const [first, second, added] = [listed('a'), listed('a'), listed('b')];
      await store().saveFirstPins(list, [first], NOW);
      for (const definition of [second, added]) {
        await store().savePendingPin(list, definition, NOW);
        expect(await store().decidePendingPin('reject', list, definition, NOW)).toBe(true);
        expect(await store().savePendingPin(list, definition, NOW)).toBe(false);
      }
      expect(await statuses(list)).toEqual({
        [first.hash]: 'approved',
        [second.hash]: 'rejected',
        [added.hash]: 'rejected',
      });
      const rejected = (await store().findPins(list)).filter(({ status }) => status === 'rejected');
      expect(rejected.map(({ definition }) => definition)).toEqual([null, null]);
      expect(await store().savePendingPin(list, listed('a'), NOW)).toBe(true);
    });

    it('lets a few definitions of one name wait, and forgets the oldest of more', async () => {
      const list = newList();
      await store().saveFirstPins(list, [listed('a')], NOW);
      const offered = Array.from({ length: 10 }, () => listed('a'));
      for (const [index, one] of offered.entries()) await store().savePendingPin(list, one, NOW + index);
      await store().savePendingPin(list, listed('b'), NOW);
      const found = await statuses(list);
      expect(offered.map(({ hash }) => found[hash])).toEqual([
        ...[undefined, undefined],
        ...Array.from({ length: 8 }, () => 'pending'),
      ]);
      expect(Object.keys(found)).toHaveLength(10);
    });
  });
}
