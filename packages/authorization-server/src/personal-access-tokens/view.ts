/** Views of the page that creates a personal access token, and of the token, which is shown once. */
import type { Parameters } from '@portcullis/protocol';
import { html } from 'hono/html';
import { describeResource } from '../consent/describe-consent.ts';
import type { ResourceDefinition } from '../resources/options.ts';
import { hashSecret } from '../secrets.ts';
import { accountPaths, accountTabs, PERSONAL_ACCESS_TOKEN_PATH } from '../ui/account-tabs.ts';
import { copyable } from '../ui/add-server.ts';
import { hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { dateAndTime, describeDuration } from '../ui/times.ts';

export interface NewTokenPage {
  readonly fields: Readonly<Record<string, string>>;
  readonly resources: readonly ResourceDefinition[];
  /** Lifetimes to choose from. */
  readonly days: readonly number[];
  /** The submitted values of a rejected form. */
  readonly chosen: Parameters;
  readonly error: string | null;
}

export function newTokenPage(layout: Layout, page: NewTokenPage): Markup {
  const { chosen, days, resources, error } = page;
  const name = chosen.one('name') ?? '';
  return renderPage(
    layout,
    layout.text('tokens.new'),
    html`${accountTabs(layout, 'connections')}
<div class="head">
<h1>${layout.text('tokens.new')}</h1>
<p>${layout.text('tokens.what')}</p>
</div>
${error !== null && html`<p class="wrong" role="alert">${error}</p>`}
<form class="fields once" method="post" action="${PERSONAL_ACCESS_TOKEN_PATH}">
${hiddenFields(page.fields)}
<div class="field"><label for="name">${layout.text('tokens.name')}</label>
<input id="name" name="name" type="text" autocomplete="off" maxlength="50" required value="${name}"></div>
${resources.map((resource) => resourceChoice(layout, page, resource))}
<div class="field"><label for="days">${layout.text('tokens.expires')}</label>
<select id="days" name="days">${days.map((one) => html`<option value="${one}"${isChosenDay(page, one) && html` selected`}>${describeDuration(one * 86_400, layout.language)}</option>`)}</select></div>
<button class="button main">${layout.text('tokens.create')}</button>
</form>
<a class="button" href="${accountPaths.connections}">${layout.text('passkey.cancel')}</a>`,
    accountPaths.connections,
  );
}

function isChosenDay({ chosen, days }: NewTokenPage, day: number): boolean {
  const given = chosen.one('days');
  return given === undefined ? day === days[Math.min(1, days.length - 1)] : given === String(day);
}

/**
 * The name of a permission's field, short because a form may have a thousand. It names the resource by its address: its place among
 * those that the page offers may be that of another one when the form is sent.
 */
export function scopeField({ resource }: ResourceDefinition, scope: string): string {
  return `scope-${hashSecret(resource).slice(0, 8)}-${scope}`;
}

/** One server with its permissions. With a single server there is nothing to choose. */
function resourceChoice(
  layout: Layout,
  { resources, chosen }: NewTokenPage,
  definition: ResourceDefinition,
): Markup {
  const scopes = Object.keys(definition.scopes);
  const { name, address, permissions } = describeResource(definition, definition.resource, scopes, layout);
  const isChosen = (chosen.one('resource') ?? resources[0]?.resource) === definition.resource;
  const title = html`<strong><bdi>${name}</bdi></strong> <span class="fact"><code>${address}</code></span>`;
  return html`<fieldset class="grants">
<legend>${
    resources.length === 1
      ? html`<input type="hidden" name="resource" value="${definition.resource}">${title}`
      : html`<label class="pick"><input type="radio" name="resource" value="${definition.resource}"${isChosen && html` checked`}><span>${title}</span></label>`
  }</legend>
${scopes.map((scope, position) => {
  const field = scopeField(definition, scope);
  return html`<label class="pick"><input type="checkbox" name="${field}" value="yes"${chosen.one(field) === 'yes' && html` checked`}><span>${permissions[position]}</span></label>`;
})}
</fieldset>`;
}

export interface TokenPage {
  readonly name: string;
  readonly token: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

export function tokenPage(layout: Layout, { name, token, expiresAt }: TokenPage): Markup {
  return renderPage(
    layout,
    layout.text('tokens.created'),
    html`${accountTabs(layout, 'connections')}
<div class="head">
<h1>${layout.text('tokens.created')}</h1>
<p class="fact"><bdi>${name}</bdi> · ${layout.say('tokens.until', { time: dateAndTime(layout, expiresAt) })}</p>
</div>
<p class="note">${layout.text('tokens.once')}</p>
${copyable(layout, token)}
<p class="fact">${layout.say('tokens.how', { header: html`<code>Authorization: Bearer ${'<token>'}</code>` })}</p>
<a class="button main" href="${accountPaths.connections}">${layout.text('tokens.done')}</a>
${pageScript(layout)}`,
    null,
  );
}
