/** The document around every page of the console: sidebar, title with its primary action, body. */
import { type ComponentPages, escapedText, html, type Markup } from '@portcullis/authorization-server/pages';
import { links, SECTIONS, type Section, sectionOf } from '../links.ts';
import type { ConsolePage } from '../page.ts';
import { icons, sectionIcons } from './icons.ts';

/** What the document shows besides its page. */
export interface Frame {
  readonly look: ComponentPages['look'];
  /** Of the page, below the origin. */
  readonly path: string;
  readonly stylesheet: string;
  /** Paths of the page's scripts. */
  readonly scripts: readonly string[];
  /** Who is signed in; `null`: the page is shown to others too, without a sidebar. */
  readonly user: { readonly email: string; readonly isOperator: boolean } | null;
  /** Calls that wait for an approval. */
  readonly waiting: number;
}

/** Renders the document. */
export function renderConsole(frame: Frame, page: ConsolePage): Markup {
  const { look, stylesheet, scripts, user } = frame;
  const section = sectionOf(frame.path);
  const isList = section.name === 'overview' || frame.path.split('?', 1)[0] === section.href;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapedText(page.title)} · ${look.serverName}</title>
<link rel="icon" href="${look.favicon}">
<link rel="stylesheet" href="${stylesheet}">
${scripts.map((path) => html`<script src="${path}" defer><\/script>`)}
</head>
<body${user === null && html` class="alone"`}>
<a class="skip" href="#main">Skip to content</a>
${user !== null && sidebar(frame, section.name, user)}
<main id="main" tabindex="-1">
${header(isList ? page : { back: section, ...page }, user?.isOperator === true)}
${page.body}
</main>
${user !== null && dialogs}
</body>
</html>
`;
}

function header({ title, lead, back, action }: ConsolePage, isOperator: boolean): Markup {
  const isOffered = action !== undefined && (isOperator || action.isForOperators !== true);
  return html`<header class="top">
<div class="grow">
${back !== undefined && html`<p class="crumb"><a href="${back.href}">${back.label}</a></p>`}
<h1>${escapedText(title)}</h1>
${lead !== undefined && html`<p class="lead">${lead}</p>`}
</div>
${isOffered && html`<a class="button ${action.isDangerous === true ? 'grave' : 'main'}" href="${action.href}">${action.label}</a>`}
</header>`;
}

function sidebar(
  { look, waiting }: Frame,
  current: Section,
  { email, isOperator }: NonNullable<Frame['user']>,
): Markup {
  return html`<nav class="side" aria-label="Console">
<a class="mark" href="${links.overview}">${look.logo === null ? icons.gate : html`<img src="${look.logo}" alt="" height="18">`}<span><bdi>${look.serverName}</bdi></span></a>
<a class="find" href="${links.find}" data-palette title="Find">${icons.search}<span>Find</span><kbd>Ctrl K</kbd></a>
<ul>
${SECTIONS.map(
  ({ name, label }) =>
    html`<li><a href="${links[name]}"${name === current && html` aria-current="page"`} title="${label}">${sectionIcons[name]}<span>${label}</span>${name === 'approvals' && waiting > 0 && html`<b class="count">${String(waiting)}<span class="unseen"> waiting</span></b>`}</a></li>`,
)}
</ul>
<div class="me"><bdi title="${email}">${email}</bdi><span>${isOperator ? 'Operator' : 'Viewer'} · <a href="/account">Account</a></span></div>
</nav>`;
}

const KEYS = [
  ['Ctrl K', 'Find a user, an app, a server, a reference, an action'],
  ['/', 'Search this list'],
  ['j', 'Next row'],
  ['k', 'Row before'],
  ...SECTIONS.map(({ key, label }) => [`g ${key}`, label] as const),
  ['?', 'These keys'],
] as const;

/** The dialogs of the command palette and of the keys, which the script opens. */
const dialogs: Markup = html`<dialog id="palette" aria-label="Find" data-find="${links.find}">
<input type="text" role="combobox" aria-expanded="true" aria-controls="hits" aria-autocomplete="list" aria-label="Find a user, an app, a server, a reference, an action" placeholder="Find a user, an app, a server, a reference, an action" autocomplete="off" spellcheck="false">
<ul id="hits" role="listbox" aria-label="Found"></ul>
</dialog>
<dialog id="keys" aria-labelledby="keys-title"><div class="keys"><h2 id="keys-title">Keys</h2><dl class="facts">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl><form method="dialog"><button class="button">Close</button></form></div></dialog>`;
