// Builds the console into dist: one script and one style with their hash in the name, and the page that loads them.
// The result depends on the sources and the pinned libraries only. With --out=DIR it goes to another folder.
import { build } from 'esbuild';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const out = process.argv.find((a) => a.startsWith('--out='))?.slice(6) ?? path.join(root, 'dist');

await rm(out, { recursive: true, force: true });
await mkdir(path.join(out, 'assets'), { recursive: true });

const result = await build({
  absWorkingDir: root,
  entryPoints: { console: 'src/main.tsx', style: 'src/style/style.css' },
  outdir: path.join(out, 'assets'),
  entryNames: '[name]-[hash]',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  metafile: true,
});

const files = Object.keys(result.metafile.outputs).map((name) => path.basename(name));
const named = (start) => files.find((name) => name.startsWith(start));
const page = await readFile(path.join(root, 'index.html'), 'utf8');
await writeFile(
  path.join(out, 'index.html'),
  page.replace('{{script}}', `assets/${named('console-')}`).replace('{{style}}', `assets/${named('style-')}`),
);
for (const name of ['config.json', 'icon.svg']) await writeFile(path.join(out, name), await readFile(path.join(root, name)));
