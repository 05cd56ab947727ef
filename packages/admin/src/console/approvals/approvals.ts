/** Calls that wait for an approval, and the decision about one. */
import type { ListedApproval } from '@portcullis/authorization-server';
import { escapedText, html, type Markup } from '@portcullis/authorization-server/pages';
import { allowOrDeny, showApproval } from '../../operations/approvals.ts';
import { defineAction } from '../action.ts';
import { doneAt, doneNotice } from '../done.ts';
import { links } from '../links.ts';
import { findAppName, findAppNames } from '../names.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { columnOf, countOf, empty, facts, section, time } from '../ui/parts.ts';
import { sortedTable } from '../ui/sorted-table.ts';

const DONE = {
  allow: 'The call is allowed once, with exactly these arguments.',
  deny: 'The call is denied, and the app is told.',
};

const PATH = `${links.approvals}/{approvalId}`;

const listPage = definePage(links.approvals, async (request) => {
  const { admin } = request;
  const waiting = await admin.approvals.list();
  const clients = waiting.map(({ clientId }) => clientId);
  const names = await findAppNames(admin, clients);
  const rowOf = (one: ListedApproval) => [
    html`<a href="${links.approvals}/${one.id}"><code>${one.tool}</code></a>`,
    html`<code>${one.server}</code>`,
    html`<bdi>${one.account ?? 'the app itself'}</bdi>`,
    html`<bdi>${names.get(one.clientId) ?? one.clientId}</bdi>`,
    time(one.createdAt, admin.clock()),
    time(one.expiresAt, admin.clock()),
    html`<a class="button" href="${links.approvals}/${one.id}">${request.role === 'operator' ? 'Decide' : 'Show'}<span class="unseen"> about ${one.tool}</span></a>`,
  ];
  return {
    title: 'Approvals',
    lead: 'Calls that a rule holds back until they are allowed.',
    body: html`${doneNotice(request, DONE)}
${
  waiting.length === 0
    ? empty(
        'Nothing waits',
        'When a rule demands an approval of a call, the call appears here until it is decided or expires.',
      )
    : sortedTable(
        request,
        countOf(waiting.length, 'call'),
        [
          { heading: 'Tool', sort: ['tool', ({ tool }) => tool] },
          { heading: 'Server', sort: ['server', ({ server }) => server] },
          { heading: 'For', sort: ['for', ({ account }) => account ?? ''] },
          { heading: 'App', sort: ['app', ({ clientId }) => names.get(clientId) ?? clientId] },
          { heading: 'Since', kind: 'time', sort: ['since', ({ createdAt }) => createdAt] },
          { heading: 'Expires', kind: 'time', sort: ['expires', ({ expiresAt }) => expiresAt] },
          columnOf.actions,
        ],
        waiting,
        rowOf,
      )
}`,
  };
});

function shownArguments({ shownArguments: all }: ListedApproval): Markup {
  if (all.length === 0) return html`<p class="quiet">The call has no arguments.</p>`;
  return html`${all.map(([name, text]) => html`<div class="field"><h3><bdi>${name}</bdi></h3><pre class="wrap" tabindex="0">${text}</pre></div>`)}`;
}

const onePage = definePage(PATH, async (request) => {
  const { admin, params, role } = request;
  const approval = await showApproval(admin, params['approvalId'] ?? '');
  const app = await findAppName(admin, approval.clientId);
  const now = admin.clock();
  return {
    title: `Call of ${approval.tool}`,
    lead: html`<bdi>${app}</bdi> wants to call it for <bdi>${approval.account ?? 'itself'}</bdi>.`,
    body: html`<div class="columns"><div>
${section('Arguments', shownArguments(approval))}
${approval.description !== null && section('What the server says of the tool', html`<p class="quoted">${escapedText(approval.description)}</p>`)}
</div><div>
${section(
  'Call',
  facts([
    ['Server', html`<a href="${links.server(approval.server)}"><code>${approval.server}</code></a>`],
    ['App', html`<a href="${links.app(approval.clientId)}"><bdi>${app}</bdi></a>`],
    ['Rule', html`<code>${approval.rule}</code>`],
    [
      'Decided by',
      approval.approverGroups === null ? 'its user' : `users in ${approval.approverGroups.join(', ')}`,
    ],
    ['Since', time(approval.createdAt, now)],
    ['Expires', time(approval.expiresAt, now)],
  ]),
)}
${role === 'operator' && section('Decide', html`<p class="buttons"><a class="button main" href="${links.approvals}/${approval.id}/allow">Allow once</a><a class="button grave" href="${links.approvals}/${approval.id}/deny">Deny</a></p>`)}
</div></div>`,
  };
});

function decision(choice: 'allow' | 'deny'): readonly ConsoleRoute[] {
  const idIn = ({ params }: ConsoleRequest) => params['approvalId'] ?? '';
  return defineAction({
    path: `${PATH}/${choice}`,
    async describe(request) {
      const { id, tool, account } = await showApproval(request.admin, idIn(request));
      return {
        title: choice === 'allow' ? `Allow the call of ${tool}` : `Deny the call of ${tool}`,
        back: { label: 'Back to the call', href: `${links.approvals}/${id}` },
        effects: [
          choice === 'allow'
            ? `Allows this call once, with exactly the arguments that are shown, for ${account ?? 'the app itself'}.`
            : 'Denies the call. The app is told the reason that you give.',
        ],
        button: choice === 'allow' ? 'Allow once' : 'Deny',
        isDangerous: choice === 'deny',
      };
    },
    async perform(request) {
      await allowOrDeny(request, idIn(request), choice === 'allow' ? 'once' : 'deny');
      return doneAt(links.approvals, choice);
    },
  });
}

export const approvalRoutes: readonly ConsoleRoute[] = [
  listPage,
  onePage,
  ...decision('allow'),
  ...decision('deny'),
];
