/** The page of a server: health, tools with what waits for review, rules, and how apps are connected to it. */
import { escapedText, html, type Markup } from '@portcullis/authorization-server/pages';
import type { GatewayServer } from '@portcullis/gateway/options';
import type { PendingDefinitionRecord } from '@portcullis/protocol';
import { type ApprovedTool, backendOf, listApprovedTools, showServer } from '../../operations/servers.ts';
import { listPendingTools } from '../../operations/tools.ts';
import { doneNotice } from '../done.ts';
import { links, withQuery } from '../links.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { rulesTable } from '../policy/rules.ts';
import { columnOf, copyText, empty, facts, formatCount, section, table, tag, time } from '../ui/parts.ts';
import { connectInstructions } from './connect.ts';
import { healthTag } from './list.ts';
import { serverPlots, serverUse } from './use.ts';

const DONE = {
  approve: 'The tool is approved: apps see it as it was reviewed.',
  reject: 'The definition was rejected: what was approved before stays.',
};

export const serverPage: ConsoleRoute = definePage('/admin/server', async (request) => {
  const { admin, query } = request;
  const server = showServer(admin, query.get('path') ?? '');
  const [tools, pending, plots, use] = await Promise.all([
    listApprovedTools(admin, server),
    listPendingTools(admin, server.path),
    serverPlots(admin, server),
    serverUse(admin, server),
  ]);
  return {
    title: server.name,
    scripts: ['overview'],
    body: html`${doneNotice(request, DONE)}
<div class="columns"><div>
${pending.length > 0 && html`<div id="review">${section('To review', pendingList(pending))}</div>`}
${plots}
${use}
${section('Tools', toolTable(request, server, tools))}
${section('Rules', rulesTable(server, admin.servers()), html`<a href="${withQuery(links.policy, { server: server.path })}">Explain a call</a>`)}
</div><div>
${section('Server', serverFacts(request, server))}
${section('Connect an app', connectInstructions(server.name, server.resource))}
</div></div>`,
  };
});

function pendingList(pending: readonly PendingDefinitionRecord[]): Markup {
  return html`<ul class="attention">${pending.map(
    (one) =>
      html`<li><p><strong><bdi>${escapedText(one.name)}</bdi></strong> ${one.approvedDefinition === null ? 'is new' : 'has changed'}, and stays hidden until it is reviewed.</p><a class="button" href="${reviewLink(one)}">Review<span class="unseen"> ${escapedText(one.name)}</span></a></li>`,
  )}</ul>`;
}

/** The page of one definition, named by its hash so that what is reviewed is what is decided. */
function reviewLink({
  server,
  name,
  hash,
}: Pick<PendingDefinitionRecord, 'server' | 'name' | 'hash'>): string {
  return withQuery('/admin/server/review', { path: server, tool: name, hash });
}

function toolTable({ admin }: ConsoleRequest, server: GatewayServer, tools: readonly ApprovedTool[]): Markup {
  if (server.merges !== null)
    return html`<p>Merges ${Object.entries(server.merges).map(([prefix, path], index) => html`${index > 0 && ', '}<a href="${links.server(path)}">${path}</a> as <code>${prefix}</code>`)}.</p>`;
  if (tools.length === 0)
    return empty(
      'No tool is known yet',
      'Tools are pinned when the first app lists them. Connect one to see them here.',
    );
  const rows = tools.map(({ name, description, hint, changedAt }) => [
    html`<code>${escapedText(name)}</code>`,
    html`<span class="clamp">${escapedText(description ?? '')}</span>`,
    hint === null ? tag('Changes') : hint === 'read' ? tag('Reads') : tag('Destroys', 'warn'),
    time(changedAt, admin.clock()),
    html`<a class="button" href="${withQuery(links.policy, { server: server.path, tool: name, ask: 'who' })}">Who can<span class="unseen"> call ${escapedText(name)}</span></a>`,
  ]);
  return table(
    'Approved tools',
    ['Tool', 'What it says of itself', 'Effect', columnOf.time('Approved'), columnOf.actions],
    rows,
  );
}

function serverFacts({ admin }: ConsoleRequest, server: GatewayServer): Markup {
  const { callsPerMinute, concurrency } = server.limits;
  return html`${facts([
    ['Health', healthTag(admin, server.path)],
    ['Path', html`<code>${server.path}</code>`],
    ['Backend', html`<bdi>${backendOf(server) ?? 'merges other servers'}</bdi>`],
    [
      'Review',
      server.review === 'auto' ? 'off: changed tools are used at once' : 'changed and new tools wait',
    ],
    [
      'Calls',
      callsPerMinute === null ? 'not limited' : `${formatCount(callsPerMinute)} a minute for a user and tool`,
    ],
    ['At once', `${formatCount(concurrency)} requests`],
    ['Events', html`<a href="${links.events({ server: server.path })}">Show what happened</a>`],
  ])}
<h3>Address</h3>${copyText(server.resource)}`;
}
