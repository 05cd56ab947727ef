/** The stylesheet of the console: denser and wider than the sign-in pages, in the same colours. */

/** Follows the custom properties of the theme. */
export const CONSOLE_STYLE: string = `
:root { --rise: #fafbfc; --hover: #f5f6f9; --line: #e7eaf0; --side: 216px; --good-mark: #1f7a3d; --warn-mark: #9a6700; }
@media (prefers-color-scheme: dark) {
  :root { --rise: #12151a; --hover: #1d2128; --line: #242932; --good-mark: #6fcf8f; --warn-mark: #e0b04a; }
}
*, *::before, *::after { box-sizing: border-box; }
[hidden] { display: none !important; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; grid-template-columns: var(--side) minmax(0, 1fr); background: var(--card); color: var(--ink); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
body.alone { grid-template-columns: minmax(0, 560px); justify-content: center; align-content: center; background: var(--page); }
body.alone main { margin: 16px; padding: 24px; background: var(--card); border: 1px solid var(--edge); border-radius: 16px; }
h1, h2, h3, p, ul, ol, dl, dd, dt, form, table, pre, figure { margin: 0; padding: 0; }
ul, ol { list-style: none; }
h1 { font-size: 22px; line-height: 1.3; font-weight: 600; letter-spacing: -0.015em; text-wrap: balance; }
h2 { font-size: 15px; line-height: 1.4; font-weight: 600; letter-spacing: -0.005em; }
h3 { font-size: 13px; font-weight: 600; color: var(--quiet); }
p { text-wrap: pretty; }
a { color: var(--accent); text-underline-offset: 3px; }
code, kbd, pre { font: 12.5px/1.5 ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "Liberation Mono", monospace; }
svg { flex: none; }
.icon { display: block; }
bdi, code { hyphens: none; }
.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; top: -60px; inset-inline-start: 8px; z-index: 9; padding: 8px 12px; border-radius: 8px; background: var(--accent); color: var(--accent-ink); }
.skip:focus { top: 8px; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
main:focus { outline: none; }

.side { position: sticky; top: 0; height: 100vh; height: 100dvh; display: flex; flex-direction: column; gap: 8px; padding: 16px 12px; border-inline-end: 1px solid var(--line); background: var(--rise); }
.side .mark { display: flex; gap: 8px; align-items: center; padding: 4px 8px 12px; color: var(--ink); font-weight: 600; text-decoration: none; }
.side .mark svg { color: var(--accent); }
.side .mark span, .me bdi { min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.side ul { display: grid; gap: 2px; }
.side li a { display: flex; gap: 10px; align-items: center; min-height: 32px; padding: 4px 8px; border-radius: 6px; color: var(--quiet); font-weight: 500; text-decoration: none; }
.side li a:hover { background: var(--hover); color: var(--ink); }
.side li a[aria-current] { background: var(--plain); color: var(--ink); }
.side li a[aria-current] .icon { color: var(--accent); }
.side .count { margin-inline-start: auto; min-width: 20px; padding: 0 6px; border-radius: 10px; background: var(--accent); color: var(--accent-ink); font-size: 12px; font-weight: 600; line-height: 20px; text-align: center; }
.find { text-decoration: none; display: flex; gap: 8px; align-items: center; min-height: 32px; padding: 4px 8px; border: 1px solid var(--edge); border-radius: 6px; background: var(--card); color: var(--quiet); font: inherit; cursor: pointer; }
.find kbd { margin-inline-start: auto; }
kbd { padding: 0 5px; border: 1px solid var(--edge); border-radius: 4px; background: var(--card); color: var(--quiet); font-size: 11px; }
.me { margin-top: auto; display: grid; padding: 8px; font-size: 13px; }
.me span { color: var(--quiet); }

main { width: 100%; max-width: 1200px; padding: 28px 32px 64px; display: grid; gap: 24px; align-content: start; }
.top { display: flex; gap: 16px; align-items: flex-start; justify-content: space-between; }
.grow { min-width: 0; flex: 1; }
.crumb { font-size: 13px; }
.crumb a { color: var(--quiet); text-decoration: none; }
.crumb a::before { content: ""; display: inline-block; width: 6px; height: 6px; margin-inline: 2px 6px; border: solid; border-width: 0 0 1.5px 1.5px; vertical-align: 1px; transform: rotate(45deg); }
.crumb a:hover { color: var(--ink); text-decoration: underline; }
.lead { margin-top: 2px; color: var(--quiet); max-width: 72ch; }
.clamp { display: -webkit-box; overflow: hidden; -webkit-box-orient: vertical; -webkit-line-clamp: 2; max-width: 56ch; color: var(--quiet); }
.decision { font-size: 16px; }
.decision .tag { margin-inline-end: 6px; font-size: 13px; }
.permissions { display: grid; gap: 6px; }
.permissions code { color: var(--quiet); }
.quoted { padding: 8px 12px; border-inline-start: 3px solid var(--edge); white-space: pre-wrap; }
.quiet { color: var(--quiet); }
.fact { font-size: 13px; color: var(--quiet); }
section { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; }
.head { display: flex; gap: 8px 16px; align-items: baseline; justify-content: space-between; flex-wrap: wrap; }
.columns { display: grid; grid-template-columns: minmax(0, 2fr) minmax(260px, 1fr); gap: 32px; align-items: start; }
.columns > div { display: grid; grid-template-columns: minmax(0, 1fr); gap: 32px; }

.button { display: inline-flex; gap: 6px; align-items: center; justify-content: center; min-height: 32px; padding: 4px 12px; border: 1px solid var(--edge); border-radius: 6px; background: var(--card); color: var(--ink); font: inherit; font-weight: 500; text-align: center; text-decoration: none; white-space: nowrap; cursor: pointer; }
.button:hover { background: var(--hover); }
.button.main { border-color: transparent; background: var(--accent); color: var(--accent-ink); }
.button.main:hover { background: var(--accent-pressed); }
.button.danger { border-color: transparent; background: var(--bad); color: var(--bad-ink); }
.button.danger:hover { background: var(--bad-pressed); }
.button.grave { color: var(--bad); }
.buttons { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }

.notice { display: flex; gap: 8px; align-items: flex-start; padding: 8px 12px; border-radius: 8px; background: var(--good); color: var(--good-ink); }
.notice.warn { background: var(--warn); color: var(--warn-ink); }
.notice.bad { background: none; border: 1px solid var(--bad); color: var(--bad); }
.notice .icon { margin-top: 2px; }
.notice form { margin-inline-start: auto; }
.notice .button { min-height: 28px; margin: -3px -4px; }
.notice a { color: inherit; }

.panel { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; padding: 16px; border: 1px solid var(--line); border-radius: 10px; }
.panel.destructive { border-color: var(--bad); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 1px; border: 1px solid var(--line); border-radius: 10px; background: var(--line); overflow: hidden; }
.figure { display: grid; gap: 2px; padding: 14px 16px; background: var(--card); color: inherit; text-decoration: none; }
a.figure:hover { background: var(--hover); }
.figure .label { color: var(--quiet); font-size: 13px; }
.figure .value { font-size: 24px; line-height: 1.25; font-weight: 600; letter-spacing: -0.02em; }
.figure .than { color: var(--quiet); font-size: 13px; }

.attention { border: 1px solid var(--line); border-radius: 10px; }
.attention li { display: flex; gap: 10px; align-items: center; padding: 10px 14px; }
.attention li + li { border-top: 1px solid var(--line); }
.attention .icon { color: var(--warn-mark); }
.attention li.bad .icon { color: var(--bad); }
.attention li.fine .icon { color: var(--good-mark); }
.attention p { flex: 1; min-width: 0; }

.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 10px; }
table { width: 100%; border-collapse: collapse; }
th { position: sticky; top: 0; padding: 8px 12px; background: var(--rise); color: var(--quiet); font-size: 13px; font-weight: 500; text-align: start; white-space: nowrap; }
td { height: 36px; padding: 6px 12px; border-top: 1px solid var(--line); vertical-align: middle; }
tbody tr:hover, tbody tr:focus-within { background: var(--hover); }
th a { color: inherit; text-decoration: none; }
th a:hover { text-decoration: underline; }
td:not([class]) { min-width: 104px; }
td.number, th.number { text-align: end; }
td.time, td.short { white-space: nowrap; }
td > a:first-child { font-weight: 500; color: var(--ink); text-decoration: none; }
td > a:first-child:hover { text-decoration: underline; }
td .monogram { width: 20px; height: 20px; margin-inline-end: 8px; vertical-align: -5px; }
.monogram { font-size: 15px; font-weight: 600; }
.acts { text-align: end; white-space: nowrap; }
.acts .button { min-height: 26px; padding: 1px 8px; font-size: 13px; }
.empty { display: grid; gap: 6px; justify-items: center; padding: 24px; border: 1px dashed var(--edge); border-radius: 10px; text-align: center; }
.empty p { max-width: 56ch; color: var(--quiet); }
.pages { display: flex; gap: 8px; align-items: center; justify-content: flex-end; }

.filters { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.chip { display: inline-flex; gap: 6px; align-items: center; min-height: 28px; padding: 2px 10px; border: 1px solid var(--edge); border-radius: 14px; color: var(--quiet); font-size: 13px; text-decoration: none; white-space: nowrap; }
.chip:hover { color: var(--ink); background: var(--hover); }
.chip[aria-current] { border-color: var(--accent); color: var(--accent); font-weight: 500; }
.search { display: flex; flex: 1 1 220px; gap: 8px; max-width: 420px; }
.tag { display: inline-block; padding: 0 7px; border-radius: 9px; background: var(--plain); color: var(--ink); font-size: 12px; line-height: 20px; white-space: nowrap; }
.tag.good { background: var(--good); color: var(--good-ink); }
.tag.warn { background: var(--warn); color: var(--warn-ink); }
.tag.bad { background: none; box-shadow: inset 0 0 0 1px var(--bad); color: var(--bad); }
.tags { display: flex; flex-wrap: wrap; gap: 4px; }

.facts { display: grid; grid-template-columns: minmax(96px, max-content) minmax(0, 1fr); gap: 6px 16px; font-size: 13px; }
.facts dt { color: var(--quiet); }
form.fields { display: grid; gap: 16px; max-width: 560px; }
.field { display: grid; gap: 4px; }
label { font-size: 13px; font-weight: 600; }
.hint { font-size: 13px; color: var(--quiet); }
input:not([type=hidden]), select, textarea { width: 100%; min-height: 32px; padding: 4px 10px; border: 1px solid var(--field-edge); border-radius: 6px; background: var(--field); color: var(--ink); font: inherit; }
textarea { min-height: 72px; resize: vertical; }
.effects { display: grid; gap: 6px; padding-inline-start: 18px; list-style: disc; }

pre { padding: 12px; border-radius: 8px; background: var(--rise); border: 1px solid var(--line); overflow-x: auto; white-space: pre; overflow-wrap: normal; }
pre.wrap { white-space: pre-wrap; overflow-wrap: anywhere; }
.copyable { display: flex; gap: 8px; align-items: start; }
.copyable pre { flex: 1; min-width: 0; padding: 6px 12px; }
.lines { white-space: pre-wrap; overflow-wrap: anywhere; }
.lines span { display: block; padding: 0 8px; margin: 0 -8px; border-radius: 2px; }
.lines .added { background: var(--good); color: var(--good-ink); }
.lines .removed { background: var(--warn); color: var(--warn-ink); }
#keys .facts { gap: 8px 24px; margin: 16px 0; }
.hits { border: 1px solid var(--line); border-radius: 10px; }
.hits li + li { border-top: 1px solid var(--line); }
.hits a { display: flex; gap: 12px; padding: 7px 12px; color: var(--ink); text-decoration: none; }
.hits a:hover { background: var(--hover); }
.hits small { margin-inline-start: auto; color: var(--quiet); font-size: 12px; }
.drawing { overflow-x: auto; }
.drawing svg { display: block; width: 100%; min-width: 480px; max-width: 600px; height: auto; }
.node { fill: var(--rise); stroke: var(--edge); }
.drawing text { fill: var(--ink); font-size: 13px; }
.drawing a:hover .node, .drawing a:focus-visible .node { stroke: var(--accent); }
.edge { fill: none; stroke: var(--field-edge); stroke-width: 1.25; }
.steps { display: flex; flex-wrap: wrap; gap: 8px 24px; counter-reset: step; color: var(--quiet); font-size: 13px; }
.steps li { counter-increment: step; }
.steps li::before { content: counter(step); display: inline-block; width: 20px; margin-inline-end: 8px; border-radius: 10px; background: var(--plain); text-align: center; line-height: 20px; }
.steps li[aria-current] { color: var(--ink); font-weight: 600; }
.steps li[aria-current]::before { background: var(--accent); color: var(--accent-ink); }
.events { border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.events li + li { border-top: 1px solid var(--line); }
.events a { display: grid; grid-template-columns: 104px minmax(0, 1fr); gap: 12px; min-height: 36px; padding: 7px 12px; border-inline-start: 3px solid transparent; color: var(--ink); text-decoration: none; }
.events a:hover { background: var(--hover); }
.events a:focus-visible { outline-offset: -2px; }
.events time { color: var(--quiet); font-size: 13px; white-space: nowrap; }
.events .refused a { border-inline-start-color: var(--bad); }
.events .refused span { color: var(--bad); }
.events .changed a { border-inline-start-color: var(--accent); }
.events .fresh { background: var(--hover); }
.columns.even { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 16px 32px; }
.drawing.sequence svg { min-width: 720px; max-width: 960px; color: var(--ink); }
.sequence .time { fill: var(--quiet); font-size: 11px; }
.sequence .source { font-size: 11px; }
.sequence .refused text { fill: var(--bad); }
.sequence .refused .time { fill: var(--quiet); }
details > summary { cursor: pointer; }
details.panel { display: block; }
details.panel[open] > summary { margin-bottom: 12px; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 420px), 1fr)); gap: 32px; }
.columns .plots { grid-template-columns: repeat(auto-fill, minmax(min(100%, 280px), 1fr)); gap: 24px; }
.plot { position: relative; display: grid; grid-template-columns: minmax(0, 1fr); gap: 4px; }
.plot figcaption { display: flex; flex-wrap: wrap; gap: 0 16px; justify-content: space-between; }
.plot h3 { color: var(--ink); }
.plot figcaption ul { display: flex; flex-wrap: wrap; gap: 0 14px; font-size: 13px; color: var(--quiet); }
.plot figcaption li::before { content: ""; display: inline-block; width: 10px; height: 10px; margin-inline-end: 6px; border: 1.5px solid var(--accent); border-radius: 2px; }
.plot figcaption li.solid::before { background: var(--accent); }
.plot figcaption li.line::before, .plot figcaption li.dashed::before { width: 18px; height: 0; border-width: 2px 0 0; border-radius: 0; vertical-align: 4px; }
.plot figcaption li.dashed::before { border-top-style: dashed; }
.plot figcaption li.bad::before { border-color: var(--bad); }
.plot figcaption b { color: var(--ink); font-weight: 600; }
.plot svg { display: block; width: 100%; height: 96px; }
.plot.live svg { cursor: crosshair; }
.plot path { vector-effect: non-scaling-stroke; }
.plot .grid { stroke: var(--line); }
.plot .solid { fill: var(--accent); }
.plot .outline { fill: var(--card); stroke: var(--accent); stroke-width: 1.25; }
.plot .outline.bad { stroke: var(--bad); }
.plot .line, .plot .dashed { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; }
.plot .dashed { stroke-dasharray: 5 4; }
.plot .letters { height: 13px; margin-bottom: -4px; overflow: visible; }
.plot .letters text { fill: var(--quiet); font-size: 10px; text-anchor: middle; }
.plot .mark { stroke: var(--warn-mark); stroke-dasharray: 2 3; }
.plot .cursor { stroke: var(--ink); stroke-width: 1; }
.plot .axis, .plot .times { display: flex; justify-content: space-between; color: var(--quiet); font-size: 12px; line-height: 16px; }
.plot .at { position: absolute; inset: auto 0 auto auto; top: 22px; padding: 0 6px; background: var(--card); font-size: 12px; line-height: 16px; }
.plot summary { color: var(--quiet); font-size: 13px; }
.plot td { min-width: 0; text-align: end; font-variant-numeric: tabular-nums; }
.plot td, .plot tbody th { height: 28px; padding: 2px 12px; font-size: 13px; }
.plot tbody th { position: static; background: none; font-weight: 400; }
.plot .scroll { max-height: 240px; overflow-y: auto; margin-top: 8px; }

dialog { width: min(640px, calc(100vw - 32px)); max-height: 70vh; margin-top: 12vh; padding: 0; border: 1px solid var(--edge); border-radius: 12px; background: var(--card); color: var(--ink); }
dialog::backdrop { background: rgb(10 12 16 / 45%); }
dialog form { display: grid; }
dialog input:not([type=hidden]) { min-height: 48px; padding: 8px 16px; border: 0; border-bottom: 1px solid var(--line); border-radius: 0; background: none; font-size: 16px; }
dialog input:focus-visible { outline: none; }
dialog ul { max-height: 52vh; padding: 8px; overflow-y: auto; }
dialog li { display: flex; gap: 12px; align-items: baseline; padding: 7px 10px; border-radius: 6px; cursor: pointer; }
dialog li[aria-selected=true] { background: var(--plain); }
dialog li small { margin-inline-start: auto; color: var(--quiet); font-size: 12px; white-space: nowrap; }
dialog .keys { padding: 20px 24px; }

@media (min-width: 900px) { .scroll { overflow: clip; } }
@media (max-width: 1024px) {
  :root { --side: 60px; }
  .side { padding: 16px 8px; }
  .side li a, .side .mark, .find { justify-content: center; padding-inline: 0; }
  .side li a > span:not(.unseen), .side .mark span, .find span, .find kbd, .me { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .side li a { position: relative; min-height: 40px; }
  .side .count { position: absolute; top: 2px; inset-inline-end: 0; min-width: 16px; padding: 0 4px; font-size: 10px; line-height: 16px; }
  main { padding: 24px 24px 64px; }
  .columns { grid-template-columns: minmax(0, 1fr); }
  .form-first > :last-child { order: -1; }
}
@media (max-width: 640px) {
  body { grid-template-columns: minmax(0, 1fr); padding-bottom: 56px; }
  body.alone { padding-bottom: 0; }
  .side { position: fixed; z-index: 5; inset: auto 0 0 0; height: 56px; flex-direction: row; padding: 0 4px; border-inline-end: 0; border-top: 1px solid var(--line); }
  .side .mark, .find { display: none; }
  .side ul { flex: 1; display: flex; }
  .side li { flex: 1 1 auto; }
  .side li a { flex-direction: column; gap: 2px; min-height: 48px; margin-top: 4px; }
  .side li a > span:not(.unseen) { position: static; width: auto; height: auto; clip-path: none; font-size: 10px; line-height: 12px; }
  main { padding: 20px 16px 32px; }
  .top { flex-direction: column; }
  .search { max-width: none; flex-basis: 100%; }
  .copyable { flex-direction: column; align-items: stretch; }
  .copyable .button { align-self: start; }
  table.fold, .fold tbody, .fold tr, .fold td { display: block; }
  .fold thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .fold thead a { visibility: hidden; }
  .fold tr { display: flex; flex-wrap: wrap; gap: 2px 12px; align-items: center; padding: 10px 12px; }
  .fold tr + tr { border-top: 1px solid var(--line); }
  .fold td, .fold td:not([class]) { min-width: 0; }
  .fold td { height: auto; padding: 0; border: 0; font-size: 13px; text-align: start; }
  .fold td:first-child { flex: 1 0 100%; font-size: 14px; }
  .fold td.number::before { content: attr(data-of) " "; color: var(--quiet); }
  .fold td.acts { margin-inline-start: auto; }
  .fold td:empty { display: none; }
  .events a { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .columns.even { grid-template-columns: minmax(0, 1fr); }
}
@media (prefers-reduced-motion: no-preference) { .button, .side a { transition: background-color 120ms; } }
@media (forced-colors: active) { .side li a[aria-current] { outline: 1px solid; } .tag, .chip { border: 1px solid; } }
`;
