/** The documentation site, as far as it needs no generator: every page has a place, every link leads to a file and a heading. */
import { expect, it } from 'vitest';
import { readContent } from '../../site/content.ts';

it('every page of docs/ and of the packages has a place in site/pages.ts, and no link is broken', () => {
  const { pages, images, broken } = readContent();
  expect(broken).toEqual([]);
  expect(pages.size).toBeGreaterThan(120);
  expect(images).toContain('docs/images/bench-peers.svg');
});

it('a file that a page names is a page of the site', () => {
  const { pages } = readContent();
  expect(pages.get('gateway.md')).toContain('(/source/examples/gateway/none.json.md)');
  expect(pages.get('source/examples/gateway/none.json.md')).toContain('"backend"');
});
