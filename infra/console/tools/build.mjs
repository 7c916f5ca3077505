// Builds the console into dist: one script and one style with their hash in the name, the page that loads them, and the
// page for addresses that do not exist.
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
for (const name of ['index.html', '404.html']) {
  const page = await readFile(path.join(root, name), 'utf8');
  const filled = page.replace('{{script}}', `assets/${named('console-')}`).replace('{{style}}', `assets/${named('style-')}`);
  await writeFile(path.join(out, name), filled);
}
for (const name of ['config.json', 'icon.svg']) await writeFile(path.join(out, name), await readFile(path.join(root, name)));
