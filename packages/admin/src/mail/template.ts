/** A mail as text and as HTML, in the look of the pages: no image, no script, nothing loaded from elsewhere. */
import type { Mail } from './mailer.ts';
import type { MailLanguage } from './options.ts';
import { type MailKind, type MailTexts, mailActions, mailTexts } from './texts.ts';

/** What all mails of a server share. */
export interface MailLook {
  readonly serverName: string;
  /** The colour of buttons, as `#1c4fc4`. */
  readonly accent: string;
}

/** What one mail says. Texts of facts may be of unknown origin: they are shown in the body only, escaped. */
export interface MailContent {
  readonly kind: MailKind;
  readonly language: MailLanguage;
  /** An https URL of this server; `null`: none. */
  readonly link: string | null;
  readonly facts: Partial<Readonly<Record<keyof MailTexts['facts'], string>>>;
}

/** Mails whose link may be used by its owner only, and was perhaps requested by others. */
const REQUESTED: readonly MailKind[] = ['reset', 'sign-in-link'];

/** Characters of a fact, on one line and without characters that change its direction. */
const MAX_FACT = 200;

/** Renders a mail in one language. */
export function renderMail(
  { kind, language, link, facts }: MailContent,
  { serverName, accent }: MailLook,
): Pick<Mail, 'subject' | 'text' | 'html'> {
  const texts = mailTexts[language];
  const [heading, what, does] = [texts.heading[kind], texts.what[kind], mailActions[kind]];
  const action = does === null ? '' : texts.actions[does];
  const lines = factsOf(texts, facts);
  const last = [
    ...(REQUESTED.includes(kind) ? [texts.unexpected] : []),
    ...(kind === 'test' ? [] : [texts.why]),
  ];
  const plain = [
    heading,
    what,
    lines.map(([label, text]) => `${label}: ${text}`).join('\n'),
    link === null ? '' : `${action}:\n${link}`,
    last.join('\n'),
    `-- \n${shown(serverName)}`,
  ];
  const rows = lines.map(
    ([label, text]) =>
      `<tr><td style="padding:2px 16px 2px 0;color:#565e6c">${escapeHtml(label)}</td><td style="padding:2px 0"><bdi>${escapeHtml(text)}</bdi></td></tr>`,
  );
  const button =
    link === null
      ? ''
      : `<p style="margin:24px 0"><a href="${escapeHtml(link)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:${accent};color:#ffffff;text-decoration:none;font-weight:600">${escapeHtml(action)}</a></p>
<p style="margin:0 0 16px;font-size:13px;color:#565e6c">${escapeHtml(texts.paste)}<br><a href="${escapeHtml(link)}" style="color:${accent};word-break:break-all">${escapeHtml(link)}</a></p>`;
  const html = `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(heading)}</title></head>
<body style="margin:0;padding:24px;background:#f3f4f7;color:#14171d;font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif">
<div style="max-width:440px;margin:0 auto;padding:24px;background:#ffffff;border:1px solid #dfe3ea;border-radius:12px">
<p style="margin:0 0 16px;font-size:13px;color:#565e6c"><bdi>${escapeHtml(shown(serverName))}</bdi></p>
<h1 style="margin:0 0 8px;font-size:22px;line-height:1.25">${escapeHtml(heading)}</h1>
<p style="margin:0 0 16px">${escapeHtml(what)}</p>
${rows.length === 0 ? '' : `<table role="presentation" style="margin:0 0 16px;border-collapse:collapse;font-size:14px">${rows.join('')}</table>`}
${button}
${last.map((sentence) => `<p style="margin:0;font-size:13px;color:#565e6c">${escapeHtml(sentence)}</p>`).join('\n')}
</div>
</body></html>
`;
  const text = `${plain.filter((part) => part !== '').join('\n\n')}\n`;
  return { subject: `${heading} · ${serverName}`, text, html };
}

function factsOf(
  { facts: labels }: MailTexts,
  facts: MailContent['facts'],
): readonly (readonly [string, string])[] {
  const names = Object.keys(labels) as (keyof MailTexts['facts'])[];
  return names.flatMap((name) => {
    const text = shown(facts[name] ?? '');
    return text === '' ? [] : [[labels[name], text] as const];
  });
}

function shown(text: string): string {
  return [...text.replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()].slice(0, MAX_FACT).join('');
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
