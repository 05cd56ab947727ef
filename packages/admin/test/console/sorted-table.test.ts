/** Tables that are sorted by links in their headings. */
import { html } from '@portcullis/authorization-server/pages';
import { describe, expect, it } from 'vitest';
import { costHere } from '../../../../tests/support/cost.ts';
import { sortedTable } from '../../src/console/ui/sorted-table.ts';

const items = [
  { name: 'server 10', calls: 2 },
  { name: 'Server 9', calls: 30 },
  { name: 'alpha', calls: 4 },
];

function render(address: string, isWhole = true, rows = items): string {
  const query = new URLSearchParams(address.split('?')[1] ?? '');
  return String(
    sortedTable(
      { path: address, query },
      'Items',
      [
        { heading: 'Name', sort: ['name', ({ name }) => name] },
        { heading: 'Calls', kind: 'number', sort: ['calls', ({ calls }) => calls] },
        { heading: 'Other' },
      ],
      rows,
      ({ name, calls }) => [html`<b>${name}</b>`, String(calls), ''],
      isWhole,
    ),
  );
}

const namesIn = (markup: string) => [...markup.matchAll(/<b>([^<]+)<\/b>/g)].map(([, name]) => name);

describe('a sorted table', () => {
  it.each([
    ['/x', ['server 10', 'Server 9', 'alpha']],
    ['/x?sort=name', ['alpha', 'Server 9', 'server 10']],
    ['/x?sort=-name', ['server 10', 'Server 9', 'alpha']],
    ['/x?sort=calls', ['server 10', 'alpha', 'Server 9']],
    ['/x?sort=-calls', ['Server 9', 'alpha', 'server 10']],
    ['/x?sort=unknown', ['server 10', 'Server 9', 'alpha']],
    ['/x?sort=__proto__', ['server 10', 'Server 9', 'alpha']],
  ])('%s is in its order', (address, names) => {
    expect(namesIn(render(address))).toEqual(names);
  });

  it('says by which column, links to the other order, and keeps the filters but not the notice', () => {
    const markup = render('/x?q=a&done=removed&sort=calls');
    expect(markup).toContain(
      '<th scope="col" class="number" aria-sort="ascending"><a href="/x?q=a&amp;sort=-calls">',
    );
    expect(markup).toContain('<a href="/x?q=a&amp;sort=name">Name</a>');
    expect(markup.match(/aria-sort/g)).toHaveLength(1);
    expect(render('/x?sort=-calls')).toContain('aria-sort="descending"><a href="/x?sort=calls">');
  });

  it('compares names with endless accents in time', () => {
    const accents = '\u0315\u0300'.repeat(40_000);
    const rows = ['b', 'a', 'a'].map((name, calls) => ({ name: `${name}${accents}${calls}`, calls }));
    const cost = costHere(() => {
      const names = namesIn(render('/x?sort=name', true, rows));
      expect(names.map((name) => name?.charAt(0))).toEqual(['a', 'a', 'b']);
    });
    expect(cost).toBeLessThan(1000);
  });

  it('offers no order for one page of several', () => {
    const markup = render('/x?sort=name', false);
    expect(markup).not.toMatch(/aria-sort|sort=/);
    expect(namesIn(markup)).toEqual(['server 10', 'Server 9', 'alpha']);
  });
});
