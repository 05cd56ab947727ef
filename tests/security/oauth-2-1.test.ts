/** The checklist of OAuth 2.1 draft 13 §7: each consideration, and the requirements by which tests hold us to it. */
import { expect, it } from 'vitest';
import { readAllCitations, readRequirements } from '../requirements/workspace.ts';

const considerations = [
  {
    section: '7.1.1',
    title: 'Security Threats to access tokens',
    answers: ['S-JWT-61', 'S-VAL-1', 'S-STORE-1', 'C-STORE-1'],
  },
  {
    section: '7.1.2',
    title: 'Threat Mitigation',
    answers: ['AS-JWT-60', 'S-AUD-1', 'S-AUD-2', 'AS-TTL-1', 'AS-HTTPS-1'],
  },
  {
    section: '7.1.3',
    title: 'Summary of Recommendations',
    answers: ['C-TOK-3', 'C-BEAR-60', 'AS-TTL-2', 'ALL-HTTP-62'],
  },
  {
    section: '7.1.4',
    title: 'Access Token Privilege Restriction',
    answers: ['AS-RES-60', 'AS-JWT-62', 'AS-JWT-65'],
  },
  { section: '7.2', title: 'Client Authentication', answers: ['AS-AUTH-63', 'AS-TOK-72', 'AS-REF-61'] },
  { section: '7.3', title: 'Client Impersonation', answers: ['AS-AUTH-68', 'AS-AUTHZ-81', 'AS-REDIR-1'] },
  {
    section: '7.3.1',
    title: 'Impersonation of Native Apps',
    answers: ['AS-AUTHZ-81', 'AS-REDIR-21', 'AS-REDIR-24'],
  },
  { section: '7.3.2', title: 'Access Token Privilege Restriction', answers: ['AS-AUTHZ-71', 'AS-TOK-66'] },
  { section: '7.4', title: 'Client Impersonating Resource Owner', answers: ['AS-JWT-64', 'AS-GRANT-3'] },
  { section: '7.5.1', title: 'Authorization Code Injection', answers: ['AS-CODE-65', 'AS-CODE-67'] },
  {
    section: '7.5.2',
    title: 'Countermeasures',
    answers: ['AS-PKCE-1', 'AS-CODE-68', 'C-PKCE-3', 'C-PKCE-60'],
  },
  {
    section: '7.5.3',
    title: 'Reuse of Authorization Codes',
    answers: ['AS-CODE-61', 'AS-CODE-62', 'AS-CODE-63', 'AS-CODE-64'],
  },
  { section: '7.5.4', title: 'HTTP 307 Redirect', answers: ['AS-AUTHZ-78'] },
  {
    section: '7.6',
    title: 'Ensuring Endpoint Authenticity',
    answers: ['AS-HTTPS-1', 'C-META-6', 'C-URL-40'],
  },
  { section: '7.7', title: 'Credentials-Guessing Attacks', answers: ['AS-CODE-72'] },
  { section: '7.8', title: 'Phishing Attacks', answers: ['C-UA-1', 'AS-AUTHZ-81', 'AS-AUTHZ-82'] },
  { section: '7.9', title: 'Cross-Site Request Forgery', answers: ['C-STATE-1', 'C-STATE-2', 'C-STATE-60'] },
  { section: '7.10', title: 'Clickjacking', answers: ['AS-AUTHZ-79'] },
  {
    section: '7.11',
    title: 'Code Injection and Input Validation',
    answers: ['AS-AUTHZ-76', 'AS-AUTHZ-82', 'AS-AUTHZ-83'],
  },
  { section: '7.12.1', title: 'Client as Open Redirector', answers: ['C-REDIR-21'] },
  {
    section: '7.12.2',
    title: 'Authorization Server as Open Redirector',
    answers: ['AS-REDIR-2', 'AS-AUTHZ-63', 'AS-AUTHZ-64'],
  },
  { section: '7.13', title: 'Transport Security', answers: ['ALL-HTTP-62', 'AS-HTTPS-1'] },
  {
    section: '7.14.1',
    title: 'Mix-Up Defense via Issuer Identification',
    answers: ['AS-ISS-60', 'C-ISS-31', 'C-ISS-32', 'C-MIX-30'],
  },
  // One redirect URI serves all issuers, since every response names its own: the first defense makes this one needless.
  {
    section: '7.14.2',
    title: 'Mix-Up Defense via Distinct Redirect URIs',
    answers: ['C-ISS-33', 'C-CODE-60'],
  },
] as const;

const listed = new Map(readRequirements().map((requirement) => [requirement.id, requirement]));
const tested = new Set(readAllCitations().map(({ id }) => id));

it.each(considerations)('[ALL-SEC-1] §$section $title is answered by tests', ({ answers }) => {
  for (const id of answers) {
    expect(listed.get(id)?.level).not.toBe('INFO');
    expect(listed.has(id)).toBe(true);
  }
  expect(answers.filter((id) => !tested.has(id))).toEqual([]);
});
