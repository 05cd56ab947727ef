/** The pages of docs/ that `npm run documents` writes from code. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { generatedPages } from '../../scripts/documents/pages.ts';

const pages = await generatedPages();

describe('the generated pages', () => {
  it.each(Object.keys(pages))('%s is what the code says', async (file) => {
    expect(await readFile(new URL(`../../${file}`, import.meta.url), 'utf8')).toBe(pages[file]);
  });

  it('lists each endpoint that the metadata document names', () => {
    const paths = [
      '/authorize',
      '/par',
      '/token',
      '/register',
      '/device_authorization',
      '/revoke',
      '/introspect',
    ];
    for (const path of paths) expect(pages['docs/http-api.md']).toContain(` \`${path}\` |`);
  });
});
