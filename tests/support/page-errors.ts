/** What a browser complains of while it shows a page: refused sources, failed requests, errors of scripts. */
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
