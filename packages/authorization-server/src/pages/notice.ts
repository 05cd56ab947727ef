/** Pages that say what happened, whose move it is, and one thing to do. */
import { html } from 'hono/html';
import { type Frame, layout, type Markup } from './layout.ts';

export interface Notice {
  readonly heading: string;
  /** What happened, and whose move it is. */
  readonly sentences: readonly string[];
  /** One action. A link: it must be an address of this server, or an admitted redirect target. */
  readonly action?: { readonly label: string; readonly href: string; readonly place?: string };
  /** One safe sentence for whoever builds the app. */
  readonly forDevelopers?: string;
  /** What the operator finds the event by. */
  readonly reference?: string;
}

export function noticePage(frame: Frame, notice: Notice): Markup {
  const { heading, sentences, action, forDevelopers, reference } = notice;
  return layout(
    frame,
    heading,
    html`<div class="head">
<h1>${heading}</h1>
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
</div>
${
  action !== undefined &&
  html`<div class="head">
<a class="button" href="${action.href}">${action.label}</a>
${action.place !== undefined && html`<p class="fact">This takes you to <code>${action.place}</code></p>`}
</div>`
}
${
  (forDevelopers !== undefined || reference !== undefined) &&
  html`<div class="head fact">
${forDevelopers !== undefined && html`<p>For the developer of the app: ${forDevelopers}</p>`}
${reference !== undefined && html`<p>Reference <code>${reference}</code></p>`}
</div>`
}`,
  );
}
