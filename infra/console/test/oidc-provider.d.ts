// The part of oidc-provider that the tests use. Its published types need those of the server framework below it.
declare module 'oidc-provider' {
  import type { Server } from 'node:http';

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    listen(port: number, host: string, done: () => void): Server;
  }
}
