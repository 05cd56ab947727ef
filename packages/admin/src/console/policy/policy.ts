/** The policy: rules as they are configured, an explanation of a supposed call, and who may make it. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { OperationError } from '../../operations/errors.ts';
import { type ExplainedCall, explainCall, findPermittedUsers } from '../../operations/policy/explain.ts';
import { links } from '../links.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { icons } from '../ui/icons.ts';
import { countOf, empty, errorNotice, field, section, table, tag } from '../ui/parts.ts';
import { rulesTable } from './rules.ts';

export const policyPage: ConsoleRoute = definePage(links.policy, async (request) => {
  const servers = request.admin.servers();
  const isAsked = (request.query.get('tool') ?? '') !== '';
  return {
    title: 'Policy',
    lead: 'What the rules decide about a call, by which rule, and who may make it.',
    body:
      servers.length === 0
        ? empty('No server has rules', 'Rules belong to servers behind the gateway. Protect the first one.', {
            label: 'Protect a server',
            href: links.setup,
          })
        : html`<div class="columns${isAsked ? '' : ' form-first'}"><div>
${await answer(request)}
${servers.map((server) => section(server.name, rulesTable(server, servers)))}
</div><div>
${section('Try a call', form(request))}
</div></div>`,
  };
});

const ASKS = [
  ['explain', 'Explain what is decided'],
  ['who', 'List who may do it'],
] as const;

function form({ admin, query }: ConsoleRequest): Markup {
  const value = (name: string) => query.get(name) ?? '';
  return html`<form class="fields" action="${links.policy}">
${field({ name: 'server', label: 'Server', choices: admin.servers().map(({ path, name }) => [path, `${name} (${path})`] as const), value: value('server') })}
${field({ name: 'tool', label: 'Tool', isRequired: true, value: value('tool') })}
${field({ name: 'user', label: 'User', hint: 'Address or identifier. Empty: a call without a token.', value: value('user') })}
${field({ name: 'client', label: 'App', hint: 'Its client_id. Empty: any.', value: value('client') })}
${field({ name: 'arguments', label: 'Arguments', rows: 3, hint: 'A JSON object. Empty: conditions on arguments stay open.', value: value('arguments') })}
${field({ name: 'ask', label: 'Question', choices: ASKS, value: value('ask') || 'explain' })}
<p class="buttons"><button class="button main">Ask</button></p>
</form>`;
}

/** Nothing until a tool is named. */
async function answer(request: ConsoleRequest): Promise<Markup | null> {
  const { query } = request;
  if ((query.get('tool') ?? '') === '') return null;
  try {
    return query.get('ask') === 'who' ? await whoCan(request) : await explanation(request);
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return errorNotice(error);
  }
}

function operationIn({ query }: ConsoleRequest) {
  const client = query.get('client') ?? '';
  return {
    server: query.get('server') ?? '',
    tool: query.get('tool') ?? '',
    ...(client !== '' && { client }),
  };
}

const DECISIONS: Readonly<
  Record<ExplainedCall['decision']['kind'], readonly [string, 'good' | 'warn' | 'bad']>
> = {
  allow: ['Allowed', 'good'],
  challenge: ['Needs a token', 'warn'],
  insufficient_scope: ['Needs another permission', 'warn'],
  step_up: ['Needs a stronger sign-in', 'warn'],
  approval: ['Needs an approval', 'warn'],
  deny: ['Refused', 'bad'],
};

async function explanation(request: ConsoleRequest): Promise<Markup> {
  const { query, admin } = request;
  const [user, given] = [query.get('user') ?? '', query.get('arguments') ?? ''];
  const { decision, considered, notGrantable } = await explainCall(admin, {
    ...operationIn(request),
    ...(user !== '' && { user }),
    ...(given !== '' && { arguments: readArguments(given) }),
  });
  const [word, kind] = DECISIONS[decision.kind];
  const [reason, rule] =
    decision.kind === 'allow'
      ? ['every rule is met', null]
      : [decision.because.reason, decision.because.rule];
  const rows = considered.map(({ rule, outcome, reason }) => [
    html`<code>${rule}</code>`,
    outcomeTag(outcome),
    reason,
  ]);
  return section(
    'Decision',
    html`<div class="panel"><p class="decision">${tag(word, kind)} ${reason}</p>${rule !== null && html`<p class="fact">Decided by <code>${rule}</code></p>`}
${notGrantable.map(({ scope, reason }) => html`<p class="fact">The user cannot be granted <code>${scope}</code>: ${reason}</p>`)}</div>
${rows.length > 0 && table('What was considered', ['Rule', 'Outcome', 'Why'], rows)}`,
  );
}

function outcomeTag(outcome: ExplainedCall['considered'][number]['outcome']): Markup {
  if (outcome === 'met') return tag('Met', 'good');
  if (outcome === 'open') return tag('Depends on the arguments');
  return tag(...DECISIONS[outcome]);
}

/** @throws OperationError unless it is a JSON object */
function readArguments(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
  } catch {}
  throw new OperationError('invalid', 'The arguments must be a JSON object, such as {"path": "/reports"}.');
}

/** Users that are listed. */
const MAX_LISTED = 200;

async function whoCan(request: ConsoleRequest): Promise<Markup> {
  const operation = operationIn(request);
  const { users, withoutToken, next } = await findPermittedUsers(request.admin, operation);
  const rows = users
    .slice(0, MAX_LISTED)
    .map(({ id, email, groups, outcome }) => [
      html`<a href="${links.user(id)}"><bdi>${email}</bdi></a>`,
      groups.join(', '),
      outcome,
    ]);
  return section(
    `${countOf(users.length, 'user')} can call ${operation.tool}`,
    html`${withoutToken !== null && html`<p class="notice warn">${icons.warning}<span>A request without a token may call it: ${withoutToken}.</span></p>`}
${rows.length === 0 ? empty('No user may call it', 'The rules permit it to no account that can sign in.') : table('Users who may call it', ['User', 'Groups', 'Outcome'], rows)}
${users.length > MAX_LISTED && html`<p class="fact">The first ${MAX_LISTED} are shown.</p>`}
${next !== null && html`<p class="fact">Of the first 1,000 accounts; the command line and the API read all.</p>`}`,
  );
}
