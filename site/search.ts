/** The search of the site: how its results are ranked, and the questions that it has to answer. */
import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Guides before explanations, explanations before evidence. It is copied into the pages as text, so it names nothing outside.
 * @param id the address of a section
 */
export function boostDocument(id: string): number {
  if (/\/api\//.test(id)) return 0.1;
  if (/\/(?:decisions|requirements|bench)\//.test(id)) return 0.15;
  if (
    /\/(?:threat-model|benchmarks|resilience|mutation|fuzz|conformance|interoperability|style|contributing|glossary)\b/.test(
      id,
    )
  )
    return 0.2;
  if (/\/(?:guides|hosts)\/|\/(?:gateway|identity-providers|operating)\b/.test(id)) return 2;
  return 1;
}

/** What people ask → the pages of which one comes first. */
const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  'restrict by group': ['guides/restrict-by-group'],
  nginx: ['guides/reverse-proxy'],
  traefik: ['guides/reverse-proxy'],
  postgresql: ['guides/postgresql'],
  kubernetes: ['guides/kubernetes'],
  'test in ci': ['guides/test-in-ci'],
  sizing: ['guides/sizing'],
  'how much memory': ['guides/sizing'],
  google: ['guides/sign-in'],
  rotate: ['guides/rotate'],
  'back up': ['guides/back-up'],
  'who has access': ['guides/revoke', 'operating'],
  revoke: ['guides/revoke'],
  'tool for admins': ['guides/restrict-by-group', 'gateway'],
  'several servers': ['gateway'],
  chatgpt: ['hosts/chatgpt'],
  'claude desktop': ['hosts/claude', 'hosts/stdio-hosts'],
  '401': ['guides/connect-a-client', 'errors'],
  upgrade: ['guides/upgrade'],
  'stdio server': ['guides/stdio-server'],
  'machine client': ['guides/machine-clients'],
  keycloak: ['guides/move-from-keycloak', 'guides/sign-in'],
  webhook: ['guides/webhooks'],
  siem: ['guides/webhooks'],
  smtp: ['guides/mail'],
  'forgot password': ['guides/mail', 'pages'],
  prometheus: ['guides/monitoring'],
  grafana: ['guides/monitoring'],
  'alert rules': ['guides/monitoring'],
  'admin api': ['guides/admin-api'],
  'admin console': ['guides/console'],
  openapi: ['guides/admin-api'],
  docker: ['operating', 'guides/kubernetes'],
};

/** What VitePress searches with. @see its VPLocalSearchBox.vue */
const OPTIONS = {
  fields: ['title', 'titles', 'text'],
  storeFields: ['title', 'titles'],
  searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 }, boostDocument },
};

/** Asks the index of the site that was built. @returns a line for each wrong result */
export async function findWrongResults(): Promise<readonly string[]> {
  const dist = fileURLToPath(new URL('dist/', import.meta.url));
  const [file = ''] = globSync('assets/chunks/@localSearchIndexroot.*.js', { cwd: dist });
  const { default: index } = await import(pathToFileURL(dist + file).href);
  const requireOfVitePress = createRequire(createRequire(import.meta.url).resolve('vitepress'));
  const MiniSearch = requireOfVitePress('minisearch');
  const search = MiniSearch.loadJSON(index, OPTIONS);
  return Object.entries(QUESTIONS).flatMap(([question, pages]) => {
    const found: readonly { id: string }[] = search.search(question).slice(0, 3);
    const ids = found.map(({ id }) => id.replace(/^\/|(?:\.html)?(?:#.*)?$/g, ''));
    const [first = 'nothing'] = ids;
    return pages.includes(first) ? [] : [`${question}: ${ids.join(', ')} instead of ${pages.join(' or ')}`];
  });
}
