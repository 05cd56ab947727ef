/** The script of the command palette and of the keys. Without it, the sidebar links to the page that finds the same. */
import { SECTIONS } from '../links.ts';

/** Plain JavaScript as browsers get it: no library, no other origin. */
export const PALETTE_SCRIPT: string = `'use strict';
(() => {
  const palette = document.getElementById('palette');
  const keys = document.getElementById('keys');
  if (!palette || !palette.showModal) return;
  const input = palette.querySelector('input');
  const list = palette.querySelector('[role=listbox]');
  let chosen = 0, latest = 0;

  const choose = (at) => {
    const options = [...list.children];
    chosen = options.length ? (at + options.length) % options.length : 0;
    for (const [n, option] of options.entries()) option.setAttribute('aria-selected', String(n === chosen));
    input.setAttribute('aria-activedescendant', options.length ? 'hit-' + chosen : '');
    if (options[chosen]) options[chosen].scrollIntoView({ block: 'nearest' });
  };
  const show = (hits) => {
    list.replaceChildren(...hits.map((hit, n) => {
      const option = document.createElement('li');
      option.id = 'hit-' + n;
      option.setAttribute('role', 'option');
      option.dataset.href = hit.getAttribute('href');
      option.append(...hit.cloneNode(true).childNodes);
      return option;
    }));
    choose(0);
  };
  const find = async () => {
    const turn = ++latest;
    try {
      const response = await fetch(palette.dataset.find + '?q=' + encodeURIComponent(input.value));
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      if (turn === latest) show([...page.querySelectorAll('[data-hits] a')]);
    } catch { if (turn === latest) show([]); }
  };
  const open = () => { if (palette.open) return; palette.showModal(); input.select(); find(); };
  const go = (option) => { if (option) location.assign(option.dataset.href); };

  let typing;
  input.addEventListener('input', () => { clearTimeout(typing); typing = setTimeout(find, 80); });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') choose(chosen + 1);
    else if (event.key === 'ArrowUp') choose(chosen - 1);
    else if (event.key === 'Enter') go(list.children[chosen]);
    else return;
    event.preventDefault();
  });
  list.addEventListener('click', (event) => go(event.target.closest('li')));
  for (const dialog of [palette, keys]) dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  for (const link of document.querySelectorAll('[data-palette]')) link.addEventListener('click', (event) => { event.preventDefault(); open(); });

  const sections = '${SECTIONS.map(({ key }) => key).join('')}';
  const move = (step) => {
    const links = [...document.querySelectorAll('main tbody tr, main [data-row]')].map((row) => row.querySelector('a')).filter(Boolean);
    const next = links[links.indexOf(document.activeElement) + step] || links[step > 0 ? 0 : links.length - 1];
    if (next) next.focus();
  };
  let leads = -2000;
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') { event.preventDefault(); open(); return; }
    const typed = event.target.closest && event.target.closest('input, textarea, select, dialog[open]');
    if (typed || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.timeStamp - leads < 2000) {
      const link = document.querySelectorAll('.side li a')[sections.indexOf(event.key)];
      if (link) location.assign(link.href);
    }
    leads = event.key === 'g' ? event.timeStamp : -2000;
    if (event.key === '?') keys.showModal();
    else if (event.key === 'j') move(1);
    else if (event.key === 'k') move(-1);
    else if (event.key === '/') {
      const search = document.querySelector('[data-search]');
      if (search) search.select(); else open();
    } else return;
    event.preventDefault();
  });
})();
`;
