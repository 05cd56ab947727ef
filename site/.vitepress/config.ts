/** Navigation, search and Markdown of the site. */
import { defineConfig, type MarkdownRenderer } from 'vitepress';
import { findEntryPoints } from '../entry-points.ts';
import { slugify } from '../links.ts';
import { findPages, SECTIONS, titleOf } from '../pages.ts';
import { boostDocument } from '../search.ts';

const pages = findPages();
const base = process.env['SITE_BASE'] ?? '/';
const API = 'TypeScript API';

const sidebar = Object.entries(SECTIONS).map(([text, files]) => ({
  text,
  collapsed: !['Start', 'Guides'].includes(text),
  items: [
    ...files.map((file) => ({
      text: file === 'README.md' ? 'Introduction' : titleOf(file),
      link: `/${pages.get(file)?.replace(/index$/, '')}`,
    })),
    ...(text === 'Reference' ? [{ text: API, link: '/api/' }] : []),
  ],
}));

const api = [
  { text: API, link: '/api/' },
  ...[...findEntryPoints().values()].map((name) => ({
    text: name.replace('@portcullis/', ''),
    link: `/api/${name}`,
  })),
];

/** A page is rendered for itself and twice for the search, and highlighting is half of a build. */
function highlightOnce({ options }: MarkdownRenderer): void {
  const { highlight } = options;
  const known = new Map<string, string>();
  options.highlight = (...code) => {
    const key = JSON.stringify(code);
    const html = known.get(key) ?? highlight?.(...code) ?? '';
    known.set(key, html);
    return html;
  };
}

export default defineConfig({
  base,
  srcDir: '.content',
  outDir: 'dist',
  cacheDir: '.cache',
  lang: 'en',
  ignoreDeadLinks: 'localhostLinks',
  title: 'Portcullis',
  description: 'Put authorization in front of any MCP server, without changing it.',
  head: [['link', { rel: 'icon', href: `${base}logo.svg`, type: 'image/svg+xml' }]],
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  markdown: { anchor: { slugify }, toc: { slugify }, lineNumbers: false, config: highlightOnce },
  themeConfig: {
    logo: '/logo.svg',
    search: {
      provider: 'local',
      options: { miniSearch: { searchOptions: { boostDocument } } },
    },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/guides/protect-a-server' },
      { text: 'Hosts', link: '/hosts/claude' },
      { text: 'Reference', link: '/configuration' },
      { text: 'Results', link: '/conformance' },
    ],
    sidebar: { '/api/': api, '/': sidebar },
    docFooter: { prev: 'Previous', next: 'Next' },
  },
});
