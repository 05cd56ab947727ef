/** The only stylesheet of the pages: light and dark theme, 8 px grid, no other files or origins. */

/** The custom properties, which branding can override. */
export const THEME: string = `
:root {
  color-scheme: light dark;
  --page: #f3f4f7;
  --card: #ffffff;
  --edge: #dfe3ea;
  --ink: #14171d;
  --quiet: #565e6c;
  --accent: #1c4fc4;
  --accent-pressed: #163f9e;
  --accent-ink: #ffffff;
  --field: #ffffff;
  --field-edge: #7d8695;
  --plain: #eef0f4;
  --plain-pressed: #e1e5ec;
  --warn: #fff4d9;
  --warn-ink: #5e4100;
  --bad: #b3211b;
  --bad-pressed: #8f1a15;
  --bad-ink: #ffffff;
  --good: #e3f3e6;
  --good-ink: #14532a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0c0e12;
    --card: #16191f;
    --edge: #2a2f39;
    --ink: #eceef2;
    --quiet: #a5adbb;
    --accent: #8fb2ff;
    --accent-pressed: #b3cbff;
    --accent-ink: #0a1838;
    --field: #0f1217;
    --field-edge: #6d7686;
    --plain: #262b34;
    --plain-pressed: #323945;
    --warn: #2f2510;
    --warn-ink: #ffd88f;
    --bad: #ff9d94;
    --bad-pressed: #ffbdb7;
    --bad-ink: #3d0703;
    --good: #12291a;
    --good-ink: #a8e3b9;
  }
}
`;

export const STYLE: string = `${THEME}
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0;
  min-height: 100vh;
  min-height: 100dvh;
  display: grid;
  grid-template-columns: minmax(0, 440px);
  align-content: center;
  justify-content: center;
  padding: 16px;
  background: var(--page);
  color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
  hyphens: auto;
}
body.wide { grid-template-columns: minmax(0, 640px); align-content: start; }
main {
  padding: 24px;
  background: var(--card);
  border: 1px solid var(--edge);
  border-radius: 16px;
}
h1, h2, h3, p, ul, form, dl, dd { margin: 0; padding: 0; }
h1 { font-size: 22px; line-height: 1.3; font-weight: 600; letter-spacing: -0.01em; text-wrap: balance; }
h1 strong { font-weight: 700; }
h1.display { font-size: 28px; line-height: 1.2; letter-spacing: -0.02em; }
p, li { text-wrap: pretty; }
h2, h3 { font-size: 14px; line-height: 1.5; font-weight: 600; color: var(--quiet); }
h2:has(code) { color: var(--ink); }
h2 code { font: inherit; }
h1 .given { font-size: inherit; font-weight: inherit; }
.panel > h2, .panel > .beside > h2 { font-size: 16px; color: var(--ink); }
code { font: 13px/1.5 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace; }
a { color: var(--accent); text-underline-offset: 3px; }
svg { display: block; flex: none; }
bdi, code { hyphens: none; }
.reference code { user-select: all; }
.user-code code { font-size: 22px; letter-spacing: 0.08em; }

.mark, .mark a { display: flex; align-items: center; gap: 8px; }
.mark a { min-height: 24px; color: inherit; text-decoration: none; }
.mark {
  margin-bottom: 24px;
  font-size: 13px;
  font-weight: 600;
  color: var(--quiet);
}
.mark svg { color: var(--accent); }
.stack, .head { display: grid; grid-template-columns: minmax(0, 1fr); gap: 24px; }
.head { gap: 8px; }
.fact { font-size: 14px; color: var(--quiet); }
.fact code { color: var(--ink); }
.note, .done { padding: 8px 16px; border-radius: 8px; font-size: 14px; }
.note { background: var(--warn); color: var(--warn-ink); }
.note code { color: inherit; }
.done { background: var(--good); color: var(--good-ink); }

.tabs { display: flex; flex-wrap: wrap; column-gap: clamp(12px, 4vw, 24px); font-weight: 600; border-bottom: 1px solid var(--edge); }
.tabs a { display: inline-block; padding: 8px 0; white-space: nowrap; text-decoration: none; color: var(--quiet); }
.tabs a[aria-current] { color: var(--ink); box-shadow: 0 2px 0 var(--accent); }
.panel { display: grid; gap: 12px; padding: 16px; border: 1px solid var(--edge); border-radius: 12px; }
:is(.panel, .primary, .opened, .search, .beside, .installs) .button { width: auto; padding: 8px 16px; }
.panel > .button, .primary .button, .opened .button { justify-self: start; }
.destructive { border-color: var(--bad); }
.lesser { display: flex; flex-wrap: wrap; gap: 8px 24px; }

img.monogram { border-radius: 8px; object-fit: contain; }
.monogram { width: 40px; height: 40px; font-size: 15px; font-weight: 600; letter-spacing: 0.02em; }
.marks { display: flex; gap: 12px; align-items: center; margin-bottom: 8px; color: var(--quiet); }
.marks .monogram { width: 48px; height: 48px; }
.apps { display: grid; list-style: none; }
.apps > li { border-bottom: 1px solid var(--edge); }
.apps > li:last-child { border-bottom: 0; }
.app > summary { display: flex; gap: 12px; align-items: center; padding: 12px 0; cursor: pointer; list-style: none; border-radius: 8px; }
:is(.app, .group, .about) summary::-webkit-details-marker { display: none; }
.app > summary > span { flex: 1; min-width: 0; display: grid; }
.app > summary::after { content: ""; flex: none; width: 8px; height: 8px; margin-inline-end: 4px; border: solid var(--quiet); border-width: 0 2px 2px 0; transform: rotate(45deg); transition: transform 120ms; }
.app[open] > summary::after { transform: rotate(225deg); }
.app > summary:hover .name { text-decoration: underline; text-underline-offset: 3px; }
.opened, .app > .apps { margin-inline-start: 52px; padding-bottom: 16px; }
.app .app .monogram { width: 24px; height: 24px; }
.app .app > summary { padding: 8px 0; }
.app .app .opened { margin-inline-start: 36px; }
.opened { display: grid; gap: 12px; }
.permissions { padding-inline-start: 20px; }
.given { font: 13px/1.5 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
pre.given { margin: 0; padding: 8px 12px; border-radius: 8px; background: var(--plain); overflow: hidden; }
summary .given { white-space: normal; }
:is(h1, h2) .given { font-size: 0.9em; line-height: inherit; }
.unseen { padding: 0 2px; border: 1px solid var(--warn-ink); border-radius: 4px; color: var(--warn-ink); font-size: 11px; unicode-bidi: isolate; }
.arguments, .arguments div { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; }
.arguments div { gap: 4px; }
.copyable { display: flex; gap: 8px; align-items: start; }
.copyable pre { flex: 1; min-width: 0; margin: 0; padding: 10px 12px; border-radius: 8px; background: var(--plain); white-space: pre-wrap; }
.copyable .button { flex: none; width: auto; min-width: 80px; padding: 8px 12px; }
.host > summary .name { flex: 1; }
.steps { padding-bottom: 16px; }
.search { display: flex; gap: 8px; }
.search input { flex: 1; min-width: 0; }
.reveal { display: flex; gap: 8px; align-items: center; min-height: 24px; font-weight: 400; cursor: pointer; }
.rows, .plain { display: grid; gap: 16px; list-style: none; }
.rows { gap: 32px; }
.rows:is(.close, .cards) { gap: 16px; }
.plain { gap: 8px; }
.row { display: grid; gap: 16px; }
.cards > .row { padding: 16px; border: 1px solid var(--edge); border-radius: 12px; }
.name { font-size: 16px; color: var(--ink); }
.beside { display: flex; gap: 16px; align-items: center; justify-content: space-between; }
.beside form { flex: none; }
/* A row whose text would become a column goes above its button. */
li.beside { flex-wrap: wrap; gap: 8px 16px; }
li.beside > div { flex: 1 1 200px; }
.beside .button { white-space: nowrap; }
.rows + .button, .rows + form { margin-top: 8px; }

.powers { display: grid; gap: 8px; list-style: none; }
h2 + .powers { margin-top: 8px; }
.head > h2 + .powers { margin-top: 0; }
.powers li { display: flex; gap: 8px; align-items: flex-start; }
.powers svg { margin-top: 2px; color: var(--accent); }
.powers .read { color: var(--quiet); }
.powers .delete { color: var(--bad); }
.powers .administer { color: var(--warn-ink); }
.risky { display: grid; gap: 8px; padding: 12px; border: 1px solid var(--bad); border-radius: 8px; }
.risky h3 { color: var(--bad); }
.power { display: flex; flex: 1; gap: 8px; align-items: flex-start; font: inherit; cursor: pointer; }
.power span, .powers li > span { flex: 1; }
.powers small { display: block; }
/* Many permissions of one kind: the switch of all of them stands beside the summary, which it follows in sight only. */
.group { position: relative; border: 1px solid var(--edge); border-radius: 12px; }
.group.destroy { border-color: var(--bad); }
.group > input[role=switch] { position: absolute; top: 12px; inset-inline-end: 12px; }
.group summary { display: grid; grid-template-columns: 20px minmax(0, 1fr); gap: 0 8px; padding: 12px; border-radius: 12px; cursor: pointer; list-style: none; }
.group > input + details > summary .title { padding-inline-end: 56px; }
.group summary svg { margin-top: 2px; color: var(--accent); }
.group.read summary svg { color: var(--quiet); }
.group.destroy :is(summary svg, strong, .alert) { color: var(--bad); }
.group .title::after, .about summary::after { content: ""; display: inline-block; width: 7px; height: 7px; margin-inline: 8px 2px; border: solid var(--quiet); border-width: 0 2px 2px 0; vertical-align: 3px; transform: rotate(45deg); transition: transform 120ms; }
.group details[open] .title::after { vertical-align: -1px; transform: rotate(225deg); }
.group .first { grid-column: 2; display: -webkit-box; overflow: hidden; -webkit-box-orient: vertical; -webkit-line-clamp: 2; }
.group details[open] .words { display: none; }
.group .powers { gap: 12px; padding: 0 12px 12px; }
.group .powers svg { display: none; }
.group:has(> input:not(:checked)) .powers { color: var(--quiet); }
.group:has(> input:not(:checked)) .power { pointer-events: none; }
.group:has(> input:not(:checked)) .power input { display: none; }
.about summary { display: inline-block; cursor: pointer; list-style: none; border-radius: 4px; }
.about summary::after { margin-inline-start: 4px; vertical-align: 2px; border-width: 0 1.5px 1.5px 0; }
.about[open] summary::after { transform: rotate(225deg); vertical-align: -2px; }
.about .head { margin-top: 8px; padding: 8px 12px; border-radius: 8px; background: var(--plain); }
.tick { margin-bottom: 8px; color: var(--good-ink); }
.tick circle { fill: var(--good); stroke: none; }
.tick path { stroke-dasharray: 1; animation: draw 300ms ease-out; }
@keyframes draw { from { stroke-dashoffset: 1; } }
.actor { display: flex; gap: 8px; align-items: center; font-size: 14px; font-weight: 600; color: var(--quiet); }
.installs { display: flex; flex-wrap: wrap; gap: 8px; }
.installs .button { gap: 8px; }
.app > summary > .host-marks { flex: none; display: flex; gap: 8px; color: var(--quiet); }
.caution { display: flex; gap: 8px; }
.caution svg { margin-top: 2px; color: var(--warn-ink); }
.new {
  padding: 0 8px;
  border-radius: 8px;
  background: var(--accent);
  color: var(--accent-ink);
  font: 600 13px/1.5 system-ui, sans-serif;
  white-space: nowrap;
}
input[type=checkbox]:not([role=switch]) { width: 18px; height: 18px; margin: 0; accent-color: var(--accent); }
input[role=switch] {
  appearance: none;
  flex: none;
  width: 40px;
  height: 24px;
  margin: 0;
  border: 1px solid var(--field-edge);
  border-radius: 12px;
  background: radial-gradient(circle at 11px, var(--field-edge) 7px, transparent 8px) var(--field);
  cursor: pointer;
}
input[role=switch]:checked {
  border-color: var(--accent);
  background: radial-gradient(circle at 27px, var(--accent-ink) 7px, transparent 8px) var(--accent);
}

.choice { display: flex; gap: 16px; align-items: center; justify-content: space-between; font: inherit; cursor: pointer; }

.picture { justify-self: center; width: 192px; max-width: 100%; height: auto; border-radius: 8px; }
.codes { display: grid; grid-template-columns: repeat(auto-fill, minmax(168px, 1fr)); gap: 8px; list-style: none; }
.ways, .providers { display: grid; gap: 16px; }
.providers { gap: 8px; }
.or { display: flex; gap: 16px; align-items: center; margin: -8px 0; }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--edge); }
/* The buttons stay visible, unless they would hide the page; after groups, and what was unfolded, users reach them past all of it. */
.foot { position: sticky; bottom: 0; padding: 8px 0; margin-bottom: -8px; background: var(--card); border-top: 1px solid var(--edge); }
.consent:has(.group, details[open]) .foot { position: static; border: 0; }
@media (max-height: 500px) {
  .foot { position: static; border: 0; }
}
footer { display: flex; flex-wrap: wrap; gap: 4px 16px; justify-content: center; padding-top: 8px; }
footer a { padding: 4px 0; color: var(--quiet); }
.mark img { display: block; width: auto; max-width: 160px; }

.fields { display: grid; gap: 16px; }
.field { display: grid; gap: 4px; }
label { font-size: 14px; font-weight: 600; }
/* A server with its permissions, on the page that creates an access token. */
.grants { display: grid; gap: 4px; min-width: 0; padding: 8px 16px; border: 1px solid var(--edge); border-radius: 8px; }
.grants legend { max-width: 100%; padding: 0 4px; overflow-wrap: anywhere; }
.grants:has(> legend [type=radio]:not(:checked)) { padding-block: 0; border-color: transparent; > .pick { display: none; } }
.pick { display: flex; gap: 8px; align-items: baseline; min-height: 32px; font: inherit; cursor: pointer; }
.hint { font-size: 14px; color: var(--quiet); }
.wrong { font-size: 14px; font-weight: 600; color: var(--bad); }
input:not([type=hidden], [type=checkbox], [type=radio]), select {
  width: 100%;
  min-height: 44px;
  padding: 8px 12px;
  border: 1px solid var(--field-edge);
  border-radius: 8px;
  background: var(--field);
  color: var(--ink);
  font: inherit;
}
[aria-invalid=true] { border-color: var(--bad); box-shadow: inset 0 0 0 1px var(--bad); }

.button {
  display: inline-flex;
  align-items: center;
  justify-content: center;
  width: 100%;
  min-height: 44px;
  padding: 8px;
  border: 1px solid transparent;
  border-radius: 8px;
  background: var(--plain);
  color: var(--ink);
  font: inherit;
  font-weight: 600;
  text-align: center;
  text-decoration: none;
  cursor: pointer;
  transition: background-color 120ms, opacity 120ms;
}
.button:hover, .button:active { background: var(--plain-pressed); }
.link.fact { font-size: 14px; }
.button.marked { gap: 8px; }
.known { display: flex; flex-wrap: wrap; gap: 0 16px; justify-content: space-between; padding: 10px 12px; border-radius: 8px; background: var(--plain); }
.button.provider { gap: 12px; justify-content: flex-start; padding: 8px 16px; text-align: start; border-color: var(--field-edge); background: var(--card); color: var(--ink); font-weight: 500; }
.button.provider:hover, .button.provider:active { background: var(--plain); }
.provider svg { width: 20px; height: 20px; }
.main, .button.provider.main { background: var(--accent); color: var(--accent-ink); }
:is(.main, .button.provider.main):is(:hover, :active) { background: var(--accent-pressed); }
.danger { background: var(--bad); color: var(--bad-ink); }
.grave { border-color: var(--bad); background: none; color: var(--bad); }
.danger:hover, .danger:active { background: var(--bad-pressed); }
.answers { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; }
.answers form { display: grid; }
.answers .button { padding: 8px 4px; }
.answers:has(> :nth-child(3)) { grid-template-columns: 1fr; gap: 8px; }
.link {
  display: inline-block;
  min-height: 24px;
  padding: 0;
  border: 0;
  background: none;
  color: var(--accent);
  font: inherit;
  text-decoration: underline;
  text-underline-offset: 3px;
  cursor: pointer;
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }

/* A button that was clicked keeps the focus without its ring: it says so, and takes no second click. */
.once:has(.button:focus:not(:focus-visible, :active)) .button { pointer-events: none; }
.once .button:focus:not(:focus-visible, :active) { opacity: 0.6; }

/* Pages of this server fade into each other; a click during the fade reaches the new page. */
@media (prefers-reduced-motion: no-preference) {
  @view-transition { navigation: auto; }
  ::view-transition { pointer-events: none; }
  ::view-transition-group(*), ::view-transition-old(*), ::view-transition-new(*) { animation-duration: 150ms; }
}
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { transition: none !important; animation: none !important; }
}
@media (forced-colors: active) {
  .button, main { border: 1px solid ButtonText; }
  input[role=switch] { appearance: auto; }
}
@media (max-width: 480px) {
  .copyable { flex-direction: column; align-items: stretch; }
  .copyable pre { flex: none; }
  .installs .button { width: 100%; }
  .answers { gap: 8px; }
  .answers.long { grid-template-columns: 1fr; }
}
/* What matters of a request is on the first screen, on a small phone and at 200 % zoom too. */
@media (max-width: 480px), (max-height: 500px) {
  main:has(.consent) { padding: 16px; }
  main:has(.consent) > .mark { margin-bottom: 12px; }
  main:has(.consent) h1 { font-size: 20px; }
  .consent { gap: 12px; }
  .consent .head { gap: 4px; }
  main:has(.consent) { position: relative; }
  .consent .marks { position: absolute; top: 12px; inset-inline-end: 16px; gap: 4px; }
  .consent .marks .monogram { width: 28px; height: 28px; }
  .consent .risky { margin-inline: -8px; padding: 4px 7px; gap: 0; }
  .consent:has(.risky) .choose { display: none; }
  .consent .powers { gap: 4px; }
  .consent .powers, .caution { font-size: 15px; line-height: 1.4; }
  body:has(.consent) { padding: 8px 16px; }
}
@media (max-width: 359px) {
  .answers { grid-template-columns: 1fr; gap: 8px; }
}
`;
