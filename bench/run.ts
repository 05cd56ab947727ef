/**
 * `npm run bench [part…] [--quick] [--tries=<number>] [--only=<server>] [--flow=<part of a name>]`: measures and writes
 * bench/results. Parts: flows, start, memory, growth, filled, postgres, costs, guard, client, store, pages, policy, pair, flat, dimensions, rules; by
 * default all except store, filled, pair, flat, dimensions and rules. A wrong response of ours fails the run.
 *
 * `npm run bench pair <commit> [part of the name of a flow…] [--rounds=<number>]`: the program of another commit and this one in turns, with
 * the processor time of each flow. Fails when a flow costs more than 1.25 times what it cost, beyond the spread. `npm run bench flat [flow…]`: a new user and one of a year, in turns.
 * `npm run bench dimensions [part of the name of a dimension…] [--rounds=<number>]`: much of one thing at a time, such as sessions or servers, beside little of everything.
 * `npm run bench rules [part of their name…]`: a call by plain rules, and with conditions, in turns.
 *
 * `npm run bench filled [--grants=10000000 --users=1000000 --events=70000000] [--flow=…] [--database=<URL>]`: a filled PostgreSQL, 100,000 grants, 10,000 users and a
 * million events by default. A grant needs 0.6 KB on disk and a user 1.8 KB with sessions and clients; an event 0.4 KB.
 */
import { betterAuth } from './authorization/better-auth.ts';
import { flowNames } from './authorization/flows.ts';
import { measureCosts } from './authorization/measure-costs.ts';
import { LARGE, measureFilled } from './authorization/measure-filled.ts';
import { type Effort, measureFlows } from './authorization/measure-flows.ts';
import { measureGrowth } from './authorization/measure-growth.ts';
import { measureMemory } from './authorization/measure-memory.ts';
import { measurePostgres } from './authorization/measure-postgres.ts';
import { measureStart } from './authorization/measure-start.ts';
import { mcpSdk, workersOAuthProvider } from './authorization/memory-servers.ts';
import { oidcProvider } from './authorization/oidc-provider.ts';
import { portcullis } from './authorization/portcullis.ts';
import { measureDimensions } from './flatness/measure-dimensions.ts';
import { type Part, partText, writeReport } from './harness/figures.ts';
import { describeMachine, standAside } from './harness/machine.ts';
import { runScript } from './harness/script.ts';
import { measureFlatness, measurePair, measureRules, type Turns } from './pair/measure-pair.ts';

/** Seconds of warm-up for every server, while V8 still compiles hot code; the cost before that is part of the cold start. */
const WARM = 4;

const words = process.argv.slice(2);
const named = words.filter((word) => !word.startsWith('--'));
const flags = new Map(words.filter((word) => word.startsWith('--')).map(readFlag));
const effort: Effort = flags.has('quick')
  ? { rounds: 1, seconds: 1, warmUp: 0.5, tries: 1 }
  : { rounds: 3, seconds: 2, warmUp: WARM, tries: Number(flags.get('tries') ?? 2) };
const only = flags.get('only') ?? '';
const contenders = [
  portcullis,
  oidcProvider,
  betterAuth,
  workersOAuthProvider,
  mcpSdk(false),
  mcpSdk(true),
].filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()));
const flows = flowNames.filter((name) => name.includes(flags.get('flow') ?? ''));

const parts: Readonly<Record<string, () => Promise<Part>>> = {
  flows: () => measureFlows(contenders, effort, flows),
  start: () => measureStart(contenders, effort),
  memory: () => measureMemory(effort),
  growth: () => measureGrowth(effort),
  filled: () =>
    measureFilled(
      effort,
      {
        grants: Number(flags.get('grants') ?? LARGE.grants),
        users: Number(flags.get('users') ?? LARGE.users),
        events: Number(flags.get('events') ?? LARGE.events),
      },
      flags.get('flow'),
      flags.get('database'),
    ),
  postgres: () => measurePostgres(effort),
  pair: () => measurePair(named[1] ?? 'HEAD', named.slice(2), pairTurns()),
  flat: () => measureFlatness(named.slice(1), pairTurns()),
  dimensions: () => measureDimensions(named.slice(1), Number(flags.get('rounds') ?? 5)),
  rules: () => measureRules(named[0] === 'rules' ? named.slice(1) : [], pairTurns()),
  policy: () => runScript('What a decision costs', 'bench/policy.ts'),
  costs: () => measureCosts(effort, flags.get('flow')),
  guard: () => runScript('What a guard costs', 'bench/guard.ts'),
  client: () => runScript('What the authorized fetch costs', 'bench/client.ts'),
  size: () => runScript('What a client brings along', 'bench/install-size.ts'),
  store: () => runScript('Facts of the store alone', 'bench/store.ts'),
  pages: () => runScript('What a first page costs', 'bench/pages.ts'),
};

/** Parts that run only when they are named. */
const UNASKED: readonly string[] = ['store', 'filled', 'pair', 'flat', 'dimensions', 'rules'];
const asked = ['pair', 'flat', 'dimensions', 'rules'].includes(named[0] ?? '') ? named.slice(0, 1) : named;
const unknown = asked.filter((name) => !(name in parts));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`);
  process.exit(1);
}

const began = new Date();
standAside();
console.log(describeMachine());
const done: Part[] = [];
for (const name of asked.length > 0 ? asked : Object.keys(parts).filter((part) => !UNASKED.includes(part))) {
  console.log(`\n${name}`);
  const part = await parts[name]?.();
  if (part === undefined) continue;
  done.push(part);
  console.log(`\n${partText(part)}`);
  writeReport(done, began);
}
console.log(`\n${writeReport(done, began)}`);
process.exit(done.some(({ issues }) => issues.length > 0) ? 1 : 0);

/**
 * Short turns, because the speed of a machine that does other work changes within seconds. A quick one
 * also ends after as many flows as show a regression.
 */
function pairTurns(): Turns {
  const isQuick = flags.has('quick');
  const rounds = Number(flags.get('rounds') ?? (isQuick ? 8 : 24));
  return isQuick
    ? { rounds, turn: { flows: 400, seconds: 0.25 }, warmUp: { flows: 400 } }
    : { rounds, turn: { seconds: 0.25 }, warmUp: { seconds: WARM / 2 } };
}

function readFlag(word: string): [string, string] {
  const [name = '', value = ''] = word.slice(2).split('=', 2);
  return [name, value];
}
