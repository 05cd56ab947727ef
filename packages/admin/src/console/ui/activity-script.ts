/** The script of Activity: new events as they happen, with a pause, and keys to go through the list. */

/** Plain JavaScript as browsers get it. Texts become text, never markup. */
export const ACTIVITY_SCRIPT: string = `'use strict';
(() => {
  const list = document.querySelector('[data-events]');
  const button = document.querySelector('[data-live]');
  const MOST = 200;
  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text) made.textContent = text;
    return made;
  };
  const lineOf = ({ at, href, tone, pieces }) => {
    const line = element('li', tone + ' fresh');
    const link = element('a');
    link.href = href;
    const time = element('time', '', new Date(at).toISOString().slice(11, 19));
    time.dateTime = at;
    const sentence = element('span');
    if (tone === 'refused') sentence.append(element('span', 'unseen', 'Refused: '));
    for (const piece of pieces)
      sentence.append(typeof piece === 'string' ? piece : piece.code !== undefined ? element('code', '', piece.code) : element('bdi', '', piece.name));
    link.append(time, sentence);
    line.append(link);
    return line;
  };
  if (list && button && window.EventSource) {
    let stream = null;
    const show = () => {
      button.textContent = stream ? 'Pause' : 'Live';
      button.setAttribute('aria-pressed', String(stream !== null));
    };
    button.addEventListener('click', () => {
      if (stream) { stream.close(); stream = null; }
      else {
        stream = new EventSource(button.dataset.live);
        stream.onmessage = ({ data }) => {
          list.prepend(lineOf(JSON.parse(data)));
          while (list.children.length > MOST) list.lastElementChild.remove();
        };
      }
      show();
    });
    show();
    button.hidden = false;
  }
  if (list) list.addEventListener('keydown', (event) => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [...list.querySelectorAll('li > a')];
    const next = all[all.indexOf(document.activeElement) + step];
    if (next) { next.focus(); event.preventDefault(); }
  });
})();
`;
