/** `portcullis up --processes`: several processes at one address, their restart one after another, and the end of one of them. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  machineClient,
  machineCredentials,
  requestMachineToken,
} from '../../../tests/support/machine-client.ts';
import { type Postgres, startPostgres } from '../../../tests/support/postgres.ts';
import { type ProtectedProcess, startCommand } from '../../../tests/support/protect.ts';
import { sourceFlags } from '../../../tests/support/source-flags.ts';
import { createCounter } from '../src/server/metrics/instruments.ts';
import { formatMetrics, gauge } from '../src/server/metrics/prometheus-exposition.ts';
import { mergeMetrics } from '../src/server/processes/merge-metrics.ts';
import { main } from './support/command.ts';

const configuration = {
  resources: [
    {
      resource: 'https://mcp.example/mcp',
      name: 'MCP',
      scopes: { 'mcp:read': 'Read', 'mcp:write': 'Write' },
    },
  ],
  clients: [machineClient],
  rateLimits: { clientTokens: { burst: 100_000, perMinute: 100_000 } },
};

interface Several extends ProtectedProcess {
  readonly configHome: string;
  /** Numbers of the processes and their ids, in the order in which they started. */
  started(): readonly (readonly [number: number, pid: number])[];
}

async function startSeveral(database: string, processes = '2'): Promise<Several> {
  const configHome = mkdtempSync(join(tmpdir(), 'portcullis-processes-'));
  onTestFinished(() => rmSync(configHome, { recursive: true, force: true }));
  const file = join(configHome, 'portcullis.json');
  writeFileSync(file, JSON.stringify(configuration));
  const running = await startCommand(['up', '--processes', processes, '--config', file], {
    PORTCULLIS_DATABASE: database === '' ? join(configHome, 'portcullis.db') : database,
    XDG_CONFIG_HOME: configHome,
  });
  onTestFinished(async () => void (await running.stop()));
  const started = () =>
    [...running.output().matchAll(/process\.started process=(\d+) pid=(\d+)/g)].map(
      ([, number, pid]) => [Number(number), Number(pid)] as const,
    );
  return { ...running, configHome, started };
}

/** Requests tokens until it is ended, on connections that stay open and on new ones. @returns the outcomes */
function keepRequesting(url: string): { count(): number; end(): Promise<readonly string[]> } {
  const outcomes: string[] = [];
  let isOver = false;
  const body = new URLSearchParams({ ...machineCredentials, grant_type: 'client_credentials' }).toString();
  // A connection for each loop: one of several in a pool could stay unused until the server closes it.
  const retained = [1, 10, 50, 200].map((pause) => ({ pause, agent: new Agent({ keepAlive: true }) }));
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': String(body.length),
  };
  const ask = (agent: Agent | false) =>
    new Promise<string>((resolve) => {
      const outgoing = request(`${url}/token`, { method: 'POST', agent, headers }, (response) => {
        response.resume().once('end', () => resolve(String(response.statusCode)));
        response.once('error', (error) => resolve(error.message));
      });
      outgoing.once('error', (error) => resolve(error.message)).end(body);
    });
  const loop = async (agent: Agent | false, pause: number) => {
    while (!isOver) {
      outcomes.push(await ask(agent));
      // The connection is idle meanwhile.
      await sleep(pause);
    }
  };
  const loops = Promise.all([...retained.map(({ agent, pause }) => loop(agent, pause)), loop(false, 5)]);
  return {
    count: () => outcomes.length,
    async end() {
      isOver = true;
      await loops;
      for (const { agent } of retained) agent.destroy();
      return outcomes;
    },
  };
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe.each(['SQLite', 'PostgreSQL'])('several processes on %s', (store) => {
  async function locate(): Promise<string> {
    if (store === 'SQLite') return '';
    const postgres: Postgres = await startPostgres();
    onTestFinished(() => postgres.stop());
    return postgres.createDatabase();
  }

  it('are restarted one after another on SIGHUP without a failed request; one that is killed is replaced while the others serve', async () => {
    const several = await startSeveral(await locate());
    expect(several.started().map(([number]) => number)).toEqual([1, 2]);
    const load = keepRequesting(several.url);
    const untilMore = (more: number, from = load.count()) =>
      expect.poll(load.count).toBeGreaterThanOrEqual(from + more);
    await untilMore(25);
    for (const count of [1, 2]) {
      several.child.kill('SIGHUP');
      await expect.poll(() => several.output().match(/processes\.restarted count=2/g)?.length).toBe(count);
    }
    await untilMore(25);
    const outcomes = await load.end();
    expect(outcomes.filter((outcome) => outcome !== '200')).toEqual([]);
    expect(several.started().map(([number]) => number)).toEqual([1, 2, 1, 2, 1, 2]);
    expect(new Set(several.started().map(([, pid]) => pid)).size).toBe(6);
    // Banner and setup link are for a start, not for a restart.
    expect(several.output().match(/^ready /gm)).toHaveLength(1);

    const [[, killed] = [0, 0], [, other] = [0, 0]] = several.started().slice(-2);
    process.kill(killed, 'SIGKILL');
    // The first connections may still be passed to it: they are closed.
    const tokens = Array.from({ length: 4 }, () => requestMachineToken(several.url).catch(() => 'closed'));
    expect((await Promise.all(tokens)).some((token) => token.startsWith('ey'))).toBe(true);
    await expect.poll(() => several.started().length).toBe(7);
    expect(several.output()).toContain(`process.ended process=1 pid=${killed} code=null signal=SIGKILL`);
    const [number, successor] = several.started().at(-1) ?? [0, 0];
    expect([number, isAlive(successor), isAlive(other)]).toEqual([1, true, true]);
    expect(await requestMachineToken(several.url)).toMatch(/^ey/);
    expect(await several.stop()).toBe(0);
    expect(several.started().filter(([, pid]) => isAlive(pid))).toEqual([]);
  });
});

describe('several processes', () => {
  it('are one server to clients and commands: they show the metrics of all, and have one run file', async () => {
    const several = await startSeveral('');
    const read = async () => (await fetch(`${several.url}/metrics`)).text();
    const samples = async () =>
      (await read()).split('\n').flatMap((line) => /^process_start_time_seconds\S+/.exec(line) ?? []);
    // A process that is busy is missing from the metrics of that moment.
    await expect
      .poll(samples)
      .toEqual(['process_start_time_seconds{process="1"}', 'process_start_time_seconds{process="2"}']);

    const folder = join(several.configHome, 'portcullis/running');
    expect(readdirSync(folder)).toEqual([`${several.child.pid}.json`]);
    const { pid, url } = JSON.parse(readFileSync(join(folder, `${several.child.pid}.json`), 'utf8'));
    expect([pid, url]).toEqual([several.child.pid, several.url]);
    expect(await several.stop()).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('end with the process that started them, also if that is killed', async () => {
    const several = await startSeveral('');
    several.child.kill('SIGKILL');
    await expect.poll(() => several.started().some(([, pid]) => isAlive(pid))).toBe(false);
  });

  it('are refused where they would not share a database', () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [...sourceFlags(), main, 'up', '--processes', 'auto', '--database', ':memory:'],
      { encoding: 'utf8', cwd: tmpdir(), env: { PATH: process.env['PATH'] } },
    );
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('--processes must be 1 when --database is :memory:'),
    ]);
  });
});

describe('merged metrics', () => {
  it('keep the samples of a metric together, each with its process', () => {
    const familiesOf = (value: number) => {
      const total = createCounter('a_total', 'A.', ['path']);
      total.add(value, '/x # HELP y');
      return [total.family(), gauge('b', 'B.', value)];
    };
    expect(
      formatMetrics(
        mergeMetrics([
          [1, familiesOf(3)],
          [2, familiesOf(4)],
        ]),
      ),
    ).toBe(
      [
        '# HELP a_total A.',
        '# TYPE a_total counter',
        'a_total{process="1",path="/x # HELP y"} 3',
        'a_total{process="2",path="/x # HELP y"} 4',
        '# HELP b B.',
        '# TYPE b gauge',
        'b{process="1"} 3',
        'b{process="2"} 4',
        '',
      ].join('\n'),
    );
  });
});
