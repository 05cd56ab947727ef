/** VitePress's default theme with our colours, and the two commands on the first page. */
import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { h } from 'vue';
import './style.css';

const COMMANDS = `portcullis protect http://127.0.0.1:3000/mcp
portcullis protect -- npx -y @modelcontextprotocol/server-everything`;

const theme: Theme = {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, { 'home-hero-info-after': () => h('pre', { class: 'commands' }, COMMANDS) }),
};

export default theme;
