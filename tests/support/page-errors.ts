/** Errors of a page in a browser: blocked sources, failed requests, script errors. */
import type { Page } from 'playwright-core';

/** Reported when input precedes a page's autofocus: not an error of the page. */
const REMARK = /^Autofocus processing was blocked/;

/** The list fills while the page is used. */
export function hearComplaints(page: Page): string[] {
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (!REMARK.test(message.text())) complaints.push(message.text());
  });
  return complaints;
}
