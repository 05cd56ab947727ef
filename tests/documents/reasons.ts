/** What of the documents does not run in tests/documents, and why. */

/** Programs that blocks name and that do nothing here. */
export const ABSENT: Readonly<Record<string, string>> = {
  npm: 'downloads packages; npm create portcullis runs, and the scripts of the clone have tests of their own',
  npx: 'downloads programs of others; our command and servers run',
  claude: 'has tests of its own: tests/interop/agents',
  codex: 'has tests of its own: tests/interop/agents',
  docker: 'no container is run here; npm run container builds and runs the image',
  helm: 'tests/release/charts renders the chart',
  kubectl: 'no cluster is here',
  psql: 'the binaries of the tests have the server alone',
};

/** Blocks that another test runs: a language, or a document and a language. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  ts: 'tests/installed/snippets.test.ts',
  nginx: 'tests/proxies/proxies.test.ts',
  caddy: 'tests/proxies/proxies.test.ts',
  haproxy: 'tests/proxies/proxies.test.ts',
  apache: 'tests/proxies/proxies.test.ts',
  etcd: 'tests/resilience/cluster.ts',
  patroni: 'tests/resilience/cluster.ts',
  sql: 'tests/resilience/cluster.ts',
  'CONTRIBUTING.md sh': 'tests/recipes/debugging.test.ts',
  'docs/guides/back-up.md sh': 'tests/recipes/back-up.test.ts',
};
