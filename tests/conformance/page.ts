/** docs/conformance.md: the results of a whole run, by scenario, revision and transport. */
import { readFileSync } from 'node:fs';
import { table } from '../../scripts/documents/markdown.ts';
import type { Comparison } from './foreign.ts';
import type { Run } from './suite.ts';

interface Outcome {
  readonly name: string;
  readonly passed: boolean;
  readonly checks: string;
}

const { version }: { version: string } = JSON.parse(
  readFileSync(
    new URL('../../node_modules/@modelcontextprotocol/conformance/package.json', import.meta.url),
    'utf8',
  ),
);

/**
 * @param runs of clients, by which the revisions of a scenario are known
 * @param comparisons of servers of others; they are among the outcomes, too
 * @param expected names of outcomes that may fail
 */
export function conformancePage(
  runs: readonly Run[],
  outcomes: readonly Outcome[],
  comparisons: readonly Comparison[],
  expected: readonly string[],
): string {
  const passed = outcomes.filter((outcome) => outcome.passed).length;
  const known = outcomes.filter(({ name, passed: ok }) => !ok && expected.includes(name)).length;
  const failed = outcomes.length - passed - known;
  return `# Conformance

Results of the [official conformance suite](https://www.npmjs.com/package/@modelcontextprotocol/conformance), version ${version}. \`npm run conformance\` runs it and writes this page: ${outcomes.length} runs, ${passed} pass, ${known} differ as [expected-failures.json](../tests/conformance/expected-failures.json) says, ${failed} fail.

## The client

Each authorization scenario on each transport that it exists on: sessions (2025-11-25) and stateless requests (2026-07-28). A cell has the checks that passed, of all; a warning counts as a failure.

${clientTable(runs, outcomes)}

## The authorization server

With default settings; a user signs in and consents.

${serverTable(outcomes)}

## The gateway

Each scenario for servers, as a client of each revision, against an MCP server directly and through the gateway in front of a backend of each transport. *Same* means that it ends in the same way, check by check; the first column with numbers is the result without the gateway.

${gatewayTables(outcomes, expected)}

**Differs, as expected.** The other transport cannot say it: a session does not carry the capabilities of a single request, the names of its server requests, or the error for a capability that was not declared; a stateless server cannot ask in the middle of a call; and streams between transports are not closed for polling.

## The gateway in front of servers of others

The same scenarios against MCP servers that were not written for this suite, or not by us: most need tools that server-everything does not have, and fail with and without the gateway. What counts is that nothing that passes directly fails through the gateway. Where it passes although the server alone does not, the gateway has refused what the server accepts.

${foreignTables(comparisons)}

**The example server of the suite** (\`examples/servers/typescript\` of its repository at c321dd3, not in its package; \`CONFORMANCE_EXAMPLE\` names its folder), on 2026-11-24: at 2025-11-25, 33 of 33 scenarios pass directly and through the gateway. At 2026-07-28, 32 of 50 pass directly and 31 through the gateway. The one is \`server-stateless\`: the example streams the notifications of \`subscriptions/listen\` as lines of \`application/json\`, where the revision has an event stream, and a document that is no response to its request is a 502 here. In seven others, which fail either way, the gateway refuses malformed requests that the example accepts.
`;
}

/** A table for each server. */
function foreignTables(comparisons: readonly Comparison[]): string {
  const servers = Map.groupBy(comparisons, ({ server, revision }) => `${server}, as a client of ${revision}`);
  return [...servers]
    .map(([title, rows]) => {
      const passing = (way: 'directly' | 'guarded') => rows.filter((row) => row[way].startsWith('✓')).length;
      const lines = rows.map(({ scenario, directly, guarded }) => [
        `\`${scenario.split(' ')[0]}\``,
        directly,
        guarded,
      ]);
      const count = `${passing('directly')} of ${rows.length} pass directly, ${passing('guarded')} through the gateway.`;
      return `### ${title}\n\n${count}\n\n${table(['scenario', 'directly', 'through the gateway'], lines)}`;
    })
    .join('\n\n');
}

function clientTable(runs: readonly Run[], outcomes: readonly Outcome[]): string {
  const transports = [...new Set(runs.map(({ transport }) => transport))].sort();
  const cell = (scenario: string, transport: string) => {
    const outcome = outcomes.find(({ name }) => name === `${scenario} on ${transport}`);
    return outcome === undefined ? '–' : `${outcome.passed ? '' : 'fails '}${outcome.checks || 'passes'}`;
  };
  const scenarios = new Map(runs.map(({ scenario, revisions }) => [scenario, revisions]));
  const rows = [...scenarios].map(([scenario, revisions]) => [
    `\`${scenario}\``,
    revisions.join(', '),
    ...transports.map((transport) => cell(scenario, transport)),
  ]);
  return table(['scenario', 'revisions', ...transports.map((transport) => `on ${transport}`)], rows);
}

function serverTable(outcomes: readonly Outcome[]): string {
  const rows = outcomes
    .filter(({ name }) => name.startsWith('authorization-'))
    .map(({ name, passed, checks }) => [`\`${name}\``, `${passed ? '' : 'fails '}${checks}`]);
  return table(['scenario', 'checks'], rows);
}

const THROUGH = /^(\S+) through the gateway on (\S+) to (.+)$/;

function gatewayTables(outcomes: readonly Outcome[], expected: readonly string[]): string {
  const rows = outcomes.flatMap((outcome) => {
    const [, scenario = '', revision = '', transport = ''] = THROUGH.exec(outcome.name) ?? [];
    return scenario === '' ? [] : [{ ...outcome, scenario, revision, transport }];
  });
  const transports = [...new Set(rows.map(({ transport }) => transport))].sort();
  const revisions = [...new Set(rows.map(({ revision }) => revision))].sort();
  const comparison = ({ passed, name }: Outcome) =>
    passed ? 'same' : expected.includes(name) ? 'differs, as expected' : 'fails';
  return revisions
    .map((revision) => {
      const here = rows.filter((row) => row.revision === revision);
      const scenarios = [...new Set(here.map(({ scenario }) => scenario))].sort();
      const lines = scenarios.map((scenario) => {
        const all = here.filter((row) => row.scenario === scenario);
        const cells = transports.map((transport) => {
          const found = all.find((row) => row.transport === transport);
          return found === undefined ? '–' : comparison(found);
        });
        return [`\`${scenario}\``, all[0]?.checks.replace(/^[✓✗] /, '') ?? '', ...cells];
      });
      return `### A client of ${revision}\n\n${table(['scenario', 'directly', ...transports], lines)}`;
    })
    .join('\n\n');
}
