/** The consent page: who asks, for what, as whom one is signed in, where one returns, and the answers. */
import { html } from 'hono/html';
import { type Frame, hidden, key, layout, type Markup } from './layout.ts';

export interface ConsentPage {
  readonly appName: string;
  /** Who says what the app is: the operator, the host on which its document stands, or nobody but itself. */
  readonly vouchedBy: 'operator' | { readonly host: string } | 'nobody';
  readonly resources: readonly AskedResource[];
  /** The account that the app will act for. */
  readonly email: string;
  readonly returnTo: ReturnPlace;
  readonly flow: string;
  readonly token: string;
}

/** A protected server, and what the app could do there, a sentence each. */
export interface AskedResource {
  readonly name: string;
  /** Host and path. */
  readonly place: string;
  readonly powers: readonly string[];
}

/** Where the browser goes afterwards: a host, in punycode where it is not ASCII, or a scheme. */
interface ReturnPlace {
  readonly kind: 'https' | 'loopback' | 'private-use';
  readonly display: string;
}

export function consentPage(frame: Frame, page: ConsentPage): Markup {
  const names = page.resources.map((resource) => resource.name).join(' and ');
  return layout(
    frame,
    `Allow ${page.appName}?`,
    html`<form class="stack once" method="post" action="/consent">
${hidden({ flow: page.flow, token: page.token })}
<div class="head">
<h1><strong><bdi>${page.appName}</bdi></strong> wants to use <bdi>${names}</bdi></h1>
<p class="fact">${asker(frame, page)}</p>
<p class="fact">Signed in as <bdi>${page.email}</bdi> · <button class="link" name="decision" value="switch">not you?</button></p>
</div>
${page.resources.map(powers)}
${page.vouchedBy !== 'operator' && page.returnTo.kind !== 'https' && warning}
<div class="head">
<p class="fact">${returnSentence(page.returnTo)}</p>
<div class="answers">
<button class="button" name="decision" value="deny">Cancel</button>
<button class="button main" name="decision" value="allow">Allow access</button>
</div>
</div>
</form>`,
  );
}

function powers(resource: AskedResource): Markup {
  return html`<section>
<h2>On <code>${resource.place}</code> it will be able to</h2>
<ul class="powers">
${resource.powers.map((power) => html`<li>${key}<span>${power}</span></li>`)}
</ul>
</section>`;
}

/** Who vouches for the app. A host vouches for itself alone: the name beside it is still the app's own word. */
function asker(frame: Frame, { vouchedBy }: ConsentPage): Markup {
  if (vouchedBy === 'operator') {
    return html`This app was set up by the people who run <bdi>${frame.serverName}</bdi>.`;
  }
  return vouchedBy === 'nobody'
    ? html`This app has not been verified. It chose its name itself.`
    : html`This app is published at <code>${vouchedBy.host}</code>. It chose its name itself.`;
}

/** Only where it is meant: what answers on this computer can be any program that knows the app's name. */
const warning: Markup = html`<p class="note">Any program on this computer could pretend to be this app. Continue only if you have just started it yourself.</p>`;

function returnSentence({ kind, display }: ReturnPlace): Markup {
  if (kind === 'https') return html`You will return to <code>${display}</code>`;
  if (kind === 'loopback') return html`You will return to <code>${display}</code> on this computer`;
  return html`You will return to the app on this device that opens <code>${display}</code> links`;
}
