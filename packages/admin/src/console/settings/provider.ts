/** The page of an identity provider: whether it can be reached now, and when users last signed in there. */
import { redirectUriOf } from '@portcullis/authorization-server';
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { type ProviderStatus, showProviderStatus } from '../../operations/provider-status.ts';
import { links } from '../links.ts';
import { type ConsoleRoute, definePage } from '../page.ts';
import { copyText, facts, section, tag, time } from '../ui/parts.ts';

export const providerPage: ConsoleRoute = definePage(
  `${links.settings}/providers/{providerId}`,
  async ({ admin, params }) => {
    const status = await showProviderStatus(admin, params['providerId'] ?? '');
    const now = admin.clock();
    const { lastSuccess, lastFailure } = status;
    return {
      title: status.name,
      lead: 'Users sign in here with their account there. It is defined in the configuration file.',
      body: html`<div class="columns"><div>
${section(
  'Now',
  facts([
    ['Metadata', STATES[status.metadata] ?? 'not published: its endpoints are configured'],
    ['Keys', STATES[status.keys] ?? (status.metadata === 'unused' ? 'not used' : 'not known')],
    ['Error', status.error && html`<bdi>${status.error}</bdi>`],
  ]),
)}
${section(
  'Sign-ins',
  facts([
    ['Last success', lastSuccess === null ? 'none found lately' : time(Math.floor(lastSuccess / 1000), now)],
    [
      'Last failure',
      lastFailure === null
        ? 'none found lately'
        : html`<a href="${links.event(lastFailure.eventId)}">${time(Math.floor(lastFailure.at / 1000), now)}</a>: <bdi>${lastFailure.reason}</bdi>`,
    ],
    ['Events', html`<a href="${links.events({ type: 'federated_login.*' })}">Show what happened</a>`],
  ]),
)}
</div><div>
${section(
  'Provider',
  facts([
    ['Issuer', html`<code>${status.issuer}</code>`],
    ['Protocol', status.protocol === 'openid' ? 'OpenID Connect' : 'OAuth 2.0'],
    ['Identifier', html`<code>${status.id}</code>`],
  ]),
)}
<section><h3>Redirect URI, registered there</h3>${copyText(redirectUriOf(admin.issuer, status.id))}</section>
</div></div>`,
    };
  },
);

/** An unused one is described in words. */
const STATES: Readonly<Record<ProviderStatus['keys'], Markup | null>> = {
  reachable: tag('Reachable', 'good'),
  unreachable: tag('Unreachable', 'bad'),
  unused: null,
};
