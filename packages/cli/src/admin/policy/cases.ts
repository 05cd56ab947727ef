/** `portcullis policy test`: decides about a table of cases, and shows each that differs from what it expects. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createPolicyFinder, type FindPolicy } from '@portcullis/admin/operations';
import {
  createOptionReport,
  formatOptionIssue,
  lazy,
  list,
  type OutputOf,
  readOption,
  record,
  text,
} from '@portcullis/authorization-server/options';
import { type AccessPrincipal, createCallArguments, type PolicyDecision } from '@portcullis/policy';
import * as z from 'zod';
import { CommandFailure, exitCodes } from '../../client/exit-codes.ts';
import { reasonOf, SettingsError } from '../../errors.ts';
import type { ProcessContext } from '../../process-context.ts';
import { cleanLine } from '../../terminal/clean.ts';
import { findServers } from '../configured-servers.ts';
import { becauseText } from './decision-text.ts';

const DECISIONS = ['allow', 'challenge', 'deny', 'insufficient_scope', 'step_up', 'approval'] as const;

const anything = () => record(z.unknown(), 'an object');

const userSchema = lazy(() =>
  z.strictObject({
    id: text(),
    email: text().optional(),
    name: text().optional(),
    groups: list(text()).optional(),
    claims: anything().optional(),
  }),
);

const caseSchema = lazy(() =>
  z.strictObject({
    name: text().optional(),
    server: text(),
    tool: text().optional(),
    prompt: text().optional(),
    resource: text().optional(),
    method: text().optional(),
    user: userSchema().optional(),
    client: text().optional(),
    scopes: list(text()).optional(),
    arguments: anything().optional(),
    annotations: z
      .strictObject({ readOnlyHint: z.boolean().optional(), destructiveHint: z.boolean().optional() })
      .optional(),
    network: text().optional(),
    time: text().optional(),
    expect: z.enum(DECISIONS),
    rule: text().optional(),
  }),
);

type Case = OutputOf<typeof caseSchema>;

export async function testCases(file: string, flags: object, processContext: ProcessContext): Promise<void> {
  const cases = await readCases(resolve(processContext.folder, file), file);
  const findPolicy = await createPolicyFinder(await findServers(flags, processContext));
  const differences = cases.flatMap((one, index) => findDifference(one, index, findPolicy) ?? []);
  for (const difference of differences) processContext.write(difference);
  processContext.write(`${cases.length - differences.length} of ${cases.length} cases as expected\n`);
  if (differences.length > 0) throw new CommandFailure(exitCodes.usage);
}

/** @throws SettingsError with every issue */
async function readCases(path: string, name: string): Promise<readonly Case[]> {
  const content = await readFile(path, 'utf8')
    .then(JSON.parse)
    .catch((error: unknown) => {
      throw new SettingsError([`${name} cannot be read: ${reasonOf(error)}`], { cause: error });
    });
  const report = createOptionReport();
  const cases = readOption(list(caseSchema(), 1), content, [], report);
  if (report.issues.length === 0) return cases;
  const at = (path: readonly string[]) => (path.length === 0 ? name : `${name}: ${path.join('.')}`);
  throw new SettingsError(report.issues.map(({ path, message }) => formatOptionIssue(at(path), message)));
}

/** `null`: the decision is as expected. */
function findDifference(given: Case, index: number, findPolicy: FindPolicy): string | null {
  const { expect, rule, name = `case ${index + 1}` } = given;
  const decision = decideCase(given, name, findPolicy);
  const deciding = decision.kind === 'allow' ? '' : decision.because.rule;
  if (decision.kind === expect && (rule === undefined || rule === deciding)) return null;
  const decided = decision.kind === 'allow' ? 'allow\n' : `${decision.kind} ${becauseText(decision.because)}`;
  const by = rule === undefined ? '' : ` by ${cleanLine(rule)}`;
  return `${cleanLine(name)}\n  expected  ${expect}${by}\n  decided   ${decided}`;
}

/** @throws Error that names the case, such as for a server that does not exist */
function decideCase(given: Case, name: string, findPolicy: FindPolicy): PolicyDecision {
  try {
    return decide(given, findPolicy);
  } catch (error) {
    throw new Error(`${cleanLine(name)}: ${reasonOf(error)}`, { cause: error });
  }
}

function decide(given: Case, findPolicy: FindPolicy): PolicyDecision {
  const { operation, server, policy } = findPolicy(given);
  const { annotations: hints, time, network = '' } = given;
  return policy.decide({
    principal: principalOf(given),
    operation,
    server: server.path,
    annotations:
      hints === undefined
        ? null
        : { readOnly: hints.readOnlyHint === true, destructive: hints.destructiveHint === true },
    arguments: createCallArguments(() => JSON.stringify(given.arguments ?? {})),
    now: Math.floor((time === undefined ? Date.now() : readTime(time)) / 1000),
    network,
  });
}

function readTime(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time))
    throw new Error(`time must be such as 2026-03-01T04:00Z, and is ${cleanLine(text)}`);
  return time;
}

/** `null`: a request without a token. */
function principalOf({ user, client = '', scopes = [] }: Case): AccessPrincipal | null {
  if (user === undefined) return null;
  const { id, groups = [], claims = {}, ...about } = user;
  const known = Object.entries({ ...about, groups }).filter(([, value]) => value !== undefined);
  const all = { sub: id, client_id: client, ...Object.fromEntries(known), ...claims };
  return { subject: id, clientId: client, scopes, groups, claims: all };
}
