/** What a decision about a small call costs, by the kind of its rule: processor time, in turns. `node --conditions=portcullis-source bench/policy.ts [rounds]` */
import {
  type AccessRequest,
  createCallArguments,
  decideAccess,
  type LocatedRule,
  loadConditions,
  locateRule,
  type PolicyRule,
} from '../packages/policy/src/index.ts';
import { spread } from './harness/figures.ts';

const [rounds = 60] = process.argv.slice(2).map(Number);
/** Decisions of a round. */
const DECISIONS = 2000;

const compile = await loadConditions();
const ruleOf = (rule: PolicyRule) => [locateRule('rule', { scopes: ['notes:read'], ...rule }, compile)];
const RULES: Readonly<Record<string, readonly LocatedRule[]>> = {
  scopes: ruleOf({}),
  'a condition on the client': ruleOf({ when: "client.id != 'none'" }),
  'a condition on an argument': ruleOf({ when: "call.arguments.text.startsWith('The text')" }),
  'a condition on an argument and the user': ruleOf({
    when: "call.arguments.text.size() <= 100 && user.email.endsWith('@example.com')",
  }),
};

/** Arguments are parsed for each decision that reads them. */
const createRequest = (): AccessRequest => ({
  principal: {
    ...{ subject: 'user_ada', clientId: 'editor', scopes: ['notes:read'], groups: [] },
    claims: { email: 'ada@example.com' },
  },
  operation: { method: 'tools/call', tool: 'echo', prompt: null, resource: null },
  server: '/mcp',
  annotations: null,
  arguments: createCallArguments(() => '{"text":"The text that this tool returns."}'),
  now: 1_800_000_000,
  network: '127.0.0.1',
});

/** @returns microseconds of one decision */
function measure(rules: readonly LocatedRule[]): number {
  const before = process.cpuUsage();
  for (let count = 0; count < DECISIONS; count += 1)
    if (decideAccess(rules, createRequest()).kind !== 'allow') throw new Error('The call is refused.');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / DECISIONS;
}

const found = Object.entries(RULES).map(([name, rules]) => ({ name, rules, costs: [] as number[] }));
for (let round = -10; round < rounds; round += 1)
  for (const { rules, costs } of found) {
    const cost = measure(rules);
    if (round >= 0) costs.push(cost);
  }
for (const { name, costs } of found) console.log(`${spread(costs, 2)} µs  ${name}`);
