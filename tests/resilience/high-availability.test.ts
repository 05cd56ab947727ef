/**
 * The cluster of docs/guides/high-availability.md below three processes of ours: a switchover, the loss, the separation and the full
 * disk of the primary, without the loss of anything acknowledged.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from './cluster.ts';
import { type ClusterLoad, startLoad } from './cluster-load.ts';
import { startCountingServer } from './counting-server.ts';
import { type Instance, startInstances } from './instances.ts';
import { findMissing, type Node } from './nodes.ts';
import { send } from './servers.ts';
import { sizes, TIMEOUT } from './sizes.ts';

const missing = await findMissing();
/** A cluster takes minutes to start on a busy computer. */
const isAsked = process.env['RESILIENCE'] !== undefined;
const skipped = missing !== null ? `skipped without ${missing}` : 'by `npm run resilience`';

interface Failure {
  readonly name: string;
  /** @param node the primary */
  strike(cluster: Cluster, node: Node, load: ClusterLoad): Promise<void>;
  /** What an operator does when another node is the primary. */
  repair(cluster: Cluster, node: Node): Promise<void>;
}

const failures: readonly Failure[] = [
  {
    name: 'a switchover',
    strike: (cluster) => cluster.switchover(),
    repair: async () => {},
  },
  {
    name: 'the loss of the primary with all of its processes',
    strike: ({ nodes }, node) => nodes.kill(node),
    repair: async (cluster, node) => cluster.start(node),
  },
  {
    name: 'the loss of all connections of the primary',
    strike: ({ nodes }, node) => nodes.separate(node, 'everything'),
    repair: ({ nodes }, node) => nodes.connect(node),
  },
  {
    name: 'the loss of the connections of the primary to the other nodes',
    strike: ({ nodes }, node) => nodes.separate(node, 'nodes'),
    repair: ({ nodes }, node) => nodes.connect(node),
  },
  {
    name: 'a full disk of the primary',
    // It ends when it needs more space for its log. Until then it changes rows and adds none, and Patroni leaves it alone.
    async strike(cluster, node, load) {
      await cluster.nodes.fill(node);
      await Promise.race([load.progress({ unavailable: 20 }), cluster.untilReplaced(node)]);
      if ((await cluster.leader()) === node) await cluster.switchover();
    },
    async repair(cluster, node) {
      cluster.nodes.free(node);
      cluster.start(node);
    },
  },
];

/** Each in turn. */
const rounds = Array.from({ length: sizes.failovers }, (_none, index) => {
  const failure = failures[index % failures.length];
  if (failure === undefined) throw new Error('no failure');
  return { ...failure, number: index + 1 };
});

/** What is acknowledged when all is well. */
const STEADY = { refreshes: 100, codes: 3, calls: 10 };

const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;

function takePauses({ pauses }: ClusterLoad): string {
  const longest = Object.entries(pauses).map(([name, pause]) => `${name} ${seconds(pause.take())}`);
  return longest.join(', ');
}

function takeFailures(instances: readonly Instance[]): string {
  const taken = instances.flatMap((instance) => [...instance.takeFailures()]);
  const types = [...new Set(taken.map(([what]) => what))];
  const countOf = (type: string) =>
    taken.filter(([what]) => what === type).reduce((sum, [, count]) => sum + count, 0);
  return types.map((type) => `\n  ${countOf(type)} ${type}`).join('');
}

describe.skipIf(missing !== null || !isAsked)(`a cluster of three, ${skipped}`, () => {
  const endings: (() => Promise<void>)[] = [];
  let cluster: Cluster;
  let instances: readonly Instance[];
  let load: ClusterLoad;

  beforeAll(async () => {
    const atEnd = (end: () => Promise<void>) => void endings.push(end);
    cluster = await startCluster(atEnd);
    const server = await startCountingServer();
    atEnd(server.close);
    instances = await startInstances(cluster.location, server.url, atEnd);
    load = await startLoad(instances, server, sizes.cluster);
    // As a load balancer does; what they find is logged.
    const probe = () => instances.map((instance) => send(instance, '/readyz').catch(() => null));
    const probing = setInterval(() => void probe(), 1000);
    atEnd(async () => clearInterval(probing));
  }, TIMEOUT);

  afterAll(async () => {
    for (const end of endings.toReversed()) await end();
  }, TIMEOUT);

  const count = async (type: string) =>
    (await cluster.ask(`SELECT count(*)::int AS n FROM audit_events WHERE type = '${type}'`))[0]?.['n'];

  it.each(rounds)(
    'failure $number, $name, ends nothing: clients have what they had before, and the cluster is whole again',
    async ({ number, name, strike, repair }) => {
      await load.progress({
        ...STEADY,
        refreshes: STEADY.refreshes + sizes.cluster.refreshes / sizes.failovers,
      });
      takePauses(load);
      takeFailures(instances);
      const before = await cluster.leader();
      const began = performance.now();
      await strike(cluster, before, load);
      await cluster.untilReplaced(before);
      await load.progress(STEADY);
      const away = takePauses(load);
      await repair(cluster, before);
      await cluster.untilWhole();
      const whole = seconds(performance.now() - began);
      await load.progress(STEADY);
      console.info(`${number}: ${name}: away: ${away}; whole after ${whole}; then away: ${takePauses(load)}`);
      console.info(`logged:${takeFailures(instances)}`);
      console.info(JSON.stringify(load.counts));
      expect(load.problems).toEqual([]);
      // The store has the last refresh of each session.
      expect(await count('refresh_token.ahead_of_store')).toBe(0);
    },
    TIMEOUT,
  );

  it(
    'what was acknowledged is there after all failures, and what was revoked is not',
    async () => {
      await load.finish();
      expect(await count('refresh_token.reuse_detected')).toBe(0);
      expect(await count('refresh_token.ahead_of_store')).toBe(0);
      for (const instance of instances)
        expect(await instance.metrics()).toMatch(/^portcullis_http_responses_total\{.*status="503"\} [1-9]/m);
      console.info(`acknowledged: ${JSON.stringify(load.counts)}`);
    },
    TIMEOUT,
  );
});
