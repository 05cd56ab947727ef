/** The contract of tool pins: the first are approved, later ones wait, and decisions are about exactly one definition. */
import type { ToolPinStore } from '@portcullis/protocol';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NOW, newHash } from './samples.ts';

const listed = (tool: string, hash: string = newHash()) => ({
  tool,
  hash,
  definition: `{"name":"${tool} “ä”"}`,
});

/** Declares the contract of a store of tool pins. @param open opens an empty store; called once for each test, which closes it */
export function describeToolPinContract(
  name: string,
  open: () => Promise<ToolPinStore & { close(): Promise<void> }>,
): void {
  describe(`tool pins on ${name}`, () => {
    let opened: Awaited<ReturnType<typeof open>> | undefined;
    const store = () => {
      if (opened === undefined) throw new Error('the store is open only while a test runs');
      return opened;
    };
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(async () => {
      await opened?.close();
      opened = undefined;
    });

    it('approves the first tools of a server once, also when processes compete', async () => {
      const server = `/${newHash()}`;
      const offers = [[listed('a'), listed('b')], [listed('c')]];
      const saved = await Promise.all(offers.map((tools) => store().saveFirstToolPins(server, tools, NOW)));
      expect(saved.toSorted()).toEqual([false, true]);
      const tools = (await store().findToolPins(server)).map(({ tool }) => tool);
      expect(tools).toEqual(saved[0] ? ['a', 'b'] : ['c']);
      expect(await store().saveFirstToolPins(server, [listed('d')], NOW)).toBe(false);
      expect(await store().findToolPins(`${server} other`)).toEqual([]);
    });

    it('keeps the approved definition while another one waits, and replaces it on approval', async () => {
      const server = `/${newHash()}`;
      const [first, second, third] = [listed('a'), listed('a'), listed('a')];
      await store().saveFirstToolPins(server, [first], NOW);
      expect(await store().savePendingTool({ server, ...first }, NOW)).toBe(false);
      expect(await store().savePendingTool({ server, ...second }, NOW)).toBe(true);
      expect(await store().savePendingTool({ server, ...second }, NOW)).toBe(false);
      expect(await store().savePendingTool({ server, ...third }, NOW + 1)).toBe(true);
      const waiting = { server, tool: 'a', approvedHash: first.hash, approvedDefinition: first.definition };
      const pending = { pendingHash: third.hash, pendingDefinition: third.definition };
      const record = { ...waiting, ...pending, rejectedHash: null, changedAt: NOW + 1 };
      expect(await store().findToolPins(server)).toEqual([record]);
      expect(await store().listPendingTools(1000)).toContainEqual(record);
      expect(await store().decidePendingTool('approve', { server, ...second }, NOW)).toBe(false);
      expect(await store().findToolPins(server)).toEqual([record]);
      expect(await store().decidePendingTool('approve', { server, ...third }, NOW + 2)).toBe(true);
      const approved = { approvedHash: third.hash, approvedDefinition: third.definition };
      const nothing = { pendingHash: null, pendingDefinition: null, rejectedHash: null };
      expect(await store().findToolPins(server)).toEqual([
        { server, tool: 'a', ...approved, ...nothing, changedAt: NOW + 2 },
      ]);
      expect(await store().listPendingTools(1000)).not.toContainEqual(expect.objectContaining({ server }));
    });

    it('does not offer a rejected definition again, and keeps what was approved before', async () => {
      const server = `/${newHash()}`;
      const [first, second] = [listed('a'), listed('a')];
      await store().saveFirstToolPins(server, [first], NOW);
      const added = listed('b');
      for (const tool of [second, added]) {
        await store().savePendingTool({ server, ...tool }, NOW);
        expect(await store().decidePendingTool('reject', { server, ...tool }, NOW)).toBe(true);
        expect(await store().savePendingTool({ server, ...tool }, NOW)).toBe(false);
      }
      const pins = await store().findToolPins(server);
      expect(pins.map(({ approvedHash }) => approvedHash)).toEqual([first.hash, null]);
      expect(pins.map(({ rejectedHash }) => rejectedHash)).toEqual([second.hash, added.hash]);
      expect(await store().savePendingTool({ server, ...listed('a') }, NOW)).toBe(true);
    });
  });
}
