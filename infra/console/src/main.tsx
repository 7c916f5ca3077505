// Starts the console. Until it runs, the page shows what index.html has.
import { render } from 'preact';
import { Unreachable, whenBack } from './api/reach';
import { App } from './app';
import { loadConfig } from './config';
import { Failure } from './parts/state';
import { finishSignIn } from './sign-in';

const root = document.getElementById('app')!;

async function start(): Promise<void> {
  const view = await loadConfig().then(finishSignIn).then(() => <App />, failed);
  root.replaceChildren();
  render(view, root);
}

function failed(error: unknown) {
  if (error instanceof Unreachable) whenBack(() => void start());
  return (
    <main class="page-body">
      <h1>Throughline</h1>
      <Failure error={error} retry={() => void start()} />
    </main>
  );
}

void start();
