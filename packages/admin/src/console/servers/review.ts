/** The review of a tool that is new or has changed: its difference, and the decision. */
import { escapedText, html, type Markup } from '@portcullis/authorization-server/pages';
import type { PendingDefinitionRecord } from '@portcullis/protocol';
import { OperationError } from '../../operations/errors.ts';
import { decideTool, differenceOf, findPendingTool } from '../../operations/tools.ts';
import { defineAction } from '../action.ts';
import { doneAt } from '../done.ts';
import { links, withQuery } from '../links.ts';
import { type ConsoleRequest, type ConsoleRoute, definePage } from '../page.ts';
import { facts, section, time } from '../ui/parts.ts';

const PATH = '/admin/server/review';

function namedIn({ query }: ConsoleRequest) {
  const [server = '', tool = '', hash = ''] = ['path', 'tool', 'hash'].map((name) => query.get(name) ?? '');
  return { server, tool, hash };
}

/** @throws OperationError if it does not wait any more */
async function findPending(request: ConsoleRequest): Promise<PendingDefinitionRecord> {
  const found = await findPendingTool(request.admin, namedIn(request));
  if (found === undefined)
    throw new OperationError('not_found', 'This definition does not wait for review any more.');
  return found;
}

const reviewPage = definePage(PATH, async (request) => {
  const tool = await findPending(request);
  const query = { path: tool.server, tool: tool.name, hash: tool.hash };
  const isNew = tool.approvedDefinition === null;
  return {
    title: `Review ${tool.name}`,
    lead: isNew
      ? 'The backend offers this tool since it was first listed. Apps do not see it.'
      : 'The backend changed this tool. Apps do not see it until the change is approved.',
    back: { label: tool.server, href: links.server(tool.server) },
    body: html`<div class="columns"><div>
${section(isNew ? 'Definition' : 'What changed', showDifference(tool))}
</div><div>
${section(
  'Definition',
  facts([
    ['Since', time(tool.changedAt, request.admin.clock())],
    ['Hash', html`<code>${tool.hash}</code>`],
  ]),
)}
${
  request.role === 'operator' &&
  section(
    'Decide',
    html`<p class="fact">A description is read by the model: look for instructions in it that its users would not give.</p>
<p class="buttons"><a class="button main" href="${withQuery(`${PATH}/approve`, query)}">Approve</a><a class="button grave" href="${withQuery(`${PATH}/reject`, query)}">Reject</a></p>`,
  )
}
</div></div>`,
  };
});

const SIGNS = { '+': 'added', '-': 'removed', ' ': '' } as const;

/** Lines with their sign as text, so that colour is not the only sign. */
function showDifference(tool: PendingDefinitionRecord): Markup {
  return html`<pre class="lines" tabindex="0" aria-label="Definition, line by line">${differenceOf(tool).map(([sign, line]) => html`<span class="${SIGNS[sign]}">${sign} ${escapedText(line)}</span>`)}</pre>`;
}

function decision(name: 'approve' | 'reject', effects: readonly string[]): readonly ConsoleRoute[] {
  const verb = name === 'approve' ? 'Approve' : 'Reject';
  return defineAction({
    path: `${PATH}/${name}`,
    async describe(request) {
      const tool = await findPending(request);
      const query = { path: tool.server, tool: tool.name, hash: tool.hash };
      return {
        title: `${verb} ${tool.name}`,
        back: { label: 'Back to the review', href: withQuery(PATH, query) },
        effects,
        button: `${verb} the definition`,
        isDangerous: name === 'reject',
      };
    },
    async perform(request) {
      const named = namedIn(request);
      await decideTool(request, name, named);
      return doneAt(links.server(named.server), name);
    },
  });
}

export const reviewRoutes: readonly ConsoleRoute[] = [
  reviewPage,
  ...decision('approve', [
    'Apps see the tool exactly as it was reviewed, and can call it as far as the rules allow.',
  ]),
  ...decision('reject', ['The definition stays hidden for good. What was approved before stays.']),
];
