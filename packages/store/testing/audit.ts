/** The contract of the audit log. */
import type { AuditEventSearch } from '@portcullis/authorization-server/store';
import { describe, expect, it } from 'vitest';
import { NOW, newClient, newEvent, type StoreOfTest, times } from './samples.ts';

export function describeAuditLog(store: StoreOfTest): void {
  describe('the audit log', () => {
    it('stores audit events completely and lists them in order', async () => {
      const events = times(25, (index) => newEvent({ id: `e${String(index).padStart(3, '0')}` }));
      await store().appendEvents(events.slice(0, 20).toReversed());
      await store().appendEvents(events.slice(20));
      expect(await store().listEvents('', 100)).toEqual(events);
      expect(await store().listEvents('e009', 3)).toEqual(events.slice(10, 13));
      expect(await store().listLatestEvents(2)).toEqual(events.slice(-2));
      expect(await store().listLatestEvents(3, 'e020')).toEqual(events.slice(17, 20));
      expect(await store().listLatestEvents(3, 'e000')).toEqual([]);
    });

    it('finds the latest events that match a search, and no others', async () => {
      const ids = ['e0', 'e1', 'e2', 'e3', 'e4'];
      const whose = [
        { clientId: 'a', accountId: null, type: 'token.issued', details: {} },
        { clientId: 'a', accountId: 'ada', type: 'token.issued', details: { reference: 'K7M5-PMRH' } },
        { clientId: 'b', accountId: 'ada', type: 'tokens.counted', details: { reference: 'OTHER' } },
        { clientId: 'b', accountId: 'bob', type: 'token.revoked', details: {}, grantId: 'g' },
        { clientId: 'a', accountId: 'ada', type: 'token.issued', details: {} },
      ];
      await store().appendEvents(whose.map((one, index) => newEvent({ id: ids[index] ?? '', ...one })));
      const any = { from: '', before: '~', type: null, clientId: null, accountId: null, grantId: null };
      const search = async (more: Partial<AuditEventSearch>, limit = 10) =>
        (await store().searchEvents({ ...any, detail: null, ...more }, limit)).map(({ id }) => id);
      expect(await search({})).toEqual(ids);
      expect(await search({}, 2)).toEqual(['e3', 'e4']);
      expect(await search({ from: 'e1', before: 'e3' })).toEqual(['e1', 'e2']);
      expect(await search({ accountId: 'ada' })).toEqual(['e1', 'e2', 'e4']);
      expect(await search({ accountId: 'ada', clientId: 'a' }, 1)).toEqual(['e4']);
      expect(await search({ accountId: 'ada\0' })).toEqual([]);
      expect(await search({ grantId: 'g' })).toEqual(['e3']);
      expect(await search({ type: 'token.issued' })).toEqual(['e0', 'e1', 'e4']);
      expect(await search({ type: 'token.*' })).toEqual(['e0', 'e1', 'e3', 'e4']);
      expect(await search({ type: '*' })).toEqual(ids);
      expect(await search({ detail: ['reference', 'K7M5-PMRH'] })).toEqual(['e1']);
      expect(await search({ detail: ['reference', 'K7M5'] })).toEqual([]);
      // What JSON escapes is left to the caller.
      expect(await search({ detail: ['reference', '\\'] })).toEqual(ids);
    });

    it('stores an audit event that has only a time and a type', async () => {
      const bare = newEvent({
        clientId: null,
        accountId: null,
        grantId: null,
        resource: null,
        transactionId: null,
        details: {},
      });
      await store().appendEvents([bare]);
      expect(await store().listLatestEvents(10)).toEqual([bare]);
    });

    it('commits audit events together with other operations, or on their own after the time limit', async () => {
      const alone = newEvent();
      const appended = new Promise<void>((resolve) => {
        store().beforeCommit(() => resolve(store().appendEvents([alone])), 20);
      });
      await appended;
      expect(await store().listEvents('', 10)).toEqual([alone]);

      let calls = 0;
      store().beforeCommit(() => calls++, 30);
      await store().saveClient(newClient());
      await expect.poll(() => calls).toBe(1);
      await store().saveClient(newClient());
      expect(calls).toBe(1);
    });

    it('stores an audit event once although it is appended twice', async () => {
      const [first, second] = [newEvent(), newEvent()];
      await store().appendEvents([first]);
      await store().appendEvents([first, second]);
      expect(await store().listEvents('', 10)).toHaveLength(2);
      await store().appendEvents([]);
      expect(await store().listEvents('', 10)).toHaveLength(2);

      const many = times(70, () => newEvent());
      await store().appendEvents(many.slice(30, 40));
      await store().appendEvents([...many, ...many.slice(0, 20)]);
      const retained = [first, second, ...many].map(({ id }) => id).toSorted();
      expect((await store().listEvents('', 100)).map(({ id }) => id)).toEqual(retained);
    });

    it('stores any text in the details of an audit event', async () => {
      const event = newEvent({ details: { reason: '"\\ \u2028 🗝 \u0001', list: ['a', { b: null }] } });
      await store().appendEvents([event, newEvent({ details: { reason: 'a\0b' } })]);
      expect(await store().listEvents('', 10)).toContainEqual(event);
    });

    it('lists the audit events of an authorization transaction in order', async () => {
      const events = times(6, (index) =>
        newEvent({ id: `e${index}`, transactionId: index % 2 === 0 ? 'flow_a' : 'flow_b' }),
      );
      await store().appendEvents(events.toReversed());
      const flow = async (most: number) =>
        (await store().listTransactionEvents('flow_a', most)).map(({ id }) => id);
      expect(await flow(10)).toEqual(['e0', 'e2', 'e4']);
      expect(await flow(2)).toEqual(['e0', 'e2']);
    });

    it('sweeps audit events within a day of the end of their retention', async () => {
      const later = NOW + 3 * 86_400;
      await store().appendEvents([newEvent({ expiresAt: NOW + 5 })]);
      await store().appendEvents([newEvent({ at: later * 1000, expiresAt: later + 5 })]);
      await store().sweep(NOW + 4, 100);
      expect(await store().listEvents('', 10)).toHaveLength(2);
      await store().sweep(NOW + 5 + 86_400, 100);
      expect(await store().listEvents('', 10)).toEqual([expect.objectContaining({ expiresAt: later + 5 })]);
    });
  });
}
