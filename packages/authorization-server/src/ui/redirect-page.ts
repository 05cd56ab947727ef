/** Leaving a form of ours for somebody else's page: by a page that leads on, because a redirect would be held back. */
import type { HttpResponse } from '@portcullis/http';
import type { Layout } from './layout.ts';
import { messagePage } from './message-page.ts';
import { respondPage } from './respond-page.ts';

/**
 * Chromium holds every redirect that follows a form to the `form-action` of its page. The pages on which people type
 * passwords name no origin but ours there, so the redirect becomes a page, which begins a way of its own.
 */
export function redirectByPage(layout: Layout, answer: HttpResponse): HttpResponse | Promise<HttpResponse> {
  const location = answer.headers['location'];
  if (location === undefined) return answer;
  const page = messagePage(layout, {
    heading: layout.text('onward.heading'),
    sentences: [layout.text('onward.why')],
    action: { label: layout.text('onward.go'), href: location },
  });
  return respondPage(page, { cookies: answer.cookies, headers: { refresh: `0; url=${location}` } });
}
