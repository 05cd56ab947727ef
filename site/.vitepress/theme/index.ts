/** VitePress's default theme with our colours, and the first commands on the first page. */
import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import './style.css';

/** What a newcomer types, and what comes back: each line is a command if it begins with a dollar sign. */
const TERMINAL = `$ npx @portcullis/cli protect http://127.0.0.1:3000/mcp

First account
  None yet. Create it with this one-time link:
  http://localhost:8484/setup?token=…

$ npx @portcullis/cli call http://localhost:8484/mcp echo message=hi

Echo: hi`;

const terminal = () =>
  h(
    'pre',
    { class: 'terminal' },
    TERMINAL.split('\n').map((line) =>
      line.startsWith('$ ')
        ? h('b', [h('span', { 'aria-hidden': 'true' }, '$ '), line.slice(2), '\n'])
        : `${line}\n`,
    ),
  );

const theme: Theme = {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'home-hero-image': terminal }),
};

export default theme;
