/** The script of the overview: the same cursor in all plots, and a click that narrows Activity to its time. */

/** Plain JavaScript as browsers get it. What it shows is read from the tables behind the plots. */
export const OVERVIEW_SCRIPT: string = `'use strict';
(() => {
  const plots = [...document.querySelectorAll('[data-plot]')].map((figure) => {
    const svg = figure.querySelector('svg');
    const rows = [...figure.querySelectorAll('tbody tr')];
    const values = [...figure.querySelectorAll('[data-value]')];
    const unit = /\\(([^)]+)\\)$/.exec(figure.querySelector('thead th:last-child').textContent);
    const cursor = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    cursor.setAttribute('class', 'cursor');
    svg.append(cursor);
    const time = document.createElement('p');
    time.className = 'at';
    time.setAttribute('aria-hidden', 'true');
    figure.append(time);
    return { figure, svg, rows, values, cursor, time, latest: values.map(({ textContent }) => textContent), unit: unit ? ' ' + unit[1] : '' };
  });
  const show = (index) => {
    for (const { svg, rows, values, cursor, time, latest, unit } of plots) {
      const row = rows[index];
      const { width, height } = svg.viewBox.baseVal;
      cursor.setAttribute('d', row ? 'M' + (index + 0.5) * width / rows.length + ' 0V' + height : '');
      values.forEach((value, at) => {
        const text = row ? row.querySelectorAll('td')[at].textContent : null;
        value.textContent = text === null ? latest[at] : text === '–' ? text : text + unit;
      });
      time.textContent = row ? row.querySelector('th').textContent : '';
    }
  };
  const indexAt = ({ svg, rows }, { clientX }) => {
    const { left, width } = svg.getBoundingClientRect();
    return Math.max(0, Math.min(rows.length - 1, Math.floor((clientX - left) / width * rows.length)));
  };
  for (const plot of plots) {
    plot.svg.addEventListener('pointermove', (event) => show(indexAt(plot, event)));
    plot.svg.addEventListener('pointerleave', () => show(-1));
    plot.svg.addEventListener('click', (event) => { location.href = plot.rows[indexAt(plot, event)].querySelector('a').href; });
    plot.figure.addEventListener('focusin', ({ target }) => {
      const row = target.closest('tbody tr');
      if (row) show(plot.rows.indexOf(row));
    });
    plot.figure.classList.add('live');
  }
})();
`;
