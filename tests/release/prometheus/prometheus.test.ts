/** The alerts and the expressions of the dashboard in a real Prometheus, which scrapes a server as docs/guides/monitoring.md configures it. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPortcullisHere } from '../../support/portcullis-here.ts';
import { reservePort } from '../../support/ports.ts';
import { expressionsOfDashboard, readAlerts } from '../monitoring.ts';

const run = promisify(execFile);
const deploy = (file: string) =>
  fileURLToPath(new URL(`../../../deploy/prometheus/${file}`, import.meta.url));
const isInstalled = await run('promtool', ['--version']).then(
  () => true,
  () => false,
);
if (!isInstalled) console.warn('skipped: the Debian package prometheus is not installed');

const TOKEN = 'a token of this test';
/** Grafana replaces these. */
const withoutVariables = (expr: string) =>
  expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*');

describe.skipIf(!isInstalled)('promtool (skipped where it is not installed)', () => {
  it('accepts the rules, and each alert fires when its test says so', async () => {
    await expect(run('promtool', ['check', 'rules', deploy('portcullis.rules.yaml')])).resolves.toBeDefined();
    const tests = await run('promtool', ['test', 'rules', deploy('portcullis.rules.test.yaml')]);
    expect(tests.stdout).toContain('SUCCESS');
  });
});

describe.skipIf(!isInstalled)('Prometheus (skipped where it is not installed)', () => {
  let portcullis: Awaited<ReturnType<typeof startPortcullisHere>>;
  let folder: string;
  let url: string;
  let stop: () => Promise<unknown>;

  beforeAll(async () => {
    portcullis = await startPortcullisHere({ metricsToken: TOKEN });
    folder = await mkdtemp(join(tmpdir(), 'portcullis-prometheus-'));
    await copyFile(deploy('portcullis.rules.yaml'), join(folder, 'portcullis.rules.yaml'));
    await writeFile(join(folder, 'token'), TOKEN);
    await writeFile(join(folder, 'prometheus.yaml'), await configurationOf(portcullis.port));
    const port = await reservePort();
    url = `http://127.0.0.1:${port}/api/v1`;
    const prometheus = spawn(
      'prometheus',
      ['--config.file=prometheus.yaml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${port}`],
      { cwd: folder, stdio: 'ignore' },
    );
    stop = async () => {
      prometheus.kill();
      await once(prometheus, 'exit');
    };
  });

  afterAll(async () => {
    await stop();
    await portcullis.stop();
    await rm(folder, { recursive: true });
  });

  /** The configuration of the page, for a server on this computer that is scraped every second. */
  async function configurationOf(port: number): Promise<string> {
    const page = await readFile(new URL('../../../docs/guides/monitoring.md', import.meta.url), 'utf8');
    const block = /^```yaml\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '';
    const local = block
      .replace('scheme: https', 'scheme: http')
      .replace('/etc/prometheus/portcullis-token', join(folder, 'token'))
      .replace('auth.example.com:443', `127.0.0.1:${port}`);
    return `global: { scrape_interval: 1s }\n${local}`;
  }

  interface Result {
    readonly status: string;
    readonly data: { readonly result: readonly unknown[] };
  }

  async function query(expr: string): Promise<Result> {
    const response = await fetch(`${url}/query?${new URLSearchParams({ query: expr })}`);
    return (await response.json()) as Result;
  }

  it('reads the metrics with the token, and loads every alert', async () => {
    await expect
      .poll(() => query('up{job="portcullis"} == 1').catch(() => null))
      .toMatchObject({ data: { result: [expect.anything()] } });
    const response = await fetch(`${url}/rules`);
    const { data } = (await response.json()) as {
      data: { groups: { rules: { name: string; health: string; lastError?: string }[] }[] };
    };
    const loaded = data.groups.flatMap(({ rules }) => rules);
    expect(new Set(loaded.map(({ name }) => name))).toEqual(new Set(readAlerts().map(({ title }) => title)));
    expect(loaded.filter(({ lastError }) => lastError !== undefined)).toEqual([]);
  });

  it('evaluates every expression of the dashboard and of the alerts', async () => {
    for (const { title, expr } of [...expressionsOfDashboard(), ...readAlerts()])
      expect([title, await query(withoutVariables(expr))]).toMatchObject([title, { status: 'success' }]);
  });

  it('has values for the processes, the requests and the database', async () => {
    await fetch(`${portcullis.url}/jwks`);
    for (const expr of [
      'portcullis_http_responses_total{path="/jwks",status="200"} > 0',
      'portcullis_database_operation_duration_seconds_count > 0',
      'process_resident_memory_bytes > 0',
    ])
      await expect.poll(() => query(expr)).toMatchObject({ data: { result: [expect.anything()] } });
  });
});
